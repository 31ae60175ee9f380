/** An inference request and its answer over HTTP: KServe v2's JSON, followed by binary tensors. */

import { Fraction, parseExactly } from '../../protocol/json-exact.js';
import type { RequestParameters } from '../../index.js';
import { datatypeNumber, datatypeSize, type Datatype } from '../../tensor/datatype.js';
import { elementCount } from '../../tensor/shape.js';
import { unreadable } from '../failures.js';
import { parameterText, type ParameterValue } from '../../protocol/parameters.js';
import type { WireAnswer, WireOutput, WireRequest } from '../protocol.js';
import type { WireRange } from '../regions.js';
import { thrownText } from '../../thrown-text.js';

/** The parts of a request's body: JSON, then the inputs' bytes. */
export type RequestBody = readonly [json: Uint8Array, ...blobs: Uint8Array[]];

function parametersText(all: readonly (readonly [string, ParameterValue])[]): string {
  return `{${all.map(([name, value]) => `${JSON.stringify(name)}:${parameterText(value)}`).join(',')}}`;
}

/** Parameters of a tensor in shared memory, without brackets. */
function rangeText({ region, offset, byteSize }: WireRange): string {
  const name = JSON.stringify(region);
  return `"shared_memory_region":${name},"shared_memory_offset":${offset},"shared_memory_byte_size":${byteSize}`;
}

/** Writes a request. */
export function writeRequest({ id, parameters, inputs, outputs }: WireRequest): RequestBody {
  const described = inputs.map(({ name, datatype, shape, bytes, place }) => {
    const head = `"name":${JSON.stringify(name)},"shape":[${shape.join(',')}],"datatype":"${datatype}"`;
    const where = place === undefined ? `"binary_data_size":${bytes.byteLength}` : rangeText(place);
    return `{${head},"parameters":{${where}}}`;
  });
  const all: (readonly [string, ParameterValue])[] = [
    ...(outputs === undefined ? [['binary_data_output', true] as const] : []),
    ...parameters,
  ];
  const wanted = outputs?.map(({ name, classes, place }) => {
    const sent = classes > 0 ? `"classification":${classes},"binary_data":true` : '"binary_data":true';
    const how = place === undefined ? sent : rangeText(place);
    return `{"name":${JSON.stringify(name)},"parameters":{${how}}}`;
  });
  const members = [
    ...(id === '' ? [] : [`"id":${JSON.stringify(id)}`]),
    ...(all.length === 0 ? [] : [`"parameters":${parametersText(all)}`]),
    `"inputs":[${described.join(',')}]`,
    ...(wanted === undefined ? [] : [`"outputs":[${wanted.join(',')}]`]),
  ];
  return [
    Buffer.from(`{${members.join(',')}}`),
    ...inputs.filter(({ place }) => place === undefined).map(({ bytes }) => bytes),
  ];
}

/** Reads parameters. Values of other types are left out. */
function readParameters(given: unknown): RequestParameters {
  const read: [string, ParameterValue][] = [];
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
 * @param headSize - How many bytes of the body are JSON; undefined: all.
 * @param stored - Outputs that are in shared memory, and not in the answer.
 * @throws {@link TritonError} INTERNAL if the body is not a valid answer.
 */
export function readAnswer(
  model: string,
  body: Uint8Array<ArrayBuffer>,
  headSize: number | undefined,
  stored: ReadonlySet<string>,
): WireAnswer {
  const size = headSize ?? body.byteLength;
  if (!(size <= body.byteLength)) throw unreadable(model, `${size} bytes of JSON in ${body.byteLength}`);
  let head: unknown;
  try {
    const text = Buffer.from(body.buffer, body.byteOffset, size).toString('utf8');
    // JSON.parse is several times as fast, but loses large integers and rejects NaN and Infinity.
    head = /[0-9]{16}|NaN|Infinity/.test(text) ? parseExactly(text) : JSON.parse(text);
  } catch (error) {
    throw unreadable(model, thrownText(error), error);
  }
  const { model_name, model_version, id, parameters, outputs }: Readonly<Record<string, unknown>> = {
    ...(head as object),
  };
  if (!Array.isArray(outputs)) throw unreadable(model, 'it has no outputs');
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
    if (stored.has(name)) {
      if (data === undefined && !Object.hasOwn({ ...(how as object) }, 'binary_data_size'))
        return { name, datatype, shape, bytes: new ArrayBuffer(0), stored: true };
      throw unreadable(model, `output '${name}' came in the answer, and not in shared memory`);
    }
    if (Array.isArray(data)) return { name, datatype, shape, bytes: new ArrayBuffer(0), listed: data };
    const { binary_data_size: bytes }: { readonly binary_data_size?: unknown } = { ...(how as object) };
    if (typeof bytes !== 'number' || bytes < 0 || at + bytes > body.byteLength)
      throw unreadable(model, `output '${name}' has no data`);
    if (datatype !== 'BYTES' && bytes !== elementCount(shape) * datatypeSize[datatype])
      throw unreadable(model, `output '${name}' has ${bytes} bytes, which do not match its shape`);
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
  };
}

function isDatatype(value: unknown): value is Datatype {
  return typeof value === 'string' && Object.hasOwn(datatypeNumber, value);
}

function isShape(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((dim) => Number.isSafeInteger(dim) && dim >= 0);
}
