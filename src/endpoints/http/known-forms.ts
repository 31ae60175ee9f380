/**
 * Reads requests whose JSON differs from an earlier one's only in the request's id and in the numbers of `data`, as those of a
 * program do that asks a model again and again. The rest is compared byte by byte and not parsed again, and numbers go to their
 * tensors without arrays of JavaScript between. Whatever is not quite so is left to the parser, which also says what is wrong.
 */

import type { Datatype } from '../../tensor/datatype.js';
import type { TensorInput } from '../../tensor/inputs.js';
import { elementCount } from '../../tensor/shape.js';
import type { TypedArray } from '../../tensor/types.js';
import { BinaryPart, type HttpInferRequest, type InputForm } from './infer-request.js';
import { findHoles } from './json-holes.js';
import { readNumbers, type NumberArray, type NumberRange } from './json-numbers.js';
import { scanJson } from './json-scan.js';
import { integerRanges } from './json-tensor.js';

/** How many forms are known of a path, and of how many bytes each. The paths that are remembered are bounded, too. */
const mostForms = 4;
const mostBytes = 2048;
/** How many requests go by, at most, before a form is learned again where those that were learned were of no use. */
const mostPatience = 1024;

/** Every finite FP32 of so few digits, and every FP64 that is worth the haste. */
const floatRange: NumberRange = { integers: false, least: -(2 ** 127), most: 2 ** 127 };
/** Integers of more digits are left to the parser, which has BigInts. */
const longRange: NumberRange = { integers: true, least: -(10 ** 15), most: 10 ** 15 };

/** Makes the memory of a tensor. */
type Maker = (count: number) => NumberArray & TypedArray;

const makers: Readonly<Partial<Record<Datatype, Maker>>> = {
  FP32: (count) => new Float32Array(count),
  FP64: (count) => new Float64Array(count),
  INT8: (count) => new Int8Array(count),
  INT16: (count) => new Int16Array(count),
  INT32: (count) => new Int32Array(count),
  UINT8: (count) => new Uint8Array(count),
  UINT16: (count) => new Uint16Array(count),
  UINT32: (count) => new Uint32Array(count),
};

function rangeOf(datatype: Datatype): NumberRange {
  const range = integerRanges[datatype];
  return range === undefined ? floatRange : { integers: true, least: range[0], most: range[1] };
}

/** Reads the data of an input: the tensor, and where its text has ended. */
type Reader = (body: Buffer, at: number) => readonly [TensorInput, number] | undefined;

/** What reads an input's data; undefined where the parser has to. */
function readerOf({ datatype, shape }: InputForm): Reader | undefined {
  const count = elementCount(shape);
  // A text that is too short for the elements gets no memory for them.
  const fits = (body: Buffer, at: number): boolean => body.length - at > 2 * count;
  if (datatype === 'INT64' || datatype === 'UINT64') {
    const range = datatype === 'INT64' ? longRange : { ...longRange, least: 0 };
    return (body, at) => {
      if (!fits(body, at)) return undefined;
      const numbers = new Float64Array(count);
      const end = readNumbers(body, at, numbers, range);
      if (end < 0) return undefined;
      const data = datatype === 'INT64' ? new BigInt64Array(count) : new BigUint64Array(count);
      for (let i = 0; i < count; i++) data[i] = BigInt(numbers[i] ?? 0);
      return [{ data, shape, datatype }, end];
    };
  }
  const make = makers[datatype];
  if (make === undefined) return undefined;
  const range = rangeOf(datatype);
  return (body, at) => {
    if (!fits(body, at)) return undefined;
    const data = make(count);
    const end = readNumbers(body, at, data, range);
    return end < 0 ? undefined : [{ data, shape, datatype }, end];
  };
}

/** Whether these bytes are in the body there. */
function liesAt(bytes: Buffer, body: Buffer, at: number): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== body[at + i]) return false;
  return true;
}

/** A request's id in its quotes, if no character of it has to be decoded. */
function plainText(body: Buffer, at: number): string | undefined {
  if (body[at] !== 0x22) return undefined;
  let end = at + 1;
  for (let byte; (byte = body[end] ?? 0) !== 0x22; end++)
    if (byte < 0x20 || byte > 0x7e || byte === 0x5c) return undefined;
  return body.toString('latin1', at + 1, end);
}

/** A hole, and the text before it. */
interface Part {
  readonly before: Buffer;
  readonly input: number | undefined;
  /** Of an input. */
  readonly read: Reader | undefined;
}

/** What a request says besides its inputs' elements. Those would keep its body in memory. */
type FormFields = Omit<HttpInferRequest, 'inputs'>;

/** What requests have in common. */
class Form {
  /** Whether another request than the one it was learned of had it. */
  used = false;
  readonly #like: FormFields;
  readonly #parts: readonly Part[];
  readonly #rest: Buffer;

  constructor(like: FormFields, parts: readonly Part[], rest: Buffer) {
    this.#like = like;
    this.#parts = parts;
    this.#rest = rest;
  }

  /** Reads a request of this form; undefined for any other. */
  read(body: Buffer, jsonSize: number): HttpInferRequest | undefined {
    const { id: someId, forms, parameters, outputs, binary } = this.#like;
    let id = someId;
    let at = 0;
    const tensors = new Array<TensorInput | undefined>(forms.length);
    for (const { before, input, read } of this.#parts) {
      if (!liesAt(before, body, at)) return undefined;
      at += before.length;
      if (input === undefined) {
        const text = plainText(body, at);
        if (text === undefined) return undefined;
        id = text;
        at += text.length + 2;
      } else {
        const found = read?.(body, at);
        if (found === undefined) return undefined;
        [tensors[input], at] = found;
      }
    }
    if (at + this.#rest.length !== jsonSize || !liesAt(this.#rest, body, at)) return undefined;
    const part = new BinaryPart(body, jsonSize);
    // Defined, not assigned: `__proto__` is a name like others.
    const inputs = Object.fromEntries(
      forms.map((form, i) => [form.name, tensors[i] ?? part.take(form, form.size ?? 0)]),
    );
    part.checkEmpty();
    this.used = true;
    return { id, inputs, forms, parameters, outputs, binary };
  }
}

/** The form of a request that was read from this JSON; undefined where it has none that is of use. */
function formOf(json: Buffer, request: HttpInferRequest): Form | undefined {
  const holes = findHoles(json);
  if (holes === undefined) return undefined;
  const size = holes.reduce((rest, { start, end }) => rest - (end - start), json.length);
  if (size > mostBytes) return undefined;
  const parts: Part[] = [];
  let at = 0;
  for (const { start, end, input } of holes) {
    const form = input === undefined ? undefined : request.forms[input];
    const read = form === undefined ? undefined : readerOf(form);
    if (input !== undefined && read === undefined) return undefined;
    // A copy: the body's memory is used again.
    parts.push({ before: Buffer.from(json.subarray(at, start)), input, read });
    at = end;
  }
  const rest = Buffer.from(json.subarray(at));
  // How numbers outside of the holes are read may depend on those in them, if they are not plain.
  const { longNumbers, fractions, notFinite } = scanJson(
    Buffer.concat([...parts.map(({ before }) => before), rest]),
  );
  if (longNumbers || fractions || notFinite) return undefined;
  const { id, forms, parameters, outputs, binary } = request;
  return new Form({ id, forms, parameters, outputs, binary }, parts, rest);
}

/** See the head of this file. Each path of requests has its own. */
export class KnownForms {
  readonly #forms: Form[] = [];
  /** Requests that go by before a form is learned. */
  #pause = 0;
  #patience = 0;

  /** A request of a form that is known; undefined for others. It may be wrong as any other. */
  read(body: Buffer, jsonSize: number): HttpInferRequest | undefined {
    for (const form of this.#forms) {
      const request = form.read(body, jsonSize);
      if (request !== undefined) return request;
    }
    return undefined;
  }

  /** Learns the form of a request that was read, and had none that was known. */
  learn(body: Buffer, jsonSize: number, request: HttpInferRequest): void {
    if (this.#pause > 0) {
      this.#pause--;
      return;
    }
    const form = formOf(body.subarray(0, jsonSize), request);
    if (form !== undefined) {
      this.#forms.unshift(form);
      if (this.#forms.length <= mostForms) return;
      const unused = this.#forms.findLastIndex(({ used }) => !used);
      this.#forms.splice(unused > 0 ? unused : mostForms, 1);
      if (unused <= 0) {
        this.#patience = 0;
        return;
      }
    }
    this.#patience = Math.min(mostPatience, 2 * this.#patience + 16);
    this.#pause = this.#patience;
  }
}
