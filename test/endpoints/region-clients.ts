/** Clients of either protocol, whose tensors are in shared memory. */

import assert from 'node:assert/strict';
import { status } from '@grpc/grpc-js';
import type { GrpcEndpoint } from '../../src/endpoints/grpc/serve.js';
import type { HttpEndpoint } from '../../src/endpoints/http/serve.js';
import type { Context } from '../support/harness.js';
import * as overGrpc from './grpc/harness.js';
import * as overHttp from './http/harness.js';

export interface Range {
  readonly region: string;
  readonly offset?: number;
  readonly byteSize?: number;
}

export interface Asked {
  readonly model: string;
  readonly datatype?: string;
  readonly shape: readonly number[];
  readonly input: Range;
  readonly output?: Range & { readonly more?: Readonly<Record<string, unknown>> };
}

export interface Refused {
  readonly code: string;
  readonly message: string;
}

/** A client of either protocol. */
export interface Client {
  register(name: string, key: string, offset: number, byteSize: number): Promise<Refused | undefined>;
  unregister(name: string): Promise<Refused | undefined>;
  status(name: string): Promise<readonly unknown[] | Refused>;
  /** The same calls for memory of GPUs. */
  readonly cuda: {
    register(
      name: string,
      handle: Uint8Array,
      deviceId: number,
      byteSize: number,
    ): Promise<Refused | undefined>;
    unregister(name: string): Promise<Refused | undefined>;
    status(name: string): Promise<readonly unknown[] | Refused>;
  };
  /** The shape of the output, and its floats if it is not in shared memory. */
  infer(asked: Asked): Promise<{ shape: readonly number[]; floats: readonly number[] | undefined } | Refused>;
}

function parametersOf(range: Range, more: object = {}): Record<string, unknown> {
  return {
    shared_memory_region: range.region,
    ...(range.offset !== undefined && { shared_memory_offset: range.offset }),
    ...(range.byteSize !== undefined && { shared_memory_byte_size: range.byteSize }),
    ...more,
  };
}

const httpCodes: Readonly<Record<number, string>> = {
  400: 'INVALID_ARG or ALREADY_EXISTS',
  404: 'NOT_FOUND',
  409: 'ALREADY_EXISTS',
  501: 'UNSUPPORTED',
};

export function httpClient(endpoint: HttpEndpoint): Client {
  const made_ = async (path: string, body: object): Promise<Refused | undefined> => {
    const answer = await overHttp.ask(endpoint, path, { body });
    if (answer.status === 200) return undefined;
    return refusalOf(answer);
  };
  const refusalOf = (answer: overHttp.Answer): Refused => ({
    code: httpCodes[answer.status] ?? String(answer.status),
    message: overHttp.errorOf(answer, answer.status),
  });
  const status_ = async (path: string): Promise<readonly unknown[] | Refused> => {
    const answer = await overHttp.ask(endpoint, path);
    return answer.status === 200 ? (overHttp.json(answer) as unknown[]) : refusalOf(answer);
  };
  const of = (name: string): string => (name === '' ? '' : `/region/${encodeURIComponent(name)}`);
  return {
    register: (name, key, offset, byte_size) =>
      made_(`/v2/systemsharedmemory${of(name)}/register`, { key, offset, byte_size }),
    unregister: (name) => made_(`/v2/systemsharedmemory${of(name)}/unregister`, {}),
    status: (name) => status_(`/v2/systemsharedmemory${of(name)}/status`),
    cuda: {
      register: (name, handle, device_id, byte_size) =>
        made_(`/v2/cudasharedmemory${of(name)}/register`, {
          raw_handle: { b64: Buffer.from(handle).toString('base64') },
          ...{ device_id, byte_size },
        }),
      unregister: (name) => made_(`/v2/cudasharedmemory${of(name)}/unregister`, {}),
      status: (name) => status_(`/v2/cudasharedmemory${of(name)}/status`),
    },
    infer: async ({ model, datatype = 'FP32', shape, input, output }) => {
      const body = {
        inputs: [{ name: 'x', datatype, shape, parameters: parametersOf(input) }],
        ...(output && { outputs: [{ name: 'y', parameters: parametersOf(output, output.more) }] }),
      };
      const answer = await overHttp.ask(endpoint, `/v2/models/${model}/infer`, { body });
      if (answer.status !== 200) return refusalOf(answer);
      const [y] = (
        overHttp.json(answer) as { outputs: { shape: number[]; data?: number[]; parameters?: object }[] }
      ).outputs;
      assert.ok(y !== undefined && (output === undefined || y.parameters === undefined));
      return { shape: y.shape, floats: y.data };
    },
  };
}

const grpcCodes: Readonly<Record<number, string>> = {
  [status.INVALID_ARGUMENT]: 'INVALID_ARG or ALREADY_EXISTS',
  [status.NOT_FOUND]: 'NOT_FOUND',
  [status.ALREADY_EXISTS]: 'ALREADY_EXISTS',
  [status.UNIMPLEMENTED]: 'UNSUPPORTED',
};

export async function grpcClient(t: Context, endpoint: GrpcEndpoint): Promise<Client> {
  const client = await overGrpc.foreign(t, endpoint);
  const call = async (name: string, fields: object): Promise<overGrpc.Fields | Refused> => {
    const asked = client.call(name, { ...fields });
    try {
      return await asked;
    } catch {
      const { code, details } = await overGrpc.failure(asked);
      return { code: grpcCodes[code] ?? String(code), message: details };
    }
  };
  const isRefused = (answer: object): answer is Refused => 'code' in answer;
  const made_ = async (name: string, fields: object): Promise<Refused | undefined> => {
    const answer = await call(name, fields);
    return isRefused(answer) ? answer : undefined;
  };
  return {
    register: (name, key, offset, byte_size) =>
      made_('SystemSharedMemoryRegister', { name, key, offset, byte_size }),
    unregister: (name) => made_('SystemSharedMemoryUnregister', { name }),
    status: async (name) => {
      const answer = await call('SystemSharedMemoryStatus', { name });
      if (isRefused(answer)) return answer;
      const regions = (answer['regions'] ?? {}) as Record<string, Record<string, unknown>>;
      return Object.values(regions).map((one) => ({
        name: one['name'],
        key: one['key'],
        offset: Number(one['offset'] ?? 0),
        byte_size: Number(one['byte_size']),
      }));
    },
    cuda: {
      register: (name, raw_handle, device_id, byte_size) =>
        made_('CudaSharedMemoryRegister', { name, raw_handle, device_id, byte_size }),
      unregister: (name) => made_('CudaSharedMemoryUnregister', { name }),
      status: async (name) => {
        const answer = await call('CudaSharedMemoryStatus', { name });
        if (isRefused(answer)) return answer;
        const regions = (answer['regions'] ?? {}) as Record<string, Record<string, unknown>>;
        return Object.values(regions).map((one) => ({
          name: one['name'],
          device_id: Number(one['device_id'] ?? 0),
          byte_size: Number(one['byte_size']),
        }));
      },
    },
    infer: async ({ model, datatype = 'FP32', shape, input, output }) => {
      const typed = (given: Record<string, unknown>): object =>
        Object.fromEntries(
          Object.entries(given).map(([name, value]) => [
            name,
            typeof value === 'string' ? { string_param: value } : { int64_param: value },
          ]),
        );
      const answer = await call('ModelInfer', {
        model_name: model,
        inputs: [{ name: 'x', datatype, shape, parameters: typed(parametersOf(input)) }],
        ...(output && { outputs: [{ name: 'y', parameters: typed(parametersOf(output, output.more)) }] }),
      });
      if (isRefused(answer)) return answer;
      const [y] = answer['outputs'] as { shape: string[] }[];
      const [raw] = answer['raw_output_contents'] as Buffer[];
      assert.ok(raw !== undefined);
      return {
        shape: y?.shape.map(Number) ?? [],
        floats: raw.length > 0 ? overGrpc.floatsOf(raw) : undefined,
      };
    },
  };
}
