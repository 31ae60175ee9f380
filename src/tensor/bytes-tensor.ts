/** Tensors of strings or byte strings. They keep their wire bytes until a caller reads their elements. */

import { BytesWriter, decodeElements, decodeTexts, splitElements } from './bytes.js';
import { elementCount } from './shape.js';
import { Tensor, unsuitable } from './tensor.js';

/** See the head of this file. */
export class BytesTensor extends Tensor<'BYTES'> {
  /** The elements in wire layout. This memory belongs to this tensor alone. */
  readonly #wire: Uint8Array<ArrayBuffer>;
  /**
   * The elements, once a caller has read them. The caller may change them, so from then on they replace the
   * wire bytes.
   */
  #elements: Buffer[] | undefined;

  /** An own accessor, because a structured clone copies own properties only. */
  static readonly #data: PropertyDescriptor & ThisType<BytesTensor> = {
    get() {
      return this.#split();
    },
    enumerable: true,
    configurable: true,
  };

  constructor(shape: readonly number[], wire: Uint8Array<ArrayBuffer>) {
    super('BYTES', shape);
    this.#wire = wire;
    Object.defineProperty(this, 'data', BytesTensor.#data);
  }

  /** The wire bytes of a BYTES tensor whose elements were never read; undefined for any other value. */
  static wireOf(value: object): Uint8Array<ArrayBuffer> | undefined {
    return #wire in value && value.#elements === undefined ? value.#wire : undefined;
  }

  override strings(): string[] {
    if (this.#elements !== undefined) return decodeTexts(this.#elements);
    return decodeElements(this.#wire, elementCount(this.shape));
  }

  override clone(): Tensor<'BYTES'> {
    if (this.#elements === undefined) return new BytesTensor([...this.shape], this.#wire.slice());
    const writer = new BytesWriter(this.#elements.length);
    for (const element of this.#elements) {
      if (!writer.append(element)) throw unsuitable(this, 'has elements whose buffer was transferred');
    }
    return new BytesTensor([...this.shape], new Uint8Array(writer.finishOwned()));
  }

  #split(): Buffer[] {
    this.#elements ??= splitElements(this.#wire, elementCount(this.shape));
    return this.#elements;
  }
}

/**
 * The wire bytes of a BYTES tensor whose `data` was never read; undefined for any other value. Such a tensor
 * can be passed on with one copy of its wire bytes.
 */
export function wireOf(value: object): Uint8Array<ArrayBuffer> | undefined {
  return BytesTensor.wireOf(value);
}
