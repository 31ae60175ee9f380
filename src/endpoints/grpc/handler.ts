/** Answers calls: finds the RPC, checks access, and starts its handler. */

import { invalidArgument } from '../../errors.js';
import type { InferenceServer } from '../../server/inference-server.js';
import { GroupAccess } from '../service/access.js';
import type { Parameters, ParameterValue } from '../../protocol/parameters.js';
import { InferenceService } from '../service/service.js';
import { Budget } from '../../protocol/grpc/budget.js';
import { tellOfCall } from './call-channel.js';
import { CallList } from './call-list.js';
import { Deflater, Inflater } from './compression.js';
import type { CallContext } from './context.js';
import { encodeHeaders } from '../../protocol/http2/hpack-encoder.js';
import { isGrpc } from '../../protocol/grpc/framing.js';
import { RpcError, status } from '../../protocol/grpc/status.js';
import type { CallHeaders } from './http2/request-headers.js';
import type { Stream } from './http2/stream.js';
import { HealthCheck, HealthWatch } from './health.js';
import { InferStream } from './infer-stream.js';
import { methods, type Method } from './methods.js';
import type { CheckedGrpcOptions } from './options.js';
import { Rpc, shuttingDown, type RpcHandler, type RpcShared, type Traffic } from './rpc.js';
import { ReflectionStream, UnaryCall, UnaryInfer } from './unary.js';

/** See the head of this file. */
export class GrpcHandler implements CallContext {
  readonly service: InferenceService;
  readonly shared: RpcShared;
  readonly #access: GroupAccess;
  readonly #forwarded: RegExp | undefined;
  readonly #closing: () => boolean;

  constructor(server: InferenceServer, options: CheckedGrpcOptions, closing: () => boolean) {
    this.service = new InferenceService(server, options);
    this.#forwarded = options.headerForwardPattern;
    this.#access = new GroupAccess(options.restricted);
    this.#closing = closing;
    const { maxRequestBytes, maxHeldBytes, responseCompression: level } = options;
    const budget = new Budget(maxHeldBytes);
    const inflater = new Inflater(maxRequestBytes, budget);
    const deflater = new Deflater(level);
    this.shared = { maxRequestBytes, budget, inflater, deflater, calls: new CallList(), tick: 0 };
  }

  /** Answers a call. */
  handle(stream: Stream, connection: Traffic): void {
    tellOfCall(stream);
    const { headers } = stream;
    if (headers[':method'] !== 'POST') {
      refuse(stream, 405);
      return;
    }
    if (!isGrpc(headers['content-type'])) {
      refuse(stream, 415);
      return;
    }
    const rpc = new Rpc(stream, this.shared, connection);
    try {
      const handler = this.#handlerOf(rpc, headers);
      rpc.start(handler);
    } catch (error) {
      rpc.fail(error);
    }
  }

  #handlerOf(rpc: Rpc, headers: CallHeaders): RpcHandler {
    const path = headers[':path'] ?? '';
    const method = methods.get(path);
    if (method === undefined)
      throw new RpcError(status.unimplemented, `there is no RPC '${path.slice(0, 256)}'`);
    const header = this.#access.refusedFor(method.group, headers);
    if (header !== undefined)
      throw new RpcError(status.unavailable, `This protocol is restricted, expecting header '${header}'`);
    this.#checkOpen();
    const encoding = headers['grpc-encoding'];
    if (encoding !== undefined && encoding !== 'identity' && encoding !== 'gzip' && encoding !== 'deflate')
      throw new RpcError(status.unimplemented, `grpc-encoding '${encoding.slice(0, 64)}' is not supported`);
    return this.#make(rpc, method);
  }

  readonly #checkOpen = (): void => {
    if (this.#closing()) throw shuttingDown();
  };

  #make(rpc: Rpc, { service, name }: Method): RpcHandler {
    if (name === 'ModelInfer') return new UnaryInfer(rpc, this);
    if (name === 'ModelStreamInfer') return new InferStream(rpc, this);
    if (name === 'Check') return new HealthCheck(rpc, this.service);
    if (name === 'Watch') return new HealthWatch(rpc, this.service, this.#checkOpen);
    if (service !== 'inference.GRPCInferenceService') return new ReflectionStream(rpc);
    return new UnaryCall(rpc, this.service, name);
  }

  withHeaders(headers: CallHeaders, parameters: Parameters): Parameters {
    const pattern = this.#forwarded;
    if (pattern === undefined) return parameters;
    const all = new Map<string, ParameterValue>(parameters);
    for (const [name, value] of Object.entries(headers)) {
      if (name.startsWith(':') || value === undefined || !pattern.test(name)) continue;
      if (reserved.test(name))
        throw invalidArgument(
          `metadata '${name}' cannot be forwarded: the server itself reads a parameter of that name`,
        );
      all.set(name, value);
    }
    return all;
  }
}

/** Names of parameters that the server itself reads. Metadata with these names is not forwarded. */
const reserved = /^(triton_.*|priority|timeout|sequence_(id|start|end)|headers)$/i;

/** Answers a request that is not gRPC with an HTTP status. */
function refuse(stream: Stream, code: number): void {
  stream.begin(encodeHeaders([[':status', String(code)]]));
  stream.end(undefined, undefined, true);
}
