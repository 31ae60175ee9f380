/**
 * Reads requests whose JSON differs from an earlier one's only in the request's id and in the shapes and elements of its inputs, as
 * those of a program do that asks a model again and again. The rest is compared byte by byte and not parsed again, and elements go
 * to their tensors without arrays of JavaScript between. Whatever is not quite so is left to the parser, which also says what is
 * wrong.
 */

import type { TensorInput } from '../../tensor/inputs.js';
import { dataReader, readDims, type DataReader } from './data-reader.js';
import { BinaryPart, type HttpInferRequest, type InputForm } from './infer-request.js';
import { findHoles, type Hole } from './json-holes.js';
import { scanJson } from './json-scan.js';

/** How many forms are known of a path, and of how many bytes each. The paths that are remembered are bounded, too. */
const mostForms = 4;
const mostBytes = 2048;
/** How many requests go by, at most, before a form is learned again where those that were learned were of no use. */
const mostPatience = 1024;
/** JSON up to which elements of all types are read faster than by the parser; those of FP32 always are. */
const mostJson = 32 << 10;
/** How many bytes may be read in vain for a request. */
const mostInVain = 64 << 10;

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
  readonly kind: Hole['kind'];
  readonly input: number;
  /** Of data. */
  readonly read: DataReader | undefined;
}

/** What a request says besides its inputs' elements. Those would keep its body in memory. */
type FormFields = Omit<HttpInferRequest, 'inputs'>;

/** What requests have in common. */
class Form {
  /** Whether another request than the one it was learned of had it. */
  used = false;
  /** Of how many bytes the last request was of this form. */
  reached = 0;
  /** The most JSON that it reads. */
  readonly #most: number;
  readonly #like: FormFields;
  readonly #parts: readonly Part[];
  readonly #rest: Buffer;
  /** The inputs, with the shapes of the last request that was read. */
  #forms: readonly InputForm[];

  constructor(like: FormFields, parts: readonly Part[], rest: Buffer) {
    this.#like = like;
    this.#parts = parts;
    this.#rest = rest;
    this.#forms = like.forms;
    const fast = parts.every(({ kind, input }) => kind !== 'data' || like.forms[input]?.datatype === 'FP32');
    this.#most = fast ? Infinity : mostJson;
  }

  /** Reads a request of this form; undefined for any other. */
  read(body: Buffer, jsonSize: number): HttpInferRequest | undefined {
    const { id: someId, parameters, outputs, binary } = this.#like;
    this.reached = 0;
    const end = jsonSize - this.#rest.length;
    if (jsonSize > this.#most || end < 0 || !liesAt(this.#rest, body, end)) return undefined;
    let id = someId;
    let at = 0;
    let forms = this.#forms;
    const tensors = new Array<TensorInput | undefined>(forms.length);
    for (const { before, kind, input, read } of this.#parts) {
      if (!liesAt(before, body, at)) return undefined;
      at += before.length;
      const form = forms[input];
      if (kind === 'id') {
        const text = plainText(body, at);
        if (text === undefined) return undefined;
        id = text;
        at += text.length + 2;
      } else if (form === undefined) return undefined;
      else if (kind === 'shape') {
        const found = readDims(body, at, form.shape);
        if (found === undefined) return undefined;
        const [shape, after] = found;
        at = after;
        if (shape !== form.shape) forms = forms.with(input, { ...form, shape });
      } else {
        // Where it cannot be read, it may have been read almost to the end.
        this.reached = end;
        const found = read?.(body, at, form.shape);
        if (found === undefined) return undefined;
        [tensors[input], at] = found;
      }
    }
    if (at !== end) return undefined;
    const part = new BinaryPart(body, jsonSize);
    // Defined, not assigned: `__proto__` is a name like others.
    const inputs = Object.fromEntries(
      forms.map((form, i) => [form.name, tensors[i] ?? part.take(form, form.size ?? 0)]),
    );
    part.checkEmpty();
    this.used = true;
    this.#forms = forms;
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
  for (const { start, end, kind, input } of holes) {
    const form = request.forms[input];
    const read = kind === 'data' && form !== undefined ? dataReader(form.datatype) : undefined;
    if (kind === 'data' && read === undefined) return undefined;
    // A copy: the body's memory is used again.
    parts.push({ before: Buffer.from(json.subarray(at, start)), kind, input, read });
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
    let inVain = 0;
    for (const form of this.#forms) {
      const request = form.read(body, jsonSize);
      if (request !== undefined) return request;
      inVain += form.reached;
      if (inVain > mostInVain) return undefined;
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
