// Sends requests, and reads their answers.

import { call, modelPath } from '../server.js';
import { parseExact } from './exact-json.js';

const membersText = (pairs) => pairs.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',');

/** The body of `infer`: JSON, and behind it the bytes of each input. */
function inferBody(inputs, parameters) {
  const listed = inputs.map(({ name, datatype, shape, bytes }) => ({
    ...{ name, datatype, shape },
    parameters: { binary_data_size: bytes.byteLength },
  }));
  const told = membersText([['binary_data_output', 'true'], ...parameters]);
  const head = new TextEncoder().encode(`{"parameters":{${told}},"inputs":${JSON.stringify(listed)}}`);
  return {
    body: new Blob([head, ...inputs.map(({ bytes }) => bytes)]),
    headers: {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': String(head.byteLength),
    },
  };
}

/**
 * Sends a request with one answer.
 *
 * @param parameters - Names and JSON.
 * @returns The outputs with their bytes.
 */
export async function infer(model, version, inputs, parameters, signal) {
  const response = await call(`${modelPath(model, version)}/infer`, {
    method: 'POST',
    signal,
    ...inferBody(inputs, parameters),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  let at = Number(response.headers.get('inference-header-content-length') ?? bytes.byteLength);
  const { outputs } = parseExact(new TextDecoder().decode(bytes.subarray(0, at)));
  return outputs.map(({ name, datatype, shape, parameters: { binary_data_size: size } }) => {
    const begin = at;
    at += size;
    return { name, datatype, shape, bytes: bytes.subarray(begin, at) };
  });
}

/**
 * Sends a request with a stream of answers, which are JSON.
 *
 * @param inputs - Names and JSON.
 * @param parameters - Names and JSON.
 * @param outputs - The model's outputs: if one is named `error`, that member of an answer is its value.
 * @returns The answers as objects, each when it comes.
 */
export async function* generateStream(model, version, inputs, parameters, outputs, signal) {
  const mayFail = outputs.every(({ name }) => name !== 'error');
  const told = parameters.length > 0 ? [['parameters', `{${membersText(parameters)}}`]] : [];
  const response = await call(`${modelPath(model, version)}/generate_stream`, {
    method: 'POST',
    signal,
    body: `{${membersText([...inputs, ...told])}}`,
    headers: { 'content-type': 'application/json' },
  });
  let rest = '';
  for await (const text of textsOf(response.body)) {
    const events = (rest + text).split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const answer = parseExact(event.replace(/^data: ?/, ''));
      if (mayFail && typeof answer.error === 'string') throw new Error(answer.error);
      yield answer;
    }
  }
}

/** The texts of a body. Not all browsers iterate over streams. */
async function* textsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
}
