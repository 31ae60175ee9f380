/**
 * Reads requests whose JSON differs from an earlier request's only in its id and in the shapes and elements of its
 * inputs. A program that calls a model repeatedly sends such requests. The constant text is compared byte by byte
 * instead of parsed, and elements are read straight into tensors. All other requests are left to the parser, which
 * also reports errors.
 */

import type { TensorInput } from '../../tensor/inputs.js';
import { dataReader, readDims, type DataReader } from './data-reader.js';
import { BinaryPart, type HttpInferRequest, type InputForm } from './infer-request.js';
import { findHoles, type Hole } from './json-holes.js';
import { scanJson } from './json-scan.js';

/** The most known forms of a path, and the most bytes of constant text of each. `Routes` bounds the paths. */
const mostForms = 4;
const mostBytes = 2048;
/** The most requests to skip before the next form is learned, if the learned forms were of no use. */
const mostPatience = 1024;
/** Up to this size of JSON all datatypes are read faster here than by the parser. FP32 always is. */
const mostJson = 32 << 10;
/** The most bytes of a request that forms may read in vain. */
const mostInVain = 64 << 10;

/** Whether the body has these bytes at `at`. */
function liesAt(bytes: Buffer, body: Buffer, at: number): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== body[at + i]) return false;
  return true;
}

/** A request's id without its quotes; undefined if it has escapes or characters other than printable ASCII. */
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
  /** The reader, if the hole is data. */
  readonly read: DataReader | undefined;
}

/** A request without its inputs' elements, which would keep its body in memory. */
type FormFields = Omit<HttpInferRequest, 'inputs' | 'targets'>;

/** The common text of requests, with its holes. */
class Form {
  /** Whether a request after the one that taught it had this form. */
  used = false;
  /** How many bytes of the last request matched this form. */
  reached = 0;
  /** The most bytes of JSON that this form reads. */
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
        // Data that cannot be read may have been read almost to the end before the error.
        this.reached = end;
        const found = read?.(body, at, form.shape);
        if (found === undefined) return undefined;
        [tensors[input], at] = found;
      }
    }
    if (at !== end) return undefined;
    const part = new BinaryPart(body, jsonSize);
    // fromEntries defines properties, so `__proto__` is a name like any other.
    const inputs = Object.fromEntries(
      forms.map((form, i) => [form.name, tensors[i] ?? part.take(form, form.size ?? 0)]),
    );
    part.checkEmpty();
    this.used = true;
    this.#forms = forms;
    return { id, inputs, forms, parameters, outputs, binary, targets: undefined };
  }
}

/** The form of a request that was parsed from this JSON; undefined if it has no useful form. */
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
    // Copy, because the body's memory is reused.
    parts.push({ before: Buffer.from(json.subarray(at, start)), kind, input, read });
    at = end;
  }
  const rest = Buffer.from(json.subarray(at));
  // If numbers outside of the holes are not plain, the numbers in the holes decide which parser reads them.
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
  /** How many requests to skip before the next form is learned. */
  #pause = 0;
  #patience = 0;

  /** A request of a known form; undefined for other requests. Its values may still be invalid. */
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

  /** Learns the form of a parsed request that had no known form. */
  learn(body: Buffer, jsonSize: number, request: HttpInferRequest): void {
    // Regions of shared memory come and go. Inputs that are there have no form.
    const { targets, forms, inputs } = request;
    if (targets !== undefined || forms.length < Object.keys(inputs).length) return;
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
