/** Tensors in every form that callers may use, each with the bytes that must come back. */

import type { Inputs } from '../../src/index.js';
import type { Dice } from './dice.js';

type Value = Inputs[string];

/** The expected content of an output. */
export interface Expected {
  readonly shape: readonly number[];
  readonly data: Numbers | undefined;
  /** The bytes of strings. */
  readonly texts: readonly Buffer[] | undefined;
}

/** An input in one of its forms. */
export interface Written {
  readonly value: Value;
  readonly expected: Expected;
  /** Overwrites the caller's memory. This is allowed as soon as the request is made. */
  spoil(): void;
}

/** Arrays of the tested datatypes. */
export type Numbers =
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>;

/** The tested datatypes of numbers. */
export type NumberType = 'FP32' | 'FP64' | 'INT64' | 'INT16' | 'UINT8';

const classes = {
  FP32: Float32Array,
  FP64: Float64Array,
  INT64: BigInt64Array,
  INT16: Int16Array,
  UINT8: Uint8Array,
} as const satisfies Record<NumberType, unknown>;

/** `ArrayBuffer` with newer options. */
const Resizable = ArrayBuffer as unknown as new (
  length: number,
  options: { readonly maxByteLength: number },
) => ArrayBuffer & { resize(length: number): void };

/** An array of a datatype's class on any kind of memory. */
function arrayOn(datatype: NumberType, memory: ArrayBufferLike, offset: number, length: number): Numbers {
  // The type only knows unshared memory.
  return new classes[datatype](memory as ArrayBuffer, offset, length);
}

/** Elements that identify the request and the position. */
function elements(datatype: NumberType, count: number, request: number): Numbers {
  const array = new classes[datatype](count);
  for (let i = 0; i < count; i++) {
    const value = datatype === 'UINT8' ? (request * 7 + i) & 0xff : ((request * 13 + i) % 32_749) - 9;
    // The class takes values of its datatype.
    if (datatype === 'INT64') (array as BigInt64Array)[i] = BigInt(value) << 20n;
    else (array as Float32Array)[i] = value;
  }
  return array;
}

/** An array of zeros with the class and length of another one. */
export function blank(like: Numbers): Numbers {
  const array = like.slice();
  new Uint8Array(array.buffer).fill(0);
  return array;
}

function nest(flat: readonly unknown[], shape: readonly number[]): unknown[] {
  const [first = 0, ...rest] = shape;
  if (rest.length === 0) return [...flat];
  const size = flat.length / first;
  return Array.from({ length: first }, (_, i) => nest(flat.slice(i * size, (i + 1) * size), rest));
}

/** The same elements in other memory, and a function that overwrites them. */
function elsewhere(dice: Dice, datatype: NumberType, data: Numbers): { array: Numbers; spoil: () => void } {
  const bytes = data.byteLength;
  const kind = dice.below(6);
  if (kind === 0) {
    const array = arrayOn(datatype, new ArrayBuffer(bytes + 64), 32, data.length);
    array.set(data as never);
    return { array, spoil: () => new Uint8Array(array.buffer).fill(255) };
  }
  if (kind === 1) {
    const array = arrayOn(datatype, new SharedArrayBuffer(bytes), 0, data.length);
    array.set(data as never);
    return { array, spoil: () => new Uint8Array(array.buffer).fill(255) };
  }
  if (kind === 2) {
    const memory = new Resizable(bytes, { maxByteLength: bytes * 2 });
    // This array follows the length of its buffer.
    const array = new classes[datatype](memory);
    array.set(data as never);
    const length = dice.pick([0, bytes * 2]);
    return {
      array,
      spoil: () => {
        memory.resize(length);
      },
    };
  }
  const array = data.slice();
  return {
    array,
    spoil: () => {
      if (kind === 3) structuredClone(array.buffer, { transfer: [array.buffer] });
      else new Uint8Array(array.buffer).fill(255);
    },
  };
}

/**
 * Writes a tensor of numbers.
 *
 * @param bare - Whether its shape follows from the configuration.
 * @param aside - Code of the caller that runs in the middle of a request.
 */
export function writeNumbers(
  dice: Dice,
  datatype: NumberType,
  shape: readonly number[],
  request: number,
  bare: boolean,
  aside: () => void,
): Written {
  const count = shape.reduce((product, dim) => product * dim, 1);
  const data = elements(datatype, count, request);
  const expected = { shape, data, texts: undefined };
  const form = dice.below(bare ? 10 : 6);
  if (form === 0 && count < 3000) {
    const flat: (number | bigint)[] = [...data];
    return { value: nest(flat, shape) as Value, expected, spoil: () => flat.fill(1) };
  }
  if (form === 1 && count < 3000 && shape.length > 1) {
    const width = shape.at(-1) ?? 1;
    const rows = Array.from({ length: count / width }, (_, i) => data.slice(i * width, (i + 1) * width));
    const spoil = (): void => {
      for (const row of rows) new Uint8Array(row.buffer).fill(9);
    };
    return { value: nest(rows, shape.slice(0, -1)) as Value, expected, spoil };
  }
  const { array, spoil } = elsewhere(dice, datatype, data);
  if (form === 2 && count < 3000) return { value: { data: [...data], shape: [...shape] }, expected, spoil };
  if (form === 3) return { value: { data: array, shape: [...shape], datatype }, expected, spoil };
  if (form === 4) {
    const value = {
      get shape() {
        aside();
        return shape;
      },
      get data() {
        aside();
        return array;
      },
    };
    return { value, expected, spoil };
  }
  return { value: bare && form > 5 ? array : { data: array, shape: [...shape] }, expected, spoil };
}

const letters = ['', 'a', 'request ', 'äöü', '€', '漢字', '🙂', 'x'.repeat(60)];

/** Writes a tensor of strings and bytes. */
export function writeTexts(
  dice: Dice,
  shape: readonly number[],
  request: number,
  aside: () => void,
): Written {
  const count = shape.reduce((product, dim) => product * dim, 1);
  const texts: (string | Uint8Array)[] = Array.from({ length: count }, (_, i) => {
    const text = `${dice.pick(letters)}${request}.${i}${dice.oneIn(40) ? 'é'.repeat(dice.below(3000)) : ''}`;
    return dice.oneIn(3) ? new Uint8Array(Buffer.from(text)) : text;
  });
  const bytes = texts.map((text) => (typeof text === 'string' ? Buffer.from(text) : Buffer.from(text)));
  const expected = { shape, data: undefined, texts: bytes };
  const spoil = (): void => {
    for (const text of texts) if (typeof text !== 'string') text.fill(0);
    texts.fill('spoilt');
  };
  if (dice.oneIn(2)) return { value: nest(texts, shape) as Value, expected, spoil };
  const value = {
    data: texts,
    get shape() {
      aside();
      return shape;
    },
  };
  return { value, expected, spoil };
}
