/**
 * Reads requests whose JSON differs from an earlier request's only in its id, in the shapes and elements of its
 * inputs, and in the ranges of shared memory that its inputs and outputs are in. A program that calls a model repeatedly sends such requests. The constant text is compared byte by byte
 * instead of parsed, and elements are read straight into tensors. All other requests are left to the parser, which
 * also reports errors.
 */

import type { TensorInput } from '../../tensor/inputs.js';
import type { RegionRange } from '../../tensor/region-tensor.js';
import type { ClientRegions, NamedRange } from '../service/client-regions.js';
import { dataReader, readDims, type DataReader } from './data-reader.js';
import { BinaryPart, type HttpInferRequest, type InputForm, type OutputForm } from './infer-request.js';
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

/** A text without its quotes; undefined if it has escapes or characters other than printable ASCII. */
function plainText(body: Buffer, at: number): string | undefined {
  if (body[at] !== 0x22) return undefined;
  let end = at + 1;
  for (let byte; (byte = body[end] ?? 0) !== 0x22; end++)
    if (byte < 0x20 || byte > 0x7e || byte === 0x5c) return undefined;
  return body.toString('latin1', at + 1, end);
}

/** Numbers of so many digits are exact. */
const exactDigits = 15;

/** The end of the digits at `at`; undefined if they are not a plain whole number. */
function digitsEnd(body: Buffer, at: number): number | undefined {
  let end = at;
  for (let byte; (byte = body[end] ?? 0) >= 0x30 && byte <= 0x39;) end++;
  // JSON allows no leading zeros.
  if (end === at || end - at > exactDigits || (body[at] === 0x30 && end - at > 1)) return undefined;
  return end;
}

function numberOf(body: Buffer, at: number, end: number): number {
  let value = 0;
  for (let i = at; i < end; i++) value = value * 10 + (body[i] ?? 0) - 0x30;
  return value;
}

/** A list with a changed range of one of its elements. */
function withRange<T extends { readonly range: NamedRange | undefined }>(
  list: readonly T[],
  index: number,
  change: Partial<NamedRange>,
): readonly T[] {
  const one = list[index];
  if (one?.range === undefined) return list;
  return list.with(index, { ...one, range: { ...one.range, ...change } });
}

/** A hole, and the text before it. */
interface Part {
  readonly before: Buffer;
  readonly kind: Hole['kind'];
  readonly index: number;
  readonly ofOutput: boolean;
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
  readonly #memory: ClientRegions;
  /** The inputs and outputs, with the shapes and ranges of the last request that was read. */
  #forms: readonly InputForm[];
  #outputForms: readonly OutputForm[];

  constructor(like: FormFields, parts: readonly Part[], rest: Buffer, memory: ClientRegions) {
    this.#like = like;
    this.#parts = parts;
    this.#rest = rest;
    this.#memory = memory;
    this.#forms = like.forms;
    this.#outputForms = like.outputForms;
    const fast = parts.every(({ kind, index }) => kind !== 'data' || like.forms[index]?.datatype === 'FP32');
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
    let outputForms = this.#outputForms;
    const tensors = new Array<TensorInput | undefined>(forms.length);
    for (const { before, kind, index, ofOutput, read } of this.#parts) {
      if (!liesAt(before, body, at)) return undefined;
      at += before.length;
      const form = forms[index];
      if (kind === 'id') {
        const text = plainText(body, at);
        if (text === undefined) return undefined;
        id = text;
        at += text.length + 2;
      } else if (kind === 'region') {
        const region = plainText(body, at);
        if (region === undefined) return undefined;
        at += region.length + 2;
        if (region === (ofOutput ? outputForms : forms)[index]?.range?.region) continue;
        if (ofOutput) outputForms = withRange(outputForms, index, { region });
        else forms = withRange(forms, index, { region });
      } else if (kind === 'offset' || kind === 'byteSize') {
        const after = digitsEnd(body, at);
        if (after === undefined) return undefined;
        const value = numberOf(body, at, after);
        at = after;
        if (value === (ofOutput ? outputForms : forms)[index]?.range?.[kind]) continue;
        if (ofOutput) outputForms = withRange(outputForms, index, { [kind]: value });
        else forms = withRange(forms, index, { [kind]: value });
      } else if (form === undefined) return undefined;
      else if (kind === 'shape') {
        const found = readDims(body, at, form.shape);
        if (found === undefined) return undefined;
        const [shape, after] = found;
        at = after;
        if (shape !== form.shape) forms = forms.with(index, { ...form, shape });
      } else {
        // Data that cannot be read may have been read almost to the end before the error.
        this.reached = end;
        const found = read?.(body, at, form.shape);
        if (found === undefined) return undefined;
        [tensors[index], at] = found;
      }
    }
    if (at !== end) return undefined;
    const part = new BinaryPart(body, jsonSize);
    // fromEntries defines properties, so `__proto__` is a name like any other.
    const inputs = Object.fromEntries(
      forms.map((form, i) => [form.name, tensors[i] ?? this.#take(form, part)]),
    );
    part.checkEmpty();
    const targets = this.#targets(outputForms);
    this.used = true;
    this.#forms = forms;
    this.#outputForms = outputForms;
    return { id, inputs, forms, parameters, outputs, outputForms, binary, targets };
  }

  /** An input that is not in the JSON. */
  #take(form: InputForm, part: BinaryPart): TensorInput {
    const { name, datatype, shape, size, range } = form;
    // Regions come and go, so they are looked up for each request.
    return range === undefined
      ? part.take(form, size ?? 0)
      : this.#memory.tensor(name, datatype, shape, range);
  }

  #targets(outputForms: readonly OutputForm[]): ReadonlyMap<string, RegionRange> | undefined {
    let targets: Map<string, RegionRange> | undefined;
    for (const { name, range } of outputForms)
      if (range !== undefined) (targets ??= new Map()).set(name, this.#memory.range(range));
    return targets;
  }
}

/** The form of a request that was parsed from this JSON; undefined if it has no useful form. */
function formOf(json: Buffer, request: HttpInferRequest, memory: ClientRegions): Form | undefined {
  const holes = findHoles(json);
  if (holes === undefined) return undefined;
  const size = holes.reduce((rest, { start, end }) => rest - (end - start), json.length);
  if (size > mostBytes) return undefined;
  const parts: Part[] = [];
  let at = 0;
  for (const { start, end, kind, index, ofOutput } of holes) {
    const form = request.forms[index];
    const read = kind === 'data' && form !== undefined ? dataReader(form.datatype) : undefined;
    if (kind === 'data' && read === undefined) return undefined;
    // Copy, because the body's memory is reused.
    parts.push({ before: Buffer.from(json.subarray(at, start)), kind, index, ofOutput, read });
    at = end;
  }
  const rest = Buffer.from(json.subarray(at));
  // If numbers outside of the holes are not plain, the numbers in the holes decide which parser reads them.
  const { longNumbers, fractions, notFinite } = scanJson(
    Buffer.concat([...parts.map(({ before }) => before), rest]),
  );
  if (longNumbers || fractions || notFinite) return undefined;
  const { id, forms, parameters, outputs, outputForms, binary } = request;
  return new Form({ id, forms, parameters, outputs, outputForms, binary }, parts, rest, memory);
}

/** See the head of this file. Each path of requests has its own. */
export class KnownForms {
  readonly #forms: Form[] = [];
  readonly #memory: ClientRegions;
  /** How many requests to skip before the next form is learned. */
  #pause = 0;
  #patience = 0;

  constructor(memory: ClientRegions) {
    this.#memory = memory;
  }

  /**
   * A request of a known form; undefined for other requests. Its values may still be invalid.
   *
   * @throws {@link TritonError} As the parser, for a binary part or a range of shared memory that does not fit.
   */
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
    if (this.#pause > 0) {
      this.#pause--;
      return;
    }
    const form = formOf(body.subarray(0, jsonSize), request, this.#memory);
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
