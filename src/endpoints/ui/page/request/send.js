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

/** The outputs of an answer: those of its JSON, with their bytes, which are behind it. */
function outputsOf({ outputs }, bytes) {
  let at = 0;
  return outputs.map(({ name, datatype, shape, parameters: { binary_data_size: size } }) => {
    const begin = at;
    at += size;
    return { name, datatype, shape, bytes: bytes.subarray(begin, at) };
  });
}

const jsonOf = (bytes) => parseExact(new TextDecoder().decode(bytes));

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
  const head = Number(response.headers.get('inference-header-content-length') ?? bytes.byteLength);
  return outputsOf(jsonOf(bytes.subarray(0, head)), bytes.subarray(head));
}

/**
 * Sends a request with a stream of answers. The rest is as for {@link infer}.
 *
 * @returns The outputs of each answer, when it comes.
 */
export async function* inferStream(model, version, inputs, parameters, signal) {
  const response = await call(`${modelPath(model, version)}/stream`, {
    method: 'POST',
    signal,
    ...inferBody(inputs, parameters),
  });
  const bytes = new StreamBytes(response.body);
  for (;;) {
    const size = await bytes.take(4);
    if (size === undefined) return;
    const answer = jsonOf(await bytes.rest(new DataView(size.buffer).getUint32(0, true)));
    if (answer.error !== undefined) throw new Error(answer.error);
    const all = answer.outputs.reduce((sum, { parameters: { binary_data_size: one } }) => sum + one, 0);
    yield outputsOf(answer, await bytes.rest(all));
  }
}

/** The bytes of a stream, by their numbers. Not all browsers iterate over streams. */
class StreamBytes {
  #reader;
  #chunks = [];
  #size = 0;

  constructor(body) {
    this.#reader = body.getReader();
  }

  /** So many bytes; undefined: the stream has ended before the first one. */
  async take(count) {
    while (this.#size < count) {
      const { done, value } = await this.#reader.read();
      if (done && this.#size === 0) return undefined;
      if (done) throw new Error('The stream has ended within an answer.');
      this.#chunks.push(value);
      this.#size += value.byteLength;
    }
    const taken = new Uint8Array(count);
    for (let at = 0; at < count;) {
      const part = this.#chunks[0].subarray(0, count - at);
      taken.set(part, at);
      at += part.byteLength;
      if (part.byteLength === this.#chunks[0].byteLength) this.#chunks.shift();
      else this.#chunks[0] = this.#chunks[0].subarray(part.byteLength);
    }
    this.#size -= count;
    return taken;
  }

  /** So many bytes of an answer that has begun. */
  async rest(count) {
    const taken = await this.take(count);
    if (taken === undefined) throw new Error('The stream has ended within an answer.');
    return taken;
  }
}
