/** Handlers of ModelInfer, of the calls in calls.ts, and of reflection, which answers each message with one. */

import type { InferResult, RequestedOutput } from '../../api/results.js';
import type { FrontTrace } from '../service/front-trace.js';
import { Client } from '../service/client.js';
import type { AwaitedModel } from '../../server/lazy/lazy-loads.js';
import type { InferenceService, ServiceRequest } from '../service/service.js';
import type { Waiter } from '../../dispatch/types.js';
import { answerCall } from './calls.js';
import { prefixBytes } from '../../protocol/grpc/framing.js';
import { RpcError, status } from '../../protocol/grpc/status.js';
import { InferRequestReader } from './infer-request.js';
import { writeInferResponse, type Answer } from './infer-response.js';
import { ProtoReader } from '../../protocol/protobuf/reader.js';
import { Queue } from '../../queue.js';
import { answerReflection, readReflection, type ReflectionRequest } from './reflection.js';
import type { CallContext } from './context.js';
import { shuttingDown, type Rpc, type RpcHandler } from './rpc.js';

/** The error for a unary call whose request does not have exactly one message. */
function notOne(got: string): RpcError {
  return new RpcError(status.unimplemented, `the RPC takes one message, and the request has ${got}`);
}

/** A message with its prefix. */
export function framed(message: Buffer): Answer {
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  const size = prefixBytes + message.length;
  // These messages are small: one piece costs less than two.
  return { pieces: [Buffer.concat([prefix, message], size)], size };
}

/** A call that takes one message. */
export abstract class OneMessage implements RpcHandler {
  readonly endless = false;
  #received = false;

  message(bytes: Buffer): void {
    if (this.#received) {
      this.gone();
      throw notOne('more');
    }
    this.#received = true;
    this.one(bytes);
  }

  ended(): void {
    if (!this.#received) throw notOne('none');
  }

  gone(): void {
    // Most calls are answered at once, and have nothing to cancel.
  }

  protected abstract one(bytes: Buffer): void;
}

/** The call ModelInfer. */
export class UnaryInfer extends OneMessage implements Waiter<InferResult> {
  readonly #rpc: Rpc;
  readonly #context: CallContext;
  readonly #client: Client = new Client();
  readonly #trace: FrontTrace | undefined;
  /** The wait for a lazy model, and the request that waits. It goes with the call, so that its bytes do. */
  #awaited: AwaitedModel | undefined;
  #waiting: ServiceRequest | undefined;
  /** The request's list of outputs. */
  #asked: readonly RequestedOutput[] | undefined;

  constructor(rpc: Rpc, context: CallContext) {
    super();
    this.#rpc = rpc;
    this.#context = context;
    this.#trace = context.service.traces ? this.#traceOf(rpc, context) : undefined;
  }

  #traceOf(rpc: Rpc, { service }: CallContext): FrontTrace {
    const trace = service.traceOf(rpc.headers);
    trace.note('GRPC_WAITREAD_START');
    rpc.whenClosed((sent) => {
      if (sent) trace.note('GRPC_SEND_END');
      trace.end();
    });
    return trace;
  }

  protected override one(bytes: Buffer): void {
    const trace = this.#trace;
    trace?.note('GRPC_WAITREAD_END');
    const request = new InferRequestReader().read(new ProtoReader(bytes), this.#context.service.regions);
    const parameters = this.#context.withHeaders(this.#rpc.headers, request.parameters);
    const asked =
      trace === undefined && parameters === request.parameters ? request : { ...request, parameters, trace };
    this.#asked = request.outputs;
    const { service } = this.#context;
    const awaited = service.whenAwake(request.model, request.version, bytes.length);
    if (awaited === undefined) service.infer(asked, this.#client, this);
    else this.#inferWhen(awaited, asked);
  }

  /** Sends the request when its lazy model is loaded. */
  #inferWhen(awaited: AwaitedModel, asked: ServiceRequest): void {
    this.#awaited = awaited;
    this.#waiting = asked;
    awaited.loaded
      .then(() => {
        const request = this.#waiting;
        this.#waiting = undefined;
        if (request && !this.#rpc.finished) this.#context.service.infer(request, this.#client, this);
      })
      .catch((error: unknown) => {
        this.reject(error);
      });
  }

  override gone(): void {
    this.#waiting = undefined;
    this.#awaited?.leave();
    this.#client.end();
  }

  resolve(result: InferResult): void {
    const rpc = this.#rpc;
    if (rpc.finished) return;
    this.#trace?.completed();
    try {
      this.#trace?.note('GRPC_SEND_START');
      rpc.finish(writeInferResponse(result, this.#asked), rpc.compression);
    } catch (error) {
      rpc.fail(error);
    }
  }

  reject(error: unknown): void {
    if (!this.#rpc.finished) {
      this.#trace?.completed(error);
      this.#trace?.note('GRPC_SEND_START');
    }
    this.#rpc.fail(error);
  }
}

/** A call of calls.ts. */
export class UnaryCall extends OneMessage {
  readonly #rpc: Rpc;
  readonly #service: InferenceService;
  readonly #name: string;

  constructor(rpc: Rpc, service: InferenceService, name: string) {
    super();
    this.#rpc = rpc;
    this.#service = service;
    this.#name = name;
  }

  protected override one(bytes: Buffer): void {
    const done = answerCall(this.#service, this.#name, bytes);
    if (!(done instanceof Promise)) {
      this.#rpc.finish(framed(done));
      return;
    }
    done.then(
      (message) => {
        this.#rpc.finish(framed(message));
      },
      (error: unknown) => {
        this.#rpc.fail(error);
      },
    );
  }
}

/** The call ServerReflectionInfo. */
export class ReflectionStream implements RpcHandler {
  readonly endless = true;
  readonly #rpc: Rpc;
  /**
   * Questions that came while the client did not read. An answer can be a thousand times as large as its question.
   */
  readonly #waiting: Queue<{ readonly question: ReflectionRequest; readonly size: number }> = new Queue();
  #congested = false;
  #ended = false;
  #draining = false;

  constructor(rpc: Rpc) {
    this.#rpc = rpc;
  }

  drain(): void {
    this.#draining = true;
    this.#answer();
  }

  message(bytes: Buffer): void {
    this.#waiting.push({ question: readReflection(bytes), size: bytes.length });
    this.#answer();
  }

  ended(): void {
    this.#ended = true;
    this.#answer();
  }

  gone(): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
      this.#rpc.release(next.size);
  }

  #answer(): void {
    const rpc = this.#rpc;
    while (!this.#congested) {
      const next = this.#waiting.shift();
      if (next === undefined) {
        if (this.#ended) rpc.finish();
        else if (this.#draining && !rpc.isReceiving) rpc.fail(shuttingDown());
        return;
      }
      rpc.send(framed(answerReflection(next.question)));
      rpc.release(next.size);
      if (!rpc.congested) continue;
      // Back-pressure: a client that does not read answers gets no more questions read.
      this.#congested = true;
      rpc.pause(true);
      rpc.onDrain(() => {
        this.#congested = false;
        rpc.pause(false);
        this.#answer();
      });
    }
  }
}
