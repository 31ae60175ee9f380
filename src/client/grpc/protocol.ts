/** KServe v2 over gRPC, with Triton's streams. */

import {
  expandConfig,
  printConfigJson,
  type ModelConfig,
  type ModelConfigInput,
} from '../../config/index.js';
import { ProtoReader } from '../../protocol/protobuf/reader.js';
import { spanHeaders } from '../../open-telemetry.js';
import { TritonError } from '../../errors.js';
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
import { Channel } from './channel.js';
import { fieldsOf, messageOf, readInferResponse, readStreamResponse, writeInferRequest } from './messages.js';

/** Makes Triton end a stream with a gRPC status on an error, instead of an error text in a message. */
const strict = { triton_grpc_error: 'true' };

/** See the head of this file. */
export class GrpcProtocol implements Protocol {
  readonly calls: Calls;
  readonly forDecoupled: string = 'call stream instead of infer';
  readonly #channel: Channel;

  constructor(url: URL, options: CheckedConnectOptions) {
    this.calls = new Calls(options.retries);
    this.#channel = new Channel(url, options, this.calls);
  }

  async reach(signal: AbortSignal | undefined): Promise<void> {
    await this.#channel.ask({
      rpc: 'ServerLive',
      pieces: messageOf('ServerLiveRequest', {}),
      reads: true,
      anyStatus: true,
      signal,
    });
  }

  async serverReady(): Promise<boolean> {
    const { ready } = await this.#ask<{ readonly ready: boolean }>('ServerReady', {});
    return ready;
  }

  serverMetadata(): Promise<RemoteMetadata> {
    return this.#ask('ServerMetadata', {});
  }

  async index(ready: boolean): Promise<readonly ModelStatus[]> {
    const { models } = await this.#ask<{
      readonly models: readonly (ModelStatus & { readonly state: string })[];
    }>('RepositoryIndex', { ready });
    // An empty text means absent.
    return models.map(({ state, ...rest }) => ({ ...rest, ...((state as string) !== '' && { state }) }));
  }

  async statistics(name: string | undefined, version: string | undefined): Promise<RemoteStatistics[]> {
    const { model_stats: all } = await this.#ask<{ readonly model_stats: RemoteStatistics[] }>(
      'ModelStatistics',
      { name: name ?? '', version: version ?? '' },
      name,
    );
    return all;
  }

  async load(
    name: string,
    config: string | undefined,
    files: readonly (readonly [path: string, bytes: Uint8Array])[],
    force: boolean,
  ): Promise<void> {
    const parameters: Record<string, object> = Object.fromEntries(
      files.map(([path, bytes]) => [`file:${path}`, { bytes_param: bytes }]),
    );
    if (config !== undefined) parameters['config'] = { string_param: config };
    // Triton does not know this parameter.
    if (force) parameters['force'] = { bool_param: true };
    await this.#control('RepositoryModelLoad', name, parameters);
  }

  async unload(name: string, dependents: boolean): Promise<void> {
    await this.#control('RepositoryModelUnload', name, { unload_dependents: { bool_param: dependents } });
  }

  async modelReady(model: ModelName): Promise<Readiness> {
    const fields = { name: model.name, version: model.version ?? '' };
    try {
      const { ready } = await this.#ask<{ readonly ready: boolean }>('ModelReady', fields, model.name);
      return { ready };
    } catch (error) {
      if (!(error instanceof TritonError) || !Channel.isAnswer(error)) throw error;
      const isRefused = error.code === 'NOT_FOUND' || error.code === 'UNAVAILABLE';
      return { ready: false, ...(isRefused && { refusal: error }) };
    }
  }

  metadata({ name, version = '' }: ModelName): Promise<ModelMetadata> {
    return this.#ask('ModelMetadata', { name, version }, name);
  }

  async config({ name, version = '' }: ModelName): Promise<ModelConfig> {
    const bytes = await this.#send('ModelConfig', { name, version }, name);
    const { config } = fieldsOf('ModelConfigResponse', bytes, false) as {
      readonly config?: ModelConfigInput;
    };
    // Gives the same object that is read from HTTP's text.
    return readConfig(name, printConfigJson(expandConfig(config ?? {}), 0));
  }

  async infer(
    model: ModelName,
    request: WireRequest,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
  ): Promise<WireAnswer> {
    const { name } = model;
    const pieces = writeInferRequest(model, request);
    const bytes = await this.#channel.ask({
      rpc: 'ModelInfer',
      pieces,
      reads: false,
      signal,
      timeoutMs,
      model: name,
      metadata: spanHeaders(),
    });
    return readInferResponse(name, new ProtoReader(bytes), storedOutputs(request));
  }

  async registerRegion(name: string, key: string, offset: number, byteSize: number): Promise<void> {
    const rpc = 'SystemSharedMemoryRegister';
    const pieces = messageOf(`${rpc}Request`, { name, key, offset, byte_size: byteSize });
    await this.#channel.ask({ rpc, pieces, reads: false });
  }

  async unregisterRegion(name: string): Promise<void> {
    const rpc = 'SystemSharedMemoryUnregister';
    await this.#channel.ask({ rpc, pieces: messageOf(`${rpc}Request`, { name }), reads: false });
  }

  async regions(): Promise<RegionStatus[]> {
    const { regions } = await this.#ask<{
      readonly regions: Readonly<
        Record<string, Omit<RegionStatus, 'byteSize'> & { readonly byte_size: number }>
      >;
    }>('SystemSharedMemoryStatus', {});
    return Object.values(regions).map(({ name, key, offset, byte_size }) => ({
      name,
      key,
      offset,
      byteSize: byte_size,
    }));
  }

  stream(
    model: ModelName,
    request: WireRequest,
    signal: AbortSignal | undefined,
    sink: AnswerSink,
  ): AnswerStream {
    const { name } = model;
    let failed = false;
    const fail = (error: TritonError): void => {
      failed = true;
      stream.cancel();
      sink.fail(error);
    };
    const stream = this.#channel.open(
      {
        rpc: 'ModelStreamInfer',
        pieces: writeInferRequest(model, request),
        reads: false,
        signal,
        model: name,
        metadata: { ...strict, ...spanHeaders() },
      },
      {
        message: (bytes) => {
          if (failed) return;
          try {
            const read = readStreamResponse(name, bytes);
            if ('error' in read) fail(read.error);
            else sink.answer(read.answer, bytes.length);
          } catch (error) {
            fail(error as TritonError); // The reading throws nothing else.
          }
        },
        end: () => {
          sink.end();
        },
        fail: (error) => {
          sink.fail(error);
        },
      },
    );
    return stream;
  }

  async close(timeoutMs: number): Promise<void> {
    await this.calls.end(timeoutMs);
    this.#channel.destroy();
  }

  #send(rpc: string, fields: object, model?: string): Promise<Buffer> {
    return this.#channel.ask({ rpc, pieces: messageOf(`${rpc}Request`, fields), reads: true, model });
  }

  /** Makes a read-only call. */
  async #ask<T>(rpc: string, fields: object, model?: string): Promise<T> {
    const bytes = await this.#send(rpc, fields, model);
    // The messages have the form that KServe v2 defines.
    return fieldsOf(`${rpc}Response`, bytes, true) as T;
  }

  async #control(rpc: string, name: string, parameters: Readonly<Record<string, object>>): Promise<void> {
    const pieces = messageOf(`${rpc}Request`, { model_name: name, parameters });
    await this.#channel.ask({ rpc, pieces, reads: false, model: name });
  }
}
