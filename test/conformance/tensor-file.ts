/**
 * Reads files of tensors, as export.py and the bare runtime write them. `pack` in export.py defines the
 * layout.
 */
import { readFile } from 'node:fs/promises';
import { datatypeSize, type Datatype } from '../../src/tensor/datatype.js';
import type { DataByDatatype, DataOf } from '../../src/tensor/types.js';

/** A tensor with its elements. A result's tensors have this form, and requests accept it as an input. */
export interface TensorValue {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data: DataOf<Datatype>;
}

/** A tensor of a file. */
export interface NamedTensor extends TensorValue {
  readonly name: string;
}

/** ONNX's numbers of the element types that Triton names. */
const datatypeOfElement: ReadonlyMap<number, Datatype> = new Map([
  [1, 'FP32'],
  [2, 'UINT8'],
  [3, 'INT8'],
  [4, 'UINT16'],
  [5, 'INT16'],
  [6, 'INT32'],
  [7, 'INT64'],
  [8, 'BYTES'],
  [9, 'BOOL'],
  [10, 'FP16'],
  [11, 'FP64'],
  [12, 'UINT32'],
  [13, 'UINT64'],
  [16, 'BF16'],
]);

const views: { readonly [D in Exclude<Datatype, 'BYTES'>]: (buffer: ArrayBuffer) => DataByDatatype[D] } = {
  BOOL: (buffer) => new Uint8Array(buffer),
  UINT8: (buffer) => new Uint8Array(buffer),
  UINT16: (buffer) => new Uint16Array(buffer),
  UINT32: (buffer) => new Uint32Array(buffer),
  UINT64: (buffer) => new BigUint64Array(buffer),
  INT8: (buffer) => new Int8Array(buffer),
  INT16: (buffer) => new Int16Array(buffer),
  INT32: (buffer) => new Int32Array(buffer),
  INT64: (buffer) => new BigInt64Array(buffer),
  FP16: (buffer) => new Uint16Array(buffer),
  FP32: (buffer) => new Float32Array(buffer),
  FP64: (buffer) => new Float64Array(buffer),
  BF16: (buffer) => new Uint16Array(buffer),
};

/** Reads numbers and texts one after the other. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  uint32(): number {
    this.#at += 4;
    return this.#bytes.readUInt32LE(this.#at - 4);
  }

  int64(): number {
    this.#at += 8;
    return Number(this.#bytes.readBigInt64LE(this.#at - 8));
  }

  take(length: number): Buffer {
    this.#at += length;
    if (this.#at > this.#bytes.length) throw new RangeError('the file ends too early');
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  get ended(): boolean {
    return this.#at === this.#bytes.length;
  }
}

function splitStrings(bytes: Buffer): Buffer[] {
  const reader = new Reader(bytes);
  const elements: Buffer[] = [];
  while (!reader.ended) elements.push(reader.take(reader.uint32()));
  return elements;
}

function readTensor(reader: Reader): NamedTensor {
  const name = reader.take(reader.uint32()).toString();
  const element = reader.uint32();
  const datatype = datatypeOfElement.get(element);
  if (datatype === undefined) throw new RangeError(`tensor ${name} has element type ${element}`);
  const shape = Array.from({ length: reader.uint32() }, () => reader.int64());
  const bytes = reader.take(reader.int64());
  if (datatype === 'BYTES') return { name, datatype, shape, data: splitStrings(bytes) };
  const elements = bytes.length / datatypeSize[datatype];
  // Views need aligned memory, so the bytes are copied.
  const buffer = new ArrayBuffer(elements * datatypeSize[datatype]);
  new Uint8Array(buffer).set(bytes);
  return { name, datatype, shape, data: views[datatype](buffer) };
}

/**
 * Reads a file of tensors.
 * @throws RangeError for a file of another layout.
 */
export async function readTensors(file: string): Promise<NamedTensor[]> {
  const reader = new Reader(await readFile(file));
  const tensors = Array.from({ length: reader.uint32() }, () => readTensor(reader));
  if (!reader.ended) throw new RangeError(`${file} goes on after its last tensor`);
  return tensors;
}
