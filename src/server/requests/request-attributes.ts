/** What a request says besides its inputs, as words of its record; `native/engine/port/port_layout.h` has the layout. */

import { parameterCaller, parameterString, parameterTrace } from '../../addon/layout.js';
import { encodeParameter, parameterWords } from '../../addon/parameter-words.js';
import { invalidArgument } from '../../errors.js';
import { isKeyed, keyless } from '../../keyless.js';
import type { RequestParameters } from '../../api/request-parameters.js';
import { mostParameters } from '../../most-parameters.js';
import { printableLine } from '../../printable.js';

/** Of an infer's or a map's options. */
export interface AttributeOptions {
  readonly priority: number | undefined;
  readonly timeoutUs: number | undefined;
  readonly parameters: RequestParameters | undefined;
}

/** Words before the parameters. */
const headWords = 5;
/** Words at most: a record has 64 Ki of them for all. */
const mostWords = 32_768;
const encoder = new TextEncoder();

/** Names that mean something to Triton's own front ends, and what to write instead. */
const reserved: ReadonlyMap<string, string> = new Map([
  ['priority', 'write options.priority instead'],
  ['timeout', 'write options.timeoutUs instead'],
  ['sequence_id', 'write options.sequence instead'],
  ['sequence_start', 'write options.sequence instead'],
  ['sequence_end', 'write options.sequence instead'],
  ['headers', 'Triton reserves it'],
]);

/** Why a parameter must not have a name; undefined: it may. */
function whyRefused(name: string): string | undefined {
  if (name.startsWith('triton_')) return 'Triton reserves the prefix';
  if (name.includes('\0')) return 'interfaces of C would cut it at its zero character';
  return reserved.get(name);
}

/**
 * Checks and encodes them; undefined where there is nothing to say.
 *
 * @throws {TritonError} INVALID_ARG that names the option, what was expected and what came.
 */
export function encodeAttributes(model: string, options: AttributeOptions): Int32Array | undefined {
  const { priority = 0, timeoutUs = 0, parameters } = options;
  checkCount(model, 'priority', priority);
  checkCount(model, 'timeoutUs', timeoutUs);
  const encoded = parameters === undefined ? [] : encodeParameters(model, parameters);
  if (priority === 0 && timeoutUs === 0 && encoded.length === 0) return undefined;
  const size = encoded.reduce((words, one) => words + one.length, headWords);
  if (size > mostWords) {
    throw refusal(model, 'parameters', `at most ${4 * mostWords} bytes`, `${4 * size}`);
  }
  const words = new Int32Array(size);
  words[0] = priority;
  words[1] = priority / 2 ** 32;
  words[2] = timeoutUs;
  words[3] = timeoutUs / 2 ** 32;
  words[4] = encoded.length;
  let position = headWords;
  for (const one of encoded) {
    words.set(one, position);
    position += one.length;
  }
  return words;
}

/** The name of the parameter that tells a model the request's id. No caller can use it. */
const idParameter = 'triton_request_id';

/** Adds the id of a request, for versions that are told of it. */
export function withId(attributes: Int32Array | undefined, id: string): Int32Array {
  const before = attributes ?? new Int32Array(headWords);
  const own = parameterWords(parameterString, idParameter, encoder.encode(id));
  const words = new Int32Array(before.length + own.length);
  words.set(before);
  words.set(own, before.length);
  words[headWords - 1] = (before[headWords - 1] ?? 0) + 1;
  return words;
}

/** What the last request said that says nothing but its caller. Those of a batch's requests often have one number. */
let lastCaller: Int32Array | undefined;
let lastNumber = 0;

/** The same, and the number of the batch that makes the request. The array must not be changed. */
export function withCaller(attributes: Int32Array | undefined, caller: number): Int32Array {
  if (attributes !== undefined) return addCaller(attributes, caller);
  if (lastCaller === undefined || lastNumber !== caller) {
    lastCaller = addCaller(undefined, caller);
    lastNumber = caller;
  }
  return lastCaller;
}

function addCaller(attributes: Int32Array | undefined, caller: number): Int32Array {
  const before = attributes?.length ?? headWords;
  const words = new Int32Array(before + 4);
  if (attributes) words.set(attributes);
  words[headWords - 1] = (words[headWords - 1] ?? 0) + 1;
  words.set([parameterCaller, 0, 4, caller], before);
  return words;
}

/** The same, and the id of the request's trace. */
export function withTrace(attributes: Int32Array | undefined, trace: number): Int32Array {
  const before = attributes?.length ?? headWords;
  const words = new Int32Array(before + 5);
  if (attributes) words.set(attributes);
  words[headWords - 1] = (words[headWords - 1] ?? 0) + 1;
  words.set([parameterTrace, 0, 8], before);
  words.set(new Int32Array(Float64Array.of(trace).buffer), before + 3);
  return words;
}

function refusal(model: string, option: string, expected: string, received: string): Error {
  const text = `model '${model}': expected ${expected} for options.${option} but received ${received}`;
  return invalidArgument(text, { model });
}

function show(value: unknown): string {
  if (typeof value === 'string') return `${JSON.stringify(value)} of type string`;
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'an array' : (keyless(value) ?? 'an object');
  return typeof value === 'function' ? 'a function' : `${String(value)} of type ${typeof value}`;
}

function checkCount(model: string, option: string, value: unknown): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return;
  throw refusal(model, option, 'an integer of at least 0', show(value));
}

/** @throws {@link TritonError} INVALID_ARG beyond {@link mostParameters}. */
function checkParameterCount(model: string, count: number): void {
  if (count <= mostParameters) return;
  throw refusal(model, 'parameters', `at most ${mostParameters} parameters`, `${count}`);
}

function encodeParameters(model: string, parameters: unknown): Int32Array[] {
  if (!isKeyed(parameters)) {
    throw refusal(model, 'parameters', 'an object of strings, numbers and booleans', show(parameters));
  }
  const entries = Object.entries(parameters) as [string, unknown][];
  checkParameterCount(model, entries.length);
  const encoded: Int32Array[] = [];
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    const why = whyRefused(name);
    if (why !== undefined) {
      const text = `model '${model}': options.parameters must not have the name '${printableLine(name)}': ${why}`;
      throw invalidArgument(text, { model });
    }
    const words = encodeParameter(name, value);
    if (words === undefined) {
      const what = 'a string, a number, a boolean or a bigint of 64 bits';
      throw refusal(model, `parameters['${name}']`, what, show(value));
    }
    encoded.push(words);
  }
  return encoded;
}
