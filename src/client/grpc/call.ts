/** A call on a connection: an HTTP/2 stream that sends one message and receives messages. */

import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import { Budget } from '../../protocol/grpc/budget.js';
import { decodeText, isGrpc, MessageReader } from '../../protocol/grpc/framing.js';
import { RpcError, status } from '../../protocol/grpc/status.js';
import { reasonHeader } from '../../protocol/statuses.js';
import { reasonNamed, type TritonErrorReason } from '../../errors.js';
import { causeText } from '../failures.js';
import { thrownText } from '../../thrown-text.js';

/** The outcome of a call. */
export type Outcome =
  | {
      readonly status: number;
      readonly message: string;
      readonly reason?: TritonErrorReason | undefined;
    }
  /** There was no connection, or it broke. `untouched`: the server reports that it has not processed the call. */
  | { readonly broken: string; readonly cause: Error | undefined; readonly untouched: boolean };

/** Receives the messages and the outcome of a call. */
export interface CallSink {
  message(bytes: Buffer): void;
  /** Called last, once, unless the call was cancelled. */
  done(outcome: Outcome): void;
  /** Called when this side has reset the stream. */
  reset(): void;
}

/**
 * The gRPC status that an HTTP status stands for if there is no gRPC status:
 * https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md
 */
const ofHttp: Readonly<Record<number, number>> = {
  400: 13,
  401: 16,
  403: 7,
  404: 12,
  429: 14,
  502: 14,
  503: 14,
  504: 14,
};

/** See the head of this file. */
export class Call {
  readonly #stream: ClientHttp2Stream;
  readonly #sink: CallSink;
  readonly #reader: MessageReader;
  #outcome: Outcome | undefined;
  #answered = false;
  #ended = false;
  #done = false;
  #cause: Error | undefined;

  /**
   * @param pieces - The message to send, with its prefix.
   * @param most - The maximum size of a received message, in bytes.
   */
  constructor(stream: ClientHttp2Stream, pieces: readonly Uint8Array[], most: number, sink: CallSink) {
    this.#stream = stream;
    this.#sink = sink;
    this.#reader = new MessageReader(most, new Budget(Infinity), {
      message: (bytes, compressed) => {
        if (this.#done) return;
        // This client does not accept compression.
        if (compressed)
          throw new RpcError(
            status.internal,
            'the server sent a compressed message, which the client did not ask for',
          );
        this.#sink.message(bytes);
      },
    });
    stream.on('response', this.#onHeaders);
    stream.on('trailers', this.#onTrailers);
    stream.on('data', this.#onData);
    stream.on('end', this.#onEnd);
    stream.on('error', this.#onError);
    stream.on('close', this.#onClose);
    pieces.forEach((piece, i) => {
      if (i < pieces.length - 1) stream.write(piece);
      else stream.end(piece);
    });
  }

  /** Pauses or resumes the receiving of messages. */
  pause(paused: boolean): void {
    if (paused) this.#stream.pause();
    else this.#stream.resume();
  }

  /** Ends the call without notifying the sink. */
  cancel(): void {
    if (this.#done) return;
    this.#done = true;
    this.#reset();
  }

  #reset(): void {
    const stream = this.#stream;
    if (stream.closed || stream.destroyed) return;
    this.#sink.reset();
    stream.close(constants.NGHTTP2_CANCEL);
  }

  readonly #onHeaders = (headers: IncomingHttpHeaders & { readonly ':status'?: number }): void => {
    this.#answered = true;
    if (this.#readStatus(headers)) return;
    const { ':status': code = 0, 'content-type': type } = headers;
    if (code === 200 && isGrpc(type)) return;
    const message =
      code === 200
        ? `the server answered with content-type '${String(type)}', not gRPC's`
        : `the server answered with HTTP status ${code}`;
    this.#fail({ status: code === 200 ? 2 : (ofHttp[code] ?? 2), message });
  };

  readonly #onTrailers = (trailers: IncomingHttpHeaders): void => {
    if (!this.#readStatus(trailers))
      this.#outcome ??= { status: 2, message: 'the answer has no grpc-status' };
    if (this.#ended) this.#finish();
  };

  #readStatus(headers: IncomingHttpHeaders): boolean {
    const code = headers['grpc-status'];
    if (code === undefined) return false;
    const message = headers['grpc-message'];
    this.#outcome ??= {
      // A status that is not a number is not a success.
      status: /^\d{1,9}$/.test(String(code)) ? Number(code) : status.unknown,
      message: message === undefined ? '' : decodeText(String(message)),
      reason: reasonNamed(headers[reasonHeader]),
    };
    return true;
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#done) return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (error instanceof RpcError && error.status === status.resourceExhausted) {
        const message = error.message.replace('maxRequestBytes', 'options.maxResponseBytes');
        this.#fail({
          status: status.unimplemented,
          message: `the answer is too large for this client: ${message}`,
        });
        return;
      }
      this.#fail({
        status: status.internal,
        message: `the answer cannot be read: ${thrownText(error)}`,
      });
    }
  };

  readonly #onEnd = (): void => {
    this.#ended = true;
    if (this.#outcome !== undefined) this.#finish();
  };

  readonly #onError = (error: Error): void => {
    this.#cause = error;
  };

  readonly #onClose = (): void => {
    const { rstCode } = this.#stream;
    const why = this.#cause === undefined ? `the stream ended with code ${rstCode}` : causeText(this.#cause);
    this.#outcome ??= {
      broken: why,
      cause: this.#cause,
      untouched: !this.#answered && rstCode === constants.NGHTTP2_REFUSED_STREAM,
    };
    this.#finish();
  };

  /** Fails the call because its answer is invalid. The rest of the answer is discarded. */
  #fail(outcome: Outcome): void {
    if (this.#done) return;
    this.#outcome = outcome;
    this.#finish();
    this.#reset();
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    const outcome = this.#outcome ?? { status: 2, message: 'the answer has no status' };
    const isCut = 'status' in outcome && outcome.status === status.ok && this.#reader.within;
    this.#sink.done(
      isCut ? { status: status.internal, message: 'the answer ends inside a message' } : outcome,
    );
  }
}
