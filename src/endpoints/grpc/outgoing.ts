/** Sends a call's headers, messages (compressed or not) and trailers. */

import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Budget } from '../../protocol/grpc/budget.js';
import { compress, type Compression, type CompressionLevel } from './compression.js';
import { encodeText, prefixBytes } from '../../protocol/grpc/framing.js';
import { reasonHeader } from '../../protocol/statuses.js';
import { status, statusOf } from '../../protocol/grpc/status.js';
import { acceptedEncodings } from './compression.js';
import type { Answer } from './infer-response.js';

const responseHeaders = { ':status': 200, 'content-type': 'application/grpc' };
/** gRPC clients do not read the Date header, so it is not sent. */
const messagesFollow = { waitForTrailers: true, sendDate: false };
const nothingFollows = { endStream: true, sendDate: false };
const okTrailers = { 'grpc-status': '0' };

/** See the head of this file. Nothing is sent after {@link end} and {@link fail}. */
export class Outgoing {
  readonly #stream: ServerHttp2Stream;
  readonly #budget: Budget;
  readonly #level: CompressionLevel;
  #trailers: Readonly<Record<string, string>> = okTrailers;
  /** Messages under compression, and messages that wait behind them. */
  #queue: { answer: Answer | undefined }[] | undefined;
  /** Ends the stream, once the queued messages have been sent. */
  #last: (() => void) | undefined;
  #drained: (() => void)[] | undefined;

  constructor(stream: ServerHttp2Stream, budget: Budget, level: CompressionLevel) {
    this.#stream = stream;
    this.#budget = budget;
    this.#level = level;
  }

  /** Whether sent bytes wait in memory because the client does not read them. */
  get congested(): boolean {
    return this.#queue !== undefined || this.#stream.writableNeedDrain;
  }

  /** Calls `drained` once, when no bytes wait any more; never if the call ends before. */
  onDrain(drained: () => void): void {
    if (this.#drained !== undefined) {
      this.#drained.push(drained);
      return;
    }
    this.#drained = [drained];
    this.#stream.on('drain', this.#tellDrained);
  }

  /** Sends a message. */
  send(answer: Answer, compression: Compression | undefined): void {
    if (!this.#begin(compression)) return;
    if (compression === undefined) this.#write(answer);
    else this.#compress(answer, compression);
  }

  /** Sends the message, if there is one, and then the status OK. */
  end(answer: Answer | undefined, compression: Compression | undefined): void {
    if (!this.#begin(compression)) return;
    if (answer !== undefined && compression !== undefined) this.#compress(answer, compression);
    if (this.#queue !== undefined) {
      this.#last = () => this.#stream.end();
    } else if (answer === undefined) this.#stream.end();
    else this.#writeLast(answer);
  }

  /** Sends the status of an error. */
  fail(error: unknown): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    const { code, message, reason } = statusOf(error);
    const trailers = {
      'grpc-status': String(code),
      'grpc-message': encodeText(message),
      ...(reason !== undefined && { [reasonHeader]: reason }),
    };
    if (!stream.headersSent) {
      const more = code === status.unimplemented ? { 'grpc-accept-encoding': acceptedEncodings } : undefined;
      stream.respond({ ...responseHeaders, ...more, ...trailers }, nothingFollows);
      return;
    }
    this.#trailers = trailers;
    if (this.#queue === undefined) stream.end();
    else this.#last = () => stream.end();
  }

  /** Ends the stream without a status. */
  abort(): void {
    if (!this.#stream.destroyed) this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  /** Sends the headers, if they were not sent. Returns whether the stream is still open. */
  #begin(compression: Compression | undefined): boolean {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return false;
    if (stream.headersSent) return true;
    stream.on('wantTrailers', this.#sendTrailers);
    const headers =
      compression === undefined ? responseHeaders : { ...responseHeaders, 'grpc-encoding': compression };
    stream.respond(headers, messagesFollow);
    return true;
  }

  readonly #sendTrailers = (): void => {
    this.#stream.sendTrailers(this.#trailers);
  };

  #write({ pieces, size }: Answer): void {
    const stream = this.#stream;
    this.#budget.add(size);
    const give = (): void => {
      this.#budget.release(size);
    };
    const [first] = pieces;
    if (pieces.length === 1 && first !== undefined) {
      stream.write(first, give);
      return;
    }
    // Corking makes one system call for all pieces, without a copy.
    stream.cork();
    pieces.forEach((piece, i) => {
      if (i < pieces.length - 1) stream.write(piece);
      else stream.write(piece, give);
    });
    stream.uncork();
  }

  #writeLast(answer: Answer): void {
    const { pieces, size } = answer;
    const [only] = pieces;
    if (pieces.length > 1 || only === undefined) {
      this.#write(answer);
      this.#stream.end();
      return;
    }
    this.#budget.add(size);
    this.#stream.end(only, () => {
      this.#budget.release(size);
    });
  }

  #compress(answer: Answer, kind: Compression): void {
    const queue = (this.#queue ??= []);
    const place: { answer: Answer | undefined } = { answer: undefined };
    queue.push(place);
    const [head = Buffer.alloc(0), ...rest] = answer.pieces;
    compress(kind, this.#level, [head.subarray(prefixBytes), ...rest], (bytes) => {
      place.answer = bytes === undefined ? answer : compressed(bytes);
      this.#flush(queue);
    });
  }

  /** Sends the messages at the front of the queue whose compression is done. */
  #flush(queue: { answer: Answer | undefined }[]): void {
    const count = queue.findIndex(({ answer }) => answer === undefined);
    const ready = queue.splice(0, count < 0 ? queue.length : count);
    const { destroyed, closed } = this.#stream;
    for (const { answer } of ready) if (answer !== undefined && !destroyed && !closed) this.#write(answer);
    if (queue.length > 0) return;
    this.#queue = undefined;
    if (destroyed || closed) return;
    this.#last?.();
    if (!this.congested) this.#tellDrained();
  }

  readonly #tellDrained = (): void => {
    if (this.congested) return;
    const drained = this.#drained ?? [];
    this.#drained = undefined;
    this.#stream.off('drain', this.#tellDrained);
    for (const one of drained) one();
  };
}

function compressed(bytes: Buffer): Answer {
  const prefix = Buffer.allocUnsafe(prefixBytes);
  prefix[0] = 1;
  prefix.writeUInt32BE(bytes.length, 1);
  return { pieces: [prefix, bytes], size: prefixBytes + bytes.length };
}
