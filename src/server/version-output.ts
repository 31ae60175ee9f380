/** One output of a version: from the engine's words and bytes to a tensor. */

import type { IntoTarget, TargetOutput } from '../dispatch/types.js';
import type { Datatype } from '../tensor/datatype.js';
import { targetMemory, tensorInto } from '../tensor/into.js';
import { OutputShapes } from '../tensor/output-shapes.js';
import { tensorCutter, tensorFactory, type TensorCutter, type TensorFactory } from '../tensor/output.js';
import type { Reshape } from '../tensor/reshape.js';
import type { TypedArray } from '../tensor/types.js';

/** Objects without inherited properties, of one hidden class: `__proto__` is a legal name of a tensor. */
export interface OutputsConstructor {
  new (): Record<string, unknown>;
}

/** The class of one version's outputs. */
export function outputsConstructor(): OutputsConstructor {
  function Outputs(): void {
    // Only its instances matter.
  }
  Outputs.prototype = Object.freeze(Object.create(null) as object);
  // A function called with `new` makes objects of its prototype; TypeScript knows classes only.
  return Outputs as unknown as OutputsConstructor;
}

/** See the head of this file. */
export class VersionOutput implements TargetOutput {
  readonly name: string;
  readonly cut: TensorCutter<Datatype>;
  readonly make: TensorFactory<Datatype>;
  readonly #datatype: Datatype;
  /** Where the model's shape of it is not the caller's. */
  readonly #reshape: Reshape | undefined;
  readonly #shapes: OutputShapes = new OutputShapes();

  constructor(name: string, datatype: Datatype, reshape: Reshape | undefined) {
    this.name = name;
    this.#datatype = datatype;
    this.cut = tensorCutter(datatype);
    this.make = tensorFactory(datatype);
    this.#reshape = reshape;
  }

  into(shape: readonly number[], bytes: number, target: TypedArray): IntoTarget {
    const memory = targetMemory(this.name, this.#datatype, shape, bytes, target);
    return { tensor: tensorInto(this.#datatype, shape, target), memory };
  }

  shape(words: Int32Array, position: number, rank: number): readonly number[] {
    const shape = this.#shapes.read(words, position, rank);
    return this.#reshape ? this.#reshape(shape) : shape;
  }
}
