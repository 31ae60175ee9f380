/** Sends a call's headers, messages (compressed or not) and trailers. */

import type { Budget } from '../../protocol/grpc/budget.js';
import type { Compression, Deflater } from './compression.js';
import { encodeText, prefixBytes } from '../../protocol/grpc/framing.js';
import { errorCode } from '../../protocol/http2/errors.js';
import { encodeHeaders } from '../../protocol/http2/hpack-encoder.js';
import { reasonHeader } from '../../protocol/statuses.js';
import { status, statusOf } from '../../protocol/grpc/status.js';
import { acceptedEncodings } from './compression.js';
import type { Stream } from './http2/stream.js';
import type { Answer } from './infer-response.js';

const responseHeaders: readonly (readonly [string, string])[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];
const plainHead = encodeHeaders(responseHeaders);
const okTrailers = encodeHeaders([['grpc-status', '0']]);

/** A message under compression, or compressed. */
interface Place {
  answer: Answer | undefined;
}

/** See the head of this file. Nothing is sent after {@link end} and {@link fail}. */
export class Outgoing {
  readonly #stream: Stream;
  readonly #deflater: Deflater;
  readonly #budget: Budget;
  /** Messages under compression, and messages that wait behind them. The budget counts them here, and then in the stream. */
  #queue: Place[] | undefined;
  /** Ends the stream, once the queued messages have been sent. */
  #last: (() => void) | undefined;
  #drained: (() => void)[] | undefined;

  constructor(stream: Stream, deflater: Deflater, budget: Budget) {
    this.#stream = stream;
    this.#deflater = deflater;
    this.#budget = budget;
  }

  /** Whether sent bytes wait in memory because the client does not read them. */
  get congested(): boolean {
    return this.#queue !== undefined || this.#stream.congested;
  }

  /** Calls `drained` once, when no bytes wait any more; never if the call ends before. */
  onDrain(drained: () => void): void {
    if (this.#drained === undefined) this.#drained = [drained];
    else this.#drained.push(drained);
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
    if (answer !== undefined) {
      if (compression !== undefined) this.#compress(answer, compression);
      else this.#write(answer);
    }
    this.#end(okTrailers, 0, false);
  }

  /**
   * Sends the status of an error.
   *
   * @param stopsClient - Whether a client that still sends is told to stop.
   */
  fail(error: unknown, stopsClient: boolean): void {
    const stream = this.#stream;
    if (stream.closed) return;
    const { code, message, reason } = statusOf(error);
    const trailers: [string, string][] = [
      ['grpc-status', String(code)],
      ['grpc-message', encodeText(message)],
    ];
    if (reason !== undefined) trailers.push([reasonHeader, reason]);
    if (stream.begun) {
      this.#end(encodeHeaders(trailers), code, stopsClient);
      return;
    }
    const more: [string, string][] =
      code === status.unimplemented ? [['grpc-accept-encoding', acceptedEncodings]] : [];
    stream.begin(encodeHeaders([...responseHeaders, ...more, ...trailers]));
    stream.end(undefined, code, stopsClient);
  }

  /** Ends the stream without a status. */
  abort(): void {
    this.#stream.reset(errorCode.cancel);
  }

  /** Called when bytes which waited in the stream have left. */
  readonly drained = (): void => {
    if (this.congested) return;
    const drained = this.#drained ?? [];
    this.#drained = undefined;
    for (const one of drained) one();
  };

  /** Sends the headers, if they were not sent. Returns whether the stream is still open. */
  #begin(compression: Compression | undefined): boolean {
    const stream = this.#stream;
    if (stream.closed) return false;
    if (stream.begun) return true;
    stream.begin(
      compression === undefined
        ? plainHead
        : encodeHeaders([...responseHeaders, ['grpc-encoding', compression]]),
    );
    return true;
  }

  #end(trailers: Buffer, code: number, stopsClient: boolean): void {
    if (this.#queue === undefined) this.#stream.end(trailers, code, stopsClient);
    else
      this.#last = () => {
        this.#stream.end(trailers, code, stopsClient);
      };
  }

  #write({ pieces }: Answer): void {
    for (const piece of pieces) this.#stream.write(piece);
  }

  #compress(answer: Answer, kind: Compression): void {
    const queue = (this.#queue ??= []);
    const place: Place = { answer: undefined };
    queue.push(place);
    const budget = this.#budget;
    budget.add(answer.size);
    const [head = Buffer.alloc(0), ...rest] = answer.pieces;
    this.#deflater.deflate(kind, [head.subarray(prefixBytes), ...rest], (bytes) => {
      place.answer = bytes === undefined ? answer : compressed(bytes);
      budget.release(answer.size);
      budget.add(place.answer.size);
      this.#flush(queue);
    });
  }

  /** Sends the messages at the front of the queue whose compression is done. */
  #flush(queue: Place[]): void {
    const count = queue.findIndex(({ answer }) => answer === undefined);
    const ready = queue.splice(0, count < 0 ? queue.length : count);
    for (const { answer } of ready) {
      if (answer === undefined) continue;
      this.#budget.release(answer.size);
      this.#write(answer);
    }
    if (queue.length > 0) return;
    this.#queue = undefined;
    if (this.#stream.closed) return;
    this.#last?.();
    this.drained();
  }
}

function compressed(bytes: Buffer): Answer {
  const prefix = Buffer.allocUnsafe(prefixBytes);
  prefix[0] = 1;
  prefix.writeUInt32BE(bytes.length, 1);
  return { pieces: [prefix, bytes], size: prefixBytes + bytes.length };
}
