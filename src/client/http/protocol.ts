/** KServe v2 over HTTP, with the extension for binary data. */

import type { ModelConfig } from '../../config/index.js';
import { TritonError } from '../../errors.js';
import { spanHeaders } from '../../open-telemetry.js';
import type { ModelMetadata, ModelStatus } from '../../index.js';
import { Calls } from '../calls.js';
import type { CheckedConnectOptions } from '../options.js';
import {
  storedOutputs,
  type AnswerSink,
  type AnswerStream,
  type ModelName,
  type Protocol,
  type Readiness,
  type WireAnswer,
  type WireRequest,
} from '../protocol.js';
import type { RegionStatus } from '../../server/memory/shared-memory.js';
import { readConfig } from '../remote-version.js';
import type { RemoteMetadata, RemoteStatistics } from '../types.js';
import { Connection, type Answer } from './connection.js';
import { readAnswer, writeRequest } from './infer-message.js';

const noStreams = 'HTTP has no typed stream for them; connect to the gRPC port';

function nothing(): void {
  // There is no stream.
}

function pathOf({ name, version }: ModelName): string {
  const pinned = version === undefined ? '' : `/versions/${version}`;
  return `/v2/models/${encodeURIComponent(name)}${pinned}`;
}

function textOf({ body }: Answer): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

/** Whether a value is an object whose members of these names are arrays. */
function hasLists(value: unknown, ...names: readonly string[]): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const members: Readonly<Record<string, unknown>> = { ...value };
  return names.every((name) => Array.isArray(members[name]));
}

function isTensor(value: unknown): boolean {
  if (!hasLists(value, 'shape')) return false;
  return typeof value['name'] === 'string' && typeof value['datatype'] === 'string';
}

/** A region as the protocol describes it. */
interface RegionEntry {
  readonly name: string;
  readonly key: string;
  readonly offset?: number;
  readonly byte_size: number;
}

// Only the parts of each answer that this client relies on are checked.
const isServer = (value: unknown): value is RemoteMetadata => hasLists(value);
const isIndex = (value: unknown): value is ModelStatus[] =>
  Array.isArray(value) && value.every((one) => hasLists(one));
const isRegions = (value: unknown): value is readonly RegionEntry[] =>
  Array.isArray(value) &&
  value.every((one) => {
    const { name, key }: Partial<Record<string, unknown>> = { ...(one as object) };
    return typeof name === 'string' && typeof key === 'string';
  });
const isStatistics = (value: unknown): value is { readonly model_stats: RemoteStatistics[] } =>
  hasLists(value, 'model_stats');
const isModel = (value: unknown): value is ModelMetadata =>
  hasLists(value, 'inputs', 'outputs') &&
  [value['inputs'], value['outputs']].flat().every((one) => isTensor(one));

/**
 * Parses the JSON of an answer.
 *
 * @param isForm - Whether the value has the form that KServe v2 defines.
 * @throws {@link TritonError} INTERNAL if the text is not JSON or has another form. The message shows the text.
 */
function jsonOf<T>(
  answer: Answer,
  path: string,
  isForm: (value: unknown) => value is T,
  model: string | undefined,
): T {
  const text = textOf(answer);
  const fail = (what: string, cause: unknown): TritonError =>
    new TritonError(
      'INTERNAL',
      `the server's answer to ${path} is ${what}: ${JSON.stringify(text.slice(0, 200))}`,
      { model, cause },
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw fail(`not JSON but ${answer.headers['content-type'] ?? 'of no content type'}`, cause);
  }
  if (isForm(value)) return value;
  throw fail('JSON that does not follow KServe v2', undefined);
}

/** See the head of this file. */
export class HttpProtocol implements Protocol {
  readonly calls: Calls;
  readonly forDecoupled: string = noStreams;
  readonly #connection: Connection;

  constructor(url: URL, options: CheckedConnectOptions) {
    this.calls = new Calls(options.retries);
    this.#connection = new Connection(url, options, this.calls);
  }

  async reach(signal: AbortSignal | undefined): Promise<void> {
    // Any answer shows that the server is there, even if it is not ready or does not report its health.
    await this.#connection.ask({ method: 'GET', path: '/v2/health/live', reads: true, signal });
  }

  async serverReady(): Promise<boolean> {
    return !(
      'error' in (await this.#connection.ask({ method: 'GET', path: '/v2/health/ready', reads: true }))
    );
  }

  serverMetadata(): Promise<RemoteMetadata> {
    return this.#get('/v2', isServer);
  }

  async index(ready: boolean): Promise<readonly ModelStatus[]> {
    const answer = await this.#connection.call({
      method: 'POST',
      path: '/v2/repository/index',
      reads: true,
      body: [Buffer.from(JSON.stringify({ ready }))],
    });
    return jsonOf(answer, '/v2/repository/index', isIndex, undefined);
  }

  async statistics(name: string | undefined, version: string | undefined): Promise<RemoteStatistics[]> {
    const path = name === undefined ? '/v2/models' : pathOf({ name, version });
    const { model_stats: all } = await this.#get(`${path}/stats`, isStatistics, name);
    return all;
  }

  async load(
    name: string,
    config: string | undefined,
    files: readonly (readonly [path: string, bytes: Uint8Array])[],
    force: boolean,
  ): Promise<void> {
    const parameters: Record<string, string | boolean> = Object.fromEntries([
      ...(config === undefined ? [] : [['config', config] as const]),
      ...files.map(([path, bytes]) => [`file:${path}`, Buffer.from(bytes).toString('base64')] as const),
    ]);
    // Triton does not know this parameter.
    if (force) parameters['force'] = true;
    await this.#control(name, 'load', parameters);
  }

  unload(name: string, dependents: boolean): Promise<void> {
    return this.#control(name, 'unload', { unload_dependents: dependents });
  }

  async modelReady(model: ModelName): Promise<Readiness> {
    const answer = await this.#connection.ask({
      method: 'GET',
      path: `${pathOf(model)}/ready`,
      reads: true,
      model: model.name,
    });
    if (!('error' in answer)) return { ready: true };
    const { status, error } = answer;
    return { ready: false, ...((status === 404 || status === 403) && { refusal: error }) };
  }

  metadata(model: ModelName): Promise<ModelMetadata> {
    return this.#get(pathOf(model), isModel, model.name);
  }

  async config(model: ModelName): Promise<ModelConfig> {
    const path = `${pathOf(model)}/config`;
    const answer = await this.#connection.call({ method: 'GET', path, reads: true, model: model.name });
    return readConfig(model.name, textOf(answer));
  }

  async infer(
    model: ModelName,
    request: WireRequest,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
  ): Promise<WireAnswer> {
    const body = writeRequest(request);
    const { headers, body: answer } = await this.#connection.call({
      method: 'POST',
      path: `${pathOf(model)}/infer`,
      headers: {
        ...spanHeaders(),
        'Content-Type': 'application/octet-stream',
        'Inference-Header-Content-Length': String(body[0].byteLength),
      },
      body,
      reads: false,
      signal,
      timeoutMs,
      model: model.name,
    });
    const size = headers['inference-header-content-length'];
    const headSize = typeof size === 'string' ? Number(size) : undefined;
    return readAnswer(model.name, answer, headSize, storedOutputs(request));
  }

  async registerRegion(name: string, key: string, offset: number, byteSize: number): Promise<void> {
    await this.#region(name, 'register', { key, offset, byte_size: byteSize });
  }

  async unregisterRegion(name: string): Promise<void> {
    await this.#region(name, 'unregister', {});
  }

  async regions(): Promise<RegionStatus[]> {
    const all = await this.#get('/v2/systemsharedmemory/status', isRegions);
    return all.map(({ name, key, offset = 0, byte_size }) => ({ name, key, offset, byteSize: byte_size }));
  }

  stream({ name }: ModelName, _request: unknown, _signal: unknown, sink: AnswerSink): AnswerStream {
    const text = `model '${name}': its requests get any number of responses; ${noStreams}`;
    queueMicrotask(() => {
      sink.fail(new TritonError('UNSUPPORTED', text, { model: name }));
    });
    return { pause: nothing, cancel: nothing };
  }

  async close(timeoutMs: number): Promise<void> {
    await this.calls.end(timeoutMs);
    this.#connection.destroy();
  }

  async #get<T>(path: string, isForm: (value: unknown) => value is T, model?: string): Promise<T> {
    const answer = await this.#connection.call({ method: 'GET', path, reads: true, model });
    return jsonOf(answer, path, isForm, model);
  }

  async #region(name: string, what: 'register' | 'unregister', body: object): Promise<void> {
    await this.#connection.call({
      method: 'POST',
      path: `/v2/systemsharedmemory/region/${encodeURIComponent(name)}/${what}`,
      headers: { 'Content-Type': 'application/json' },
      body: [Buffer.from(JSON.stringify(body))],
      reads: false,
    });
  }

  async #control(name: string, what: 'load' | 'unload', parameters: object): Promise<void> {
    await this.#connection.call({
      method: 'POST',
      path: `/v2/repository/models/${encodeURIComponent(name)}/${what}`,
      headers: { 'Content-Type': 'application/json' },
      body: [Buffer.from(JSON.stringify({ parameters }))],
      reads: false,
      model: name,
    });
  }
}
