/** A request and its answer on the wire: KServe v2's JSON with binary tensors behind it. */

import { TritonError } from '../errors.js';
import { Fraction, parseExactly } from '../endpoints/http/json-exact.js';
import type { RequestParameters } from '../index.js';
import { datatypeNumber, datatypeSize, type Datatype } from '../tensor/datatype.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import { elementCount } from '../tensor/shape.js';
import { bytesAt } from '../tensor/views.js';
import type { RemoteInferOptions } from './types.js';

/** An input's name and datatype. */
interface Named {
  readonly name: string;
  readonly datatype: Datatype;
}

/** The parts of a request's body: JSON, and the inputs behind it. */
export type RequestBody = readonly [json: Uint8Array, ...blobs: Uint8Array[]];

/** An output of an answer, in wire layout. */
export interface WireOutput extends Named {
  readonly shape: readonly number[];
  /** Memory of its own. */
  readonly bytes: ArrayBuffer;
}

/** An answer. */
export interface InferAnswer {
  readonly model: { readonly name: string; readonly version: string };
  readonly id: string;
  readonly parameters: RequestParameters;
  readonly outputs: readonly WireOutput[];
}

/** JSON of a value; bigints are written as they are. */
function valueText(value: string | number | bigint | boolean): string {
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value);
}

function parametersText(all: readonly (readonly [string, string | number | bigint | boolean])[]): string {
  return `{${all.map(([name, value]) => `${JSON.stringify(name)}:${valueText(value)}`).join(',')}}`;
}

/**
 * Writes a request. The inputs are copied.
 *
 * @param outputs - Those that are wanted, and as how many classes, 0 being none; undefined: all.
 */
export function writeRequest(
  inputs: readonly Named[],
  { shapes, data, byteLengths }: EncodedInputs,
  { id = '', priority, timeoutUs, parameters = {} }: RemoteInferOptions,
  outputs: readonly { readonly name: string; readonly classes: number }[] | undefined,
): RequestBody {
  const blobs: Uint8Array[] = [];
  const described = inputs.flatMap(({ name, datatype }, i) => {
    const shape = shapes[i];
    const elements = data[i];
    if (shape === undefined || elements === undefined) return [];
    const size = byteLengths[i] ?? 0;
    const bytes = bytesAt(elements);
    if (bytes === undefined) throw new TritonError('INVALID_ARG', `input '${name}' has lost its buffer`);
    // The caller may change it while it waits for a connection.
    blobs.push(Uint8Array.prototype.slice.call(bytes, 0, size));
    const head = `"name":${JSON.stringify(name)},"shape":[${shape.join(',')}],"datatype":"${datatype}"`;
    return [`{${head},"parameters":{"binary_data_size":${size}}}`];
  });
  const told = Object.entries(parameters).filter(([, value]) => (value as unknown) !== undefined);
  const all: (readonly [string, string | number | bigint | boolean])[] = [
    ...(outputs === undefined ? [['binary_data_output', true] as const] : []),
    ...(priority === undefined ? [] : [['priority', priority] as const]),
    ...(timeoutUs === undefined ? [] : [['timeout', timeoutUs] as const]),
    ...told,
  ];
  const wanted = outputs?.map(({ name, classes }) => {
    const how = classes > 0 ? `"classification":${classes},"binary_data":true` : '"binary_data":true';
    return `{"name":${JSON.stringify(name)},"parameters":{${how}}}`;
  });
  const members = [
    ...(id === '' ? [] : [`"id":${JSON.stringify(id)}`]),
    ...(all.length === 0 ? [] : [`"parameters":${parametersText(all)}`]),
    `"inputs":[${described.join(',')}]`,
    ...(wanted === undefined ? [] : [`"outputs":[${wanted.join(',')}]`]),
  ];
  return [Buffer.from(`{${members.join(',')}}`), ...blobs];
}

function unreadable(model: string, why: string, cause?: unknown): TritonError {
  return new TritonError('INTERNAL', `model '${model}': the server's answer cannot be read: ${why}`, {
    model,
    ...(cause !== undefined && { cause }),
  });
}

/** Parameters as they are; those that JSON has in other forms are left out. */
function readParameters(given: unknown): RequestParameters {
  const read: [string, string | number | bigint | boolean][] = [];
  for (const [name, value] of Object.entries(given ?? {}) as [string, unknown][]) {
    if (value instanceof Fraction) read.push([name, value.value]);
    else if (
      typeof value === 'string' ||
      typeof value === 'number' ||
      typeof value === 'bigint' ||
      typeof value === 'boolean'
    )
      read.push([name, value]);
  }
  return Object.fromEntries(read);
}

/**
 * Reads an answer.
 *
 * @param headSize - How many bytes of it are JSON; undefined: all.
 * @throws {@link TritonError} INTERNAL for what is no answer.
 */
export function readAnswer(
  model: string,
  body: Uint8Array<ArrayBuffer>,
  headSize: number | undefined,
): InferAnswer & { readonly json: ReadonlyMap<string, readonly unknown[]> } {
  const size = headSize ?? body.byteLength;
  if (!(size <= body.byteLength)) throw unreadable(model, `${size} bytes of JSON in ${body.byteLength}`);
  let head: unknown;
  try {
    const text = Buffer.from(body.buffer, body.byteOffset, size).toString('utf8');
    // JSON.parse is several times as fast, and wrong about the others.
    head = /[0-9]{16}|NaN|Infinity/.test(text) ? parseExactly(text) : JSON.parse(text);
  } catch (error) {
    throw unreadable(model, error instanceof Error ? error.message : String(error), error);
  }
  const { model_name, model_version, id, parameters, outputs }: Readonly<Record<string, unknown>> = {
    ...(head as object),
  };
  if (!Array.isArray(outputs)) throw unreadable(model, 'it has no outputs');
  const json = new Map<string, readonly unknown[]>();
  let at = size;
  const read = outputs.map((one: unknown): WireOutput => {
    const {
      name,
      datatype,
      shape,
      data,
      parameters: how,
    }: Readonly<Record<string, unknown>> = {
      ...(one as object),
    };
    if (typeof name !== 'string' || !isDatatype(datatype) || !isShape(shape))
      throw unreadable(model, 'an output has no name, datatype or shape');
    if (Array.isArray(data)) {
      json.set(name, data);
      return { name, datatype, shape, bytes: new ArrayBuffer(0) };
    }
    const { binary_data_size: bytes }: { readonly binary_data_size?: unknown } = { ...(how as object) };
    if (typeof bytes !== 'number' || bytes < 0 || at + bytes > body.byteLength)
      throw unreadable(model, `output '${name}' has no data`);
    if (datatype !== 'BYTES' && bytes !== elementCount(shape) * datatypeSize[datatype])
      throw unreadable(model, `output '${name}' has ${bytes} bytes, which its shape has not`);
    const begin = at;
    at += bytes;
    return { name, datatype, shape, bytes: body.buffer.slice(body.byteOffset + begin, body.byteOffset + at) };
  });
  return {
    model: {
      name: typeof model_name === 'string' ? model_name : model,
      version: typeof model_version === 'string' ? model_version : '',
    },
    id: typeof id === 'string' ? id : '',
    parameters: readParameters(parameters),
    outputs: read,
    json,
  };
}

function isDatatype(value: unknown): value is Datatype {
  return typeof value === 'string' && Object.hasOwn(datatypeNumber, value);
}

function isShape(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((dim) => Number.isSafeInteger(dim) && dim >= 0);
}
