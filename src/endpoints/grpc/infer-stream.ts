/**
 * ModelStreamInfer: requests and responses in one stream. Responses of ordinary models come in the order of their
 * requests; responses of decoupled models come as soon as they are made. An error is a response, and the stream
 * goes on.
 *
 * Back-pressure: while the client does not read, responses of decoupled models wait in the engine, and no more
 * requests are read.
 */

import type { InferResult } from '../../api/results.js';
import { Queue } from '../../queue.js';
import { now, type FrontTrace } from '../service/front-trace.js';
import { Client } from '../service/client.js';
import { asTritonError, streamCodeName, streamReasonName } from '../../protocol/statuses.js';
import type { Compression } from './compression.js';
import type { CallContext } from './context.js';
import { InferRequestReader, type GrpcInferRequest } from './infer-request.js';
import { writeStreamEnd, writeStreamResponse, type Answer } from './infer-response.js';
import { ProtoReader, UnreadableMessage } from '../../protocol/protobuf/reader.js';
import { shuttingDown, type Rpc, type RpcHandler } from './rpc.js';

/** The most requests of a stream under way. Further requests are read when one of these has ended. */
export const mostUnderWay = 256;

/** The place of an ordinary model's request in the order of answers, with its answer when that is there. */
interface Place {
  readonly bytes: number;
  answer: Answer | undefined;
  /** The error instead of an answer, if the first error ends the stream. */
  error: unknown;
  readonly trace: FrontTrace | undefined;
}

/** A request with its trace; undefined: requests are not traced. */
type TracedRequest = GrpcInferRequest & { readonly trace?: FrontTrace | undefined };

/** A request that waits for its turn. */
interface LaterRequest {
  readonly reader: InferRequestReader;
  readonly bytes: number;
  readonly trace: FrontTrace | undefined;
  /** Undefined: it could not be read. */
  readonly request?: TracedRequest;
  /** Why it is refused. */
  readonly error?: unknown;
}

/** See the head of this file. */
export class InferStream implements RpcHandler {
  readonly endless = true;
  readonly #rpc: Rpc;
  readonly #context: CallContext;
  readonly #compression: Compression | undefined;
  /** Whether the first error ends the stream. */
  readonly #strict: boolean;
  readonly #client: Client = new Client();
  readonly #places: Queue<Place> = new Queue();
  readonly #streams: Set<AsyncIterableIterator<InferResult>> = new Set();
  /** Callbacks that wait until the client has read. */
  #readers: (() => void)[] = [];
  #underWay = 0;
  #inputEnded = false;
  #draining = false;
  /** The last request waits for the load of a lazy model, or for such a request before it. It does not reject. */
  #behind: Promise<void> | undefined;
  #gone = false;
  #watching = false;
  /** Since when the next request is waited for; of the clock of time stamps. Set only while requests may be traced. */
  #waitsSince: number;

  constructor(rpc: Rpc, context: CallContext) {
    this.#rpc = rpc;
    this.#context = context;
    this.#compression = rpc.compression;
    this.#strict = rpc.headers['triton_grpc_error'] === 'true';
    this.#waitsSince = context.service.traces ? now() : 0;
  }

  message(bytes: Buffer): void {
    const reader = new InferRequestReader();
    this.#underWay++;
    const trace = this.#context.service.traces ? this.#traceOf() : undefined;
    try {
      const request = this.#read(reader, bytes, trace);
      const load = this.#context.service.whenAwake(request.model, request.version, bytes.length)?.loaded;
      if (load === undefined && this.#behind === undefined) this.#begin(request, bytes.length);
      else this.#beginLater(load, { reader, bytes: bytes.length, trace, request });
    } catch (error) {
      // Bytes that are not a message end the call.
      if (error instanceof UnreadableMessage) throw error;
      const refused = { reader, bytes: bytes.length, trace, error };
      if (this.#behind === undefined) this.#refuse(refused);
      else this.#beginLater(undefined, refused);
    }
    this.#setFlow();
  }

  /**
   * Begins a request when its lazy model is loaded, and those before it have begun: answers have the order of requests.
   *
   * @param load - Undefined: it waits only for those before it.
   */
  #beginLater(load: Promise<void> | undefined, one: LaterRequest): void {
    const turn = Promise.allSettled([load, this.#behind]).then(([loaded]) => {
      if (this.#behind === turn) this.#behind = undefined;
      if (this.#gone) {
        one.trace?.end();
        return;
      }
      try {
        if (one.request === undefined) throw one.error;
        if (loaded.status === 'rejected') throw loaded.reason;
        this.#begin(one.request, one.bytes);
      } catch (error) {
        this.#refuse({ ...one, error });
      }
    });
    this.#behind = turn;
  }

  #refuse({ reader, bytes, trace, error }: LaterRequest): void {
    const place: Place = { bytes, answer: undefined, error: undefined, trace };
    this.#places.push(place);
    this.#settle(place, reader, error);
  }

  #begin(request: TracedRequest, bytes: number): void {
    if (!this.#context.service.isDecoupled(request.model, request.version)) {
      this.#infer(request, bytes);
      return;
    }
    const responses = this.#context.service.stream(request);
    this.#streams.add(responses);
    void this.#forward(request, responses, bytes);
  }

  ended(): void {
    this.#inputEnded = true;
    this.#endIfDone();
  }

  gone(): void {
    this.#gone = true;
    this.#client.end();
    for (const stream of this.#streams) void stream.return?.();
    for (let place = this.#places.shift(); place !== undefined; place = this.#places.shift())
      place.trace?.end();
    this.#goOn();
  }

  /** The trace of a request that has arrived. */
  #traceOf(): FrontTrace {
    const trace = this.#context.service.traceOf(this.#rpc.headers);
    const arrived = now();
    trace.note('GRPC_WAITREAD_START', this.#waitsSince === 0 ? arrived : this.#waitsSince);
    trace.note('GRPC_WAITREAD_END', arrived);
    this.#waitsSince = arrived;
    return trace;
  }

  #read(reader: InferRequestReader, bytes: Buffer, trace: FrontTrace | undefined): TracedRequest {
    const request = reader.read(new ProtoReader(bytes), this.#context.service.regions);
    const parameters = this.#context.withHeaders(this.#rpc.headers, request.parameters);
    return trace === undefined && parameters === request.parameters
      ? request
      : { ...request, parameters, trace };
  }

  #infer(request: TracedRequest, bytes: number): void {
    const { trace } = request;
    const place: Place = { bytes, answer: undefined, error: undefined, trace };
    this.#context.service.infer(request, this.#client, {
      resolve: (result) => {
        if (this.#gone) return;
        trace?.completed();
        try {
          place.answer = writeStreamResponse(result, request.outputs, true);
        } catch (error) {
          this.#settle(place, request, error);
          return;
        }
        this.#flush();
      },
      reject: (error) => {
        if (this.#gone) return;
        trace?.completed(error);
        this.#settle(place, request, error);
      },
    });
    this.#places.push(place);
  }

  /** Settles the place of a request that has failed. */
  #settle(place: Place, request: { readonly id: string; readonly model: string }, error: unknown): void {
    if (this.#strict) place.error = error;
    else place.answer = errorAnswer(request, error);
    this.#flush();
  }

  /** Sends the answers in order, up to the first that is still missing. */
  #flush(): void {
    for (let first = this.#places.peek(); first !== undefined; first = this.#places.peek()) {
      const { answer, error, bytes } = first;
      if (error !== undefined) {
        this.#failWith(error);
        return;
      }
      if (answer === undefined) return;
      this.#places.shift();
      this.#send(answer, first.trace);
      first.trace?.end();
      this.#done(bytes);
    }
  }

  /** Sends the responses of a decoupled model as they come. */
  async #forward(
    request: TracedRequest,
    responses: AsyncIterableIterator<InferResult>,
    bytes: number,
  ): Promise<void> {
    const { trace } = request;
    let version = request.version ?? '';
    let isFinal = false;
    try {
      let next: IteratorResult<InferResult, unknown> = await responses.next();
      while (next.done !== true) {
        const result = next.value;
        ({ version } = result.model);
        trace?.completed();
        const { known, following } = await lookAhead(responses);
        isFinal = known?.done === true;
        this.#send(writeStreamResponse(result, request.outputs, isFinal), trace);
        await this.#taken();
        next = known ?? (await following);
      }
      if (!isFinal && request.emptyFinal) {
        const { id, model } = request;
        this.#send(writeStreamEnd({ id, model, version, parameters: {} }, undefined), trace);
      }
    } catch (error) {
      void responses.return?.();
      trace?.completed(error);
      if (this.#strict) this.#failWith(error);
      else this.#send(errorAnswer(request, error), trace);
    }
    trace?.end();
    this.#streams.delete(responses);
    this.#done(bytes);
  }

  #failWith(error: unknown): void {
    if (this.#gone) return;
    this.#rpc.fail(error);
    this.gone();
  }

  #send(answer: Answer, trace: FrontTrace | undefined): void {
    if (this.#gone) return;
    trace?.note('GRPC_SEND_START');
    this.#rpc.send(answer, this.#compression);
    trace?.note('GRPC_SEND_END');
  }

  #done(bytes: number): void {
    this.#underWay--;
    this.#rpc.release(bytes);
    if (this.#gone) return;
    this.#setFlow();
    this.#endIfDone();
  }

  /** The endpoint closes, and the stream ends with its last request. */
  drain(): void {
    this.#draining = true;
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#underWay > 0) return;
    if (this.#inputEnded) this.#rpc.finish();
    else if (this.#draining && !this.#rpc.isReceiving) this.#failWith(shuttingDown());
  }

  /** Pauses or resumes reading requests. */
  #setFlow(): void {
    const { congested } = this.#rpc;
    this.#rpc.pause(congested || this.#underWay >= mostUnderWay);
    if (congested) this.#watch();
  }

  /**
   * Resolves when the client has read all that was sent, or the call has ended; undefined if that is so already.
   */
  #taken(): Promise<void> | undefined {
    if (this.#gone || !this.#rpc.congested) return undefined;
    return new Promise((resolve) => {
      this.#readers.push(resolve);
      this.#watch();
    });
  }

  #watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    this.#rpc.onDrain(() => {
      this.#watching = false;
      this.#goOn();
      if (!this.#gone) this.#setFlow();
    });
  }

  #goOn(): void {
    const readers = this.#readers;
    this.#readers = [];
    for (const goOn of readers) goOn();
  }
}

/** Asks for the next response. `known` is set if the response, or the end, is available within a microtask. */
async function lookAhead(responses: AsyncIterator<InferResult>): Promise<{
  readonly known: IteratorResult<InferResult, unknown> | undefined;
  readonly following: Promise<IteratorResult<InferResult, unknown>>;
}> {
  const following = responses.next();
  let known: IteratorResult<InferResult, unknown> | undefined;
  following.then(
    (next) => {
      known = next;
    },
    () => undefined, // Awaiting `following` throws the error.
  );
  await Promise.resolve();
  return { known, following };
}

function errorAnswer({ id, model }: { readonly id: string; readonly model: string }, error: unknown): Answer {
  const { code, message, reason } = asTritonError(error);
  const parameters = {
    [streamCodeName]: code,
    ...(reason !== undefined && { [streamReasonName]: reason }),
  };
  // A client takes an empty text for no error.
  return writeStreamEnd({ id, model, version: '', parameters }, message === '' ? 'unknown' : message);
}
