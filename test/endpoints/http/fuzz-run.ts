/**
 * Fuzzes the bodies of requests, and reads them as the endpoint does. A body is read, or refused with a
 * TritonError; no other error may be thrown. The exact JSON parser is compared with JSON.parse. Now and then a body
 * goes over a connection whose next request must be answered.
 */

import { request, Agent } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { TritonError, type InferenceServer } from '../../../src/index.js';
import { readLoadRequest, readTraceRequest } from '../../../src/endpoints/http/control-request.js';
import { readGenerateRequest } from '../../../src/endpoints/http/generate.js';
import { ClientRegions } from '../../../src/endpoints/service/client-regions.js';
import { readInferRequest } from '../../../src/endpoints/http/infer-request.js';
import { Fraction, parseExactly } from '../../../src/protocol/json-exact.js';
import { scanJson } from '../../../src/endpoints/http/json-scan.js';
import { serveHttp } from '../../../src/endpoints/http/serve.js';
import { Dice } from '../../requests/dice.js';

/** A body, and how many of its bytes are JSON. */
interface Sample {
  readonly body: Buffer;
  readonly jsonSize: number;
}

/** The outcome of a run. */
export interface HttpFuzzReport {
  readonly executions: number;
  /** Bodies that are requests. */
  readonly read: number;
  /** Of these, those that the models answered. */
  readonly answered: number;
  /** How many went over a connection. */
  readonly sent: number;
}

function sample(head: object | string, ...blobs: readonly Uint8Array[]): Sample {
  const json = Buffer.from(typeof head === 'string' ? head : JSON.stringify(head));
  return { body: Buffer.concat([json, ...blobs]), jsonSize: json.length };
}

const floats = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer);
const texts = Buffer.from('\x02\0\0\0ab\0\0\0\0', 'latin1');
const binary = (size: number): object => ({ parameters: { binary_data_size: size } });
const half = { name: 'f', datatype: 'FP32', shape: [4] };
const text = { name: 's', datatype: 'BYTES', shape: [2] };

const corpus: readonly Sample[] = [
  sample({
    id: 'a',
    inputs: [
      { ...half, data: [1, 2.5, [3], 4e3] },
      { ...text, data: ['a', 'é'] },
    ],
  }),
  sample(
    {
      inputs: [
        { ...half, ...binary(16) },
        { ...text, ...binary(10) },
      ],
    },
    floats,
    texts,
  ),
  sample(
    {
      inputs: [
        { ...text, ...binary(10) },
        { ...half, data: [1, 2, 3, 4] },
      ],
      parameters: { binary_data_output: true },
    },
    texts,
  ),
  sample({
    inputs: [
      {
        ...half,
        parameters: { shared_memory_region: 'r', shared_memory_offset: 4, shared_memory_byte_size: 16 },
      },
    ],
    outputs: [{ name: 'g', parameters: { shared_memory_region: 'r', shared_memory_byte_size: 16 } }],
  }),
  sample({ inputs: [], outputs: [{ name: 'g', parameters: { classification: 2, binary_data: true } }] }),
  sample(
    '{"inputs":[{"name":"f","datatype":"FP32","shape":[4],"data":[NaN,-Infinity,9007199254740993,1.0]}]}',
  ),
  sample(
    '{"inputs":[{"name":"i","datatype":"INT64","shape":[1],"data":[-9223372036854775808]}],"parameters":{"priority":1}}',
  ),
  sample({ parameters: { config: '{}', 'file:1/model.onnx': 'AAAA' } }),
  sample({
    trace_level: ['TIMESTAMPS', 'TENSORS'],
    trace_rate: '12abc',
    trace_count: null,
    log_frequency: '-1',
  }),
  sample({ f: [1, 2, 3, 4], s: ['a', 'b'], id: 'x', parameters: { seed: 1 } }),
];

/** Meaningful pieces of text. */
const tokens: readonly string[] = [
  ...'[ ] { } , : " \\ - . e 0 1 9 NaN Infinity true false null \\u0000 \\ud800'.split(' '),
  ...'"inputs" "outputs" "name" "datatype" "shape" "data" "parameters" "__proto__" "constructor"'.split(' '),
  ...'"trace_rate" "trace_level" "OFF" "binary_data_size" "FP32" "INT64" "BYTES" "BOOL" "FP16" 9007199254740993 1e400 -0 18446744073709551616'.split(
    ' ',
  ),
  '\0',
  '\u00ff',
  '😀',
];

function damage(dice: Dice, { body, jsonSize }: Sample): Sample {
  let bytes = Buffer.from(body);
  let size = jsonSize;
  for (let rounds = 1 + dice.below(4); rounds > 0; rounds--) {
    const at = dice.below(bytes.length + 1);
    const end = Math.min(bytes.length, at + dice.below(24));
    const kind = dice.below(6);
    if (kind === 0 && bytes.length > 0) bytes[at % bytes.length] = dice.below(256);
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    else if (kind === 3) {
      const token = Buffer.from(tokens[dice.below(tokens.length)] ?? '');
      bytes = Buffer.concat([bytes.subarray(0, at), token, bytes.subarray(at)]);
      if (at <= size && dice.below(2) === 0) size += token.length;
    } else if (kind === 4) size = dice.below(bytes.length + 1);
    else if (kind === 5 && dice.below(8) === 0) bytes = bytes.subarray(0, at);
  }
  return { body: bytes, jsonSize: Math.min(size, bytes.length) };
}

/** Fractions as numbers, so that both parsers' values can be compared where JSON.parse loses nothing. */
function plain(value: unknown): unknown {
  if (value instanceof Fraction) return value.value;
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}

/** The result of a function; undefined if it throws a TritonError. Other errors are thrown on. */
function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (error instanceof TritonError) return undefined;
    throw error;
  }
}

function hasInfinity(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity;
  return Object.values(value).some(hasInfinity);
}

function compareParsers(json: Buffer): void {
  const traits = attempt(() => scanJson(json));
  if (traits === undefined) return;
  const written = json.toString('utf8');
  const exact = attempt(() => ({ value: plain(parseExactly(written)) }));
  let quick: { value: unknown } | undefined;
  try {
    quick = { value: JSON.parse(written) as unknown };
  } catch {
    quick = undefined;
  }
  // Only text that is not JSON may be read by the exact parser alone.
  if (quick === undefined && exact !== undefined && !/NaN|Infinity/.test(written))
    throw new Error('the exact parser reads what JSON.parse does not');
  // JSON.parse takes 1e400 for infinity, and scanJson leads such texts around it.
  if (exact === undefined && quick !== undefined && traits.longNumbers && hasInfinity(quick.value)) return;
  if (quick !== undefined && !isDeepStrictEqual(quick, exact)) throw new Error('the parsers differ');
}

/**
 * Runs until `isOver` says so.
 *
 * @param server - With a model `m` that takes f (FP32 [-1]), s (BYTES [-1]) and i (INT64 [-1]), all optional.
 * @throws Error with the failing body in base64.
 */
export async function fuzzHttp(
  server: InferenceServer,
  seed: number,
  isOver: (executions: number) => boolean,
): Promise<HttpFuzzReport> {
  const dice = new Dice(seed);
  const metadata = server.model('m').metadata;
  const regions = new ClientRegions(server, true);
  // The region that the bodies name.
  const memory =
    process.platform === 'linux' ? server.sharedMemory.create(`fuzz-${process.pid}-${seed}`, 64) : undefined;
  if (memory !== undefined) server.sharedMemory.register('r', { key: memory.key, byteSize: 64 });
  const endpoint = await serveHttp(server, { port: 0, maxRequestBytes: 1 << 20, clientSharedMemory: true });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { host, port } = endpoint.address;
  const send = (path: string, body: Buffer, headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request({ host, port, path, method: 'POST', headers, agent }, (response) => {
        response.resume().on('end', () => {
          resolve(response.statusCode ?? 0);
        });
      });
      sent.on('error', reject).end(body);
    });
  const good = corpus[1] ?? sample('');
  let executions = 0;
  let read = 0;
  let answered = 0;
  let sent = 0;
  try {
    while (!isOver(executions)) {
      const { body, jsonSize } = damage(dice, corpus[dice.below(corpus.length)] ?? good);
      try {
        compareParsers(body.subarray(0, jsonSize));
        attempt(() => readLoadRequest(body));
        const changes = attempt(() => readTraceRequest(body));
        if (changes !== undefined) attempt(() => server.trace.update(changes));
        attempt(() => readGenerateRequest(body, metadata));
        const given = attempt(() => readInferRequest(body, jsonSize, regions));
        if (given !== undefined) {
          read++;
          const { inputs, id, outputs } = given;
          const done = server.infer('m', inputs, { id, outputs });
          await done.then(
            () => answered++,
            (error: unknown) => {
              if (!(error instanceof TritonError)) throw error;
            },
          );
        }
        if (executions % 16 === 0) {
          const headers = { 'Inference-Header-Content-Length': String(jsonSize) };
          const status = await send('/v2/models/m/infer', body, headers);
          // A client's mistake is not the server's fault: only unsupported functions and lack of room may be 5xx.
          if (![200, 400, 404, 429, 501, 503, 504].includes(status)) throw new Error(`status ${status}`);
          const size = { 'Inference-Header-Content-Length': String(good.jsonSize) };
          const next = await send('/v2/models/m/infer', good.body, size);
          if (next !== 200) throw new Error(`the next request got ${next}`);
          sent++;
        }
      } catch (cause) {
        const why = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
        throw new Error(`JSON of ${jsonSize} bytes in ${body.toString('base64')}: ${why}`, { cause });
      }
      executions++;
    }
  } finally {
    agent.destroy();
    await endpoint.close({ timeoutMs: 0 });
    if (memory !== undefined) server.sharedMemory.unregister('r');
    memory?.unregister();
  }
  return { executions, read, answered, sent };
}
