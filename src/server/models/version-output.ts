/** An output of a version: turns the engine's words and bytes into a tensor. */

import type { IntoTarget, TargetOutput } from '../../dispatch/types.js';
import type { Datatype } from '../../tensor/datatype.js';
import { targetMemory, tensorInto } from '../../tensor/into-check.js';
import { OutputShapes } from '../../tensor/output-shapes.js';
import { tensorCutter, tensorFactory, type TensorCutter, type TensorFactory } from '../../tensor/output.js';
import { StoredTensor } from '../../tensor/region-tensor.js';
import type { Reshape } from '../../tensor/reshape.js';
import type { TypedArray } from '../../tensor/types.js';

/** See the head of this file. */
export class VersionOutput implements TargetOutput {
  readonly name: string;
  readonly cut: TensorCutter<Datatype>;
  readonly make: TensorFactory<Datatype>;
  readonly #model: string;
  readonly #datatype: Datatype;
  /** How the model's shape becomes the caller's, if they differ. */
  readonly #reshape: Reshape | undefined;
  readonly #shapes: OutputShapes = new OutputShapes();

  constructor(model: string, name: string, datatype: Datatype, reshape: Reshape | undefined) {
    this.#model = model;
    this.name = name;
    this.#datatype = datatype;
    this.cut = tensorCutter(datatype);
    this.make = tensorFactory(datatype);
    this.#reshape = reshape;
  }

  into(shape: readonly number[], bytes: number, target: TypedArray): IntoTarget {
    const memory = targetMemory(this.#model, this.name, this.#datatype, shape, bytes, target);
    return { tensor: tensorInto(this.#datatype, shape, target), memory };
  }

  stored(shape: readonly number[], byteSize: number): StoredTensor {
    return new StoredTensor(this.#datatype, shape, byteSize);
  }

  shape(words: Int32Array, position: number, rank: number): readonly number[] {
    const shape = this.#shapes.read(words, position, rank);
    return this.#reshape ? this.#reshape(shape) : shape;
  }
}
