/** Reads input tensors from JSON: flat or nested arrays of elements, in any mixture. */

import { invalidArgument, type TritonError } from '../../errors.js';
import { BytesTensor } from '../../tensor/bytes-tensor.js';
import { BytesWriter } from '../../tensor/bytes.js';
import type { Datatype } from '../../tensor/datatype.js';
import type { TensorInput } from '../../tensor/inputs.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import { integerRanges, outsideRange } from '../../protocol/ranges.js';
import { wrongType } from './json.js';
import { Fraction } from '../../protocol/json-exact.js';

/** The smallest magnitude that FP32 rounds to infinity: half a step above the largest number. */
const floatOverflow = 2 ** 128 - 2 ** 103;

/** Whether elements must be written as integers, so that 1.0 is an error. */
export function takesIntegers(datatype: unknown): boolean {
  return typeof datatype === 'string' && /^U?INT\d/.test(datatype);
}

/** Takes one element. Throws for a value that the datatype does not take. */
type Put = (index: number, value: unknown) => void;

/** Calls `put` for each element, in order; returns the next index. scanJson bounds the depth. */
function visit(list: readonly unknown[], first: number, put: Put): number {
  let index = first;
  for (const value of list) {
    if (Array.isArray(value)) index = visit(value, index, put);
    else put(index++, value);
  }
  return index;
}

/** An input that is being read. */
class Elements {
  readonly #name: string;
  readonly #datatype: Datatype;
  readonly #shape: readonly number[];
  readonly #list: readonly unknown[];
  readonly #count: number;

  constructor(name: string, datatype: Datatype, shape: readonly number[], list: readonly unknown[]) {
    this.#name = name;
    this.#datatype = datatype;
    this.#shape = shape;
    this.#list = list;
    this.#count = elementCount(shape);
  }

  read(): TensorInput {
    switch (this.#datatype) {
      case 'FP32':
        return this.#floats(this.#make(Float32Array), floatOverflow);
      case 'FP64':
        return this.#floats(this.#make(Float64Array), Infinity);
      case 'INT8':
        return this.#integers(this.#make(Int8Array));
      case 'INT16':
        return this.#integers(this.#make(Int16Array));
      case 'INT32':
        return this.#integers(this.#make(Int32Array));
      case 'UINT8':
        return this.#integers(this.#make(Uint8Array));
      case 'UINT16':
        return this.#integers(this.#make(Uint16Array));
      case 'UINT32':
        return this.#integers(this.#make(Uint32Array));
      case 'INT64':
        return this.#bigs(this.#make(BigInt64Array), -(2n ** 63n), 2n ** 63n - 1n);
      case 'UINT64':
        return this.#bigs(this.#make(BigUint64Array), 0n, 2n ** 64n - 1n);
      case 'BOOL':
        return this.#flags(this.#make(Uint8Array));
      case 'BYTES':
        return this.#texts();
      case 'FP16':
      case 'BF16':
        throw invalidArgument(
          `input '${this.#name}': ${this.#datatype} cannot be sent as JSON; send it as binary data`,
          { tensor: this.#name },
        );
    }
  }

  /**
   * Allocates memory for the elements. They are counted first, so that a large shape alone allocates nothing.
   */
  #make<T>(array: new (count: number) => T): T {
    let found = 0;
    visit(this.#list, 0, () => found++);
    if (found !== this.#count) throw this.#miscounted(found);
    return new array(found);
  }

  #miscounted(found: number): TritonError {
    return invalidArgument(
      `input '${this.#name}': expected ${this.#count} elements of data for shape ${formatShape(this.#shape)} but received ${found}`,
      { tensor: this.#name },
    );
  }

  #wrong(index: number, expected: string, value: unknown): TritonError {
    const shown = value instanceof Fraction && !expected.includes('integer') ? value.value : value;
    return wrongType(`inputs.${this.#name}.data, element ${index}`, expected, shown);
  }

  #outside(index: number, value: unknown): TritonError {
    return outsideRange('input', this.#name, index, value, this.#datatype);
  }

  #floats(data: Float32Array | Float64Array, overflow: number): TensorInput {
    visit(this.#list, 0, (index, given) => {
      const value =
        given instanceof Fraction ? given.value : typeof given === 'bigint' ? Number(given) : given;
      if (typeof value !== 'number') throw this.#wrong(index, 'a number', value);
      if ((value >= overflow || value <= -overflow) && Number.isFinite(value))
        throw this.#outside(index, value);
      data[index] = value;
    });
    return { data, shape: this.#shape, datatype: this.#datatype };
  }

  #integers(data: Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array): TensorInput {
    const [least, most] = integerRanges[this.#datatype] ?? [0, 0];
    visit(this.#list, 0, (index, value) => {
      if (typeof value !== 'number' || !Number.isInteger(value)) {
        if (typeof value === 'bigint') throw this.#outside(index, value);
        throw this.#wrong(index, 'an integer', value);
      }
      if (least === 0 && value < 0) throw this.#wrong(index, 'an unsigned integer', value);
      if (value < least || value > most) throw this.#outside(index, value);
      data[index] = value;
    });
    return { data, shape: this.#shape, datatype: this.#datatype };
  }

  #bigs(data: BigInt64Array | BigUint64Array, least: bigint, most: bigint): TensorInput {
    visit(this.#list, 0, (index, given) => {
      // A number that is not a safe integer was written with an exponent.
      const value = typeof given === 'number' && Number.isSafeInteger(given) ? BigInt(given) : given;
      if (typeof value !== 'bigint') throw this.#wrong(index, 'an integer', given);
      if (least === 0n && value < 0n) throw this.#wrong(index, 'an unsigned integer', given);
      if (value < least || value > most) throw this.#outside(index, value);
      data[index] = value;
    });
    return { data, shape: this.#shape, datatype: this.#datatype };
  }

  #flags(data: Uint8Array): TensorInput {
    visit(this.#list, 0, (index, value) => {
      if (typeof value !== 'boolean') throw this.#wrong(index, 'true or false', value);
      data[index] = value ? 1 : 0;
    });
    return { data, shape: this.#shape, datatype: this.#datatype };
  }

  #texts(): TensorInput {
    const writer = new BytesWriter(Math.min(this.#count, this.#list.length));
    const found = visit(this.#list, 0, (index, value) => {
      if (typeof value !== 'string') throw this.#wrong(index, 'a string', value);
      if (writer.append(value)) return;
      throw invalidArgument(
        `input '${this.#name}', element ${index}: the string has a lone surrogate, which UTF-8 cannot encode`,
        { tensor: this.#name },
      );
    });
    if (found !== this.#count) throw this.#miscounted(found);
    return new BytesTensor(this.#shape, new Uint8Array(writer.finishOwned()));
  }
}

/**
 * Reads an input's `data`.
 *
 * @throws {@link TritonError} INVALID_ARG for another number of elements than the shape has, for elements of the
 *   wrong type, for values that the datatype cannot hold, for FP16 and for BF16.
 */
export function readTensor(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  list: readonly unknown[],
): TensorInput {
  return new Elements(name, datatype, shape, list).read();
}
