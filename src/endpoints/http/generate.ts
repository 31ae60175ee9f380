/** The generate extension: takes one flat JSON object, and answers with one or with server-sent events. */

import { invalidArgument, TritonError } from '../../errors.js';
import type { ModelMetadata, TensorMetadata } from '../../api/metadata.js';
import type { InferResult } from '../../api/results.js';
import type { TensorInput } from '../../tensor/inputs.js';
import type { Sliced } from '../../slices.js';
import { elementCount } from '../../tensor/shape.js';
import { inOrder } from '../../tensor/named-values.js';
import { parameterText, type ParameterValue, type Parameters } from '../../protocol/parameters.js';
import { asTritonError } from '../../protocol/statuses.js';
import { namingModel } from '../service/request-errors.js';
import { eventHeaders, writeEvent } from './event-stream.js';
import type { Exchange } from './exchange.js';
import { JsonText, member, readObject, readParameter, readString, wrongType } from './json.js';
import { elementsText, quoted } from './json-output.js';
import { writeAnswer } from './long-answer.js';
import { readTensor, takesIntegers } from './json-tensor.js';

/** A request to generate, without the model's name. */
export interface GenerateRequest {
  readonly id: string;
  readonly inputs: Readonly<Record<string, TensorInput>>;
  readonly parameters: Parameters;
}

/** The members of the object and of its `parameters`, in one map. */
function flatten(root: unknown): Map<string, unknown> {
  const object = readObject('request', root);
  const flat = new Map<string, unknown>();
  const put = (name: string, value: unknown): void => {
    if (flat.has(name)) throw invalidArgument(`'${name}' is given twice, one of them in 'parameters'`);
    flat.set(name, value);
  };
  for (const [name, value] of Object.entries(object)) if (name !== 'parameters') put(name, value);
  const parameters = member(object, 'parameters');
  if (parameters !== undefined) {
    for (const [name, value] of Object.entries(readObject('parameters', parameters))) put(name, value);
  }
  return flat;
}

/** The shape for `count` elements. The last variable dim takes the rest; other variable dims are 1. */
function shapeFor(model: string, { name, shape }: TensorMetadata, count: number): number[] {
  const fixed = shape.reduce((product, dim) => (dim === -1 ? product : product * dim), 1);
  const last = shape.lastIndexOf(-1);
  const rest = count / fixed;
  if (!Number.isInteger(rest) || (last < 0 && rest !== 1)) {
    throw invalidArgument(
      `The schema cannot convert input '${name}' to a tensor: ${count} elements do not fill shape [${shape.join(',')}] of model '${model}'`,
      { model, tensor: name },
    );
  }
  return shape.map((dim, i) => (dim !== -1 ? dim : i === last ? rest : 1));
}

function readInput(model: string, input: TensorMetadata, value: unknown): TensorInput {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const nested = list.find((one) => Array.isArray(one));
  if (nested !== undefined) throw wrongType(input.name, 'an element or a flat array of elements', nested);
  return readTensor(input.name, input.datatype, shapeFor(model, input, list.length), list);
}

/**
 * Reads a body.
 *
 * @throws {@link TritonError} INVALID_ARG for a body that is not JSON, for wrong types, and for invalid values.
 */
export function readGenerateRequest(body: Buffer, metadata: ModelMetadata): GenerateRequest {
  try {
    return readRequest(body, metadata);
  } catch (error) {
    throw namingModel(error, metadata.name);
  }
}

function readRequest(body: Buffer, { name: model, inputs }: ModelMetadata): GenerateRequest {
  const json = new JsonText(body);
  let flat = flatten(json.parse());
  const named = inputs.filter(({ name }) => flat.has(name));
  if (json.hidesFractions && named.some(({ datatype }) => takesIntegers(datatype)))
    flat = flatten(json.parseExactly());
  const id = flat.get('id') ?? undefined;
  const tensors: [string, TensorInput][] = [];
  const parameters = new Map<string, ParameterValue>();
  for (const [name, value] of flat) {
    const input = named.find((one) => one.name === name);
    if (value === null && (input !== undefined || name === 'id')) continue; // Not given.
    if (input !== undefined) tensors.push([name, readInput(model, input, value)]);
    else if (name !== 'id') parameters.set(name, readParameter(name, value));
  }
  return {
    id: id === undefined ? '' : readString('id', id),
    inputs: Object.fromEntries(tensors),
    parameters,
  };
}

/**
 * A response as one object, with every output and parameter by its name. An output of one element is that element.
 * Each name comes once. As in Triton, a parameter takes the place of an output of its name, and neither takes that of
 * the request's id, the model's name and its version.
 *
 * @throws {@link TritonError} INVALID_ARG for outputs that JSON cannot carry.
 */
function* writeGenerated({ id, model, outputs, parameters }: InferResult): Sliced<string> {
  const own = new Map<string, string>(id === '' ? [] : [['id', quoted(id)]]);
  own.set('model_name', quoted(model.name)).set('model_version', `"${model.version}"`);
  const members = [...own].map(([name, text]) => `"${name}":${text}`);
  for (const { name } of inOrder(outputs, undefined)) {
    const tensor = outputs[name];
    if (tensor === undefined || own.has(name) || Object.hasOwn(parameters, name)) continue;
    const text = yield* elementsText(model.name, name, tensor);
    members.push(`${quoted(name)}:${elementCount(tensor.shape) === 1 ? text : `[${text}]`}`);
  }
  for (const [name, value] of Object.entries(parameters))
    if (!own.has(name)) members.push(`${quoted(name)}:${parameterText(value)}`);
  return `{${members.join(',')}}`;
}

/** {@link writeGenerated}, in slices if the response is long; undefined if the client leaves meanwhile. */
function generated(exchange: Exchange, result: InferResult): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const failed = (error: unknown): void => {
      reject(asTritonError(error));
    };
    writeAnswer(exchange, result.outputs, () => true, writeGenerated(result), resolve, failed);
  });
}

const oneResponse = (count: string): TritonError =>
  new TritonError(
    'INTERNAL',
    `generate expects model to produce exactly 1 response, but it produced ${count}; use generate_stream`,
  );

/** Answers with the only response. As in Triton, an error of the model is status 400, whatever its code. */
export async function sendGenerated(
  exchange: Exchange,
  responses: AsyncIterableIterator<InferResult>,
): Promise<void> {
  let text: string | undefined;
  try {
    for await (const response of responses) {
      exchange.trace?.completed();
      if (text !== undefined) {
        exchange.sendError(oneResponse('more'), 200);
        return; // This ends the request.
      }
      text = await generated(exchange, response);
      if (text === undefined) {
        exchange.finish();
        return; // The client has left. This ends the request.
      }
    }
    if (text === undefined) exchange.sendError(oneResponse('none'), 200);
    else exchange.sendJson(200, text);
  } catch (error) {
    exchange.trace?.completed(error);
    exchange.sendError(error, 400);
  }
}

/**
 * Sends each response as an event. While the socket is full, no response is read, and the model waits. The first
 * event decides the status.
 */
export async function sendEvents(
  exchange: Exchange,
  responses: AsyncIterableIterator<InferResult>,
): Promise<void> {
  const { response, client } = exchange;
  let begun = false;
  /** Begins the answer. Returns whether events may follow: the answer is ours, and the client is connected. */
  const begin = (status: number): boolean => {
    begun ||= exchange.head(status, [...eventHeaders]);
    return begun && !client.gone && !response.writableEnded;
  };
  try {
    for await (const result of responses) {
      exchange.trace?.completed();
      const text = await generated(exchange, result);
      if (text === undefined) break; // This ends the request.
      const event = `data: ${text}\n\n`;
      if (!begin(200)) break; // This ends the request.
      await writeEvent(exchange, event);
    }
    begin(200);
  } catch (error) {
    exchange.trace?.completed(error);
    const event = `data: ${JSON.stringify({ error: asTritonError(error).message })}\n\n`;
    if (begin(400)) response.write(event);
  }
  response.end();
  exchange.finish();
}
