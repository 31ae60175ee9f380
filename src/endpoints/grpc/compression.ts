/** Compression of messages, with limits for decompression. */

import { constants, deflate, gzip, unzip } from 'node:zlib';
import { unavailable } from '../../errors.js';
import type { Budget } from '../../protocol/grpc/budget.js';
import { RpcError, status } from '../../protocol/grpc/status.js';
import { Queue } from '../../queue.js';

/** The value of `grpc-accept-encoding`. */
export const acceptedEncodings = 'identity,deflate,gzip';

/** The compression of an answer. */
export type Compression = 'gzip' | 'deflate';

/** Triton's levels of compression for answers. */
export type CompressionLevel = 'none' | 'low' | 'medium' | 'high';

/** zlib's levels. */
const zlibLevels: Readonly<Record<CompressionLevel, number>> = {
  none: constants.Z_NO_COMPRESSION,
  low: constants.Z_BEST_SPEED,
  medium: constants.Z_DEFAULT_COMPRESSION,
  high: constants.Z_BEST_COMPRESSION,
};

/** The compression of answers to a client that accepts these encodings; undefined: no compression. */
export function compressionFor(
  level: CompressionLevel,
  accepted: string | undefined,
): Compression | undefined {
  if (level === 'none' || accepted === undefined) return undefined;
  const names = accepted.split(',').map((name) => name.trim().toLowerCase());
  if (names.includes('gzip')) return 'gzip';
  return names.includes('deflate') ? 'deflate' : undefined;
}

/** How many messages are compressed, and how many decompressed, at once: libuv has four threads. */
const mostAtOnce = 4;

/** Compresses messages. Only those under compression are copied. */
export class Deflater {
  readonly level: CompressionLevel;
  #running = 0;
  readonly #waiting: Queue<() => void> = new Queue();

  constructor(level: CompressionLevel) {
    this.level = level;
  }

  /**
   * Compresses a message.
   *
   * @param done - Called later. It gets undefined if compression fails: the message is sent uncompressed.
   */
  deflate(kind: Compression, pieces: readonly Buffer[], done: (bytes: Buffer | undefined) => void): void {
    const ended = (bytes: Buffer | undefined): void => {
      this.#running--;
      this.#waiting.shift()?.();
      done(bytes);
    };
    const start = (): void => {
      this.#running++;
      const method = kind === 'gzip' ? gzip : deflate;
      try {
        method(Buffer.concat(pieces), { level: zlibLevels[this.level] }, (error, bytes) => {
          ended(error === null ? bytes : undefined);
        });
      } catch {
        // There is no memory for a copy.
        process.nextTick(ended);
      }
    };
    if (this.#running < mostAtOnce) start();
    else this.#waiting.push(start);
  }
}

/** The share of the remaining budget that each message may take when decompressed. */
const partOfBudget = 1 / mostAtOnce;
/** The bytes that a decompressed message may have even if the budget is spent. */
const leastOutput = 64 << 10;

/** Decompresses messages within limits. */
export class Inflater {
  readonly #maxBytes: number;
  readonly #budget: Budget;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(maxBytes: number, budget: Budget) {
    this.#maxBytes = maxBytes;
    this.#budget = budget;
  }

  /**
   * Decompresses a message. The budget then counts the plain bytes instead of the compressed ones. The first bytes
   * tell gzip from deflate.
   */
  inflate(bytes: Buffer, done: (error: Error | undefined, plain: Buffer) => void): void {
    const start = (): void => {
      this.#running++;
      // The compressed bytes return to the budget after decompression, so they count as left.
      const maxOutputLength = this.#most(this.#budget.left + bytes.length);
      unzip(bytes, { maxOutputLength }, (error, plain) => {
        this.#running--;
        this.#budget.release(bytes.length);
        if (error === null) this.#budget.add(plain.length);
        // The limit of the next message counts the bytes of this one.
        this.#waiting.shift()?.();
        if (error === null) done(undefined, plain);
        else done(inflateError(error, maxOutputLength, this.#most(this.#budget.max)), nothing);
      });
    };
    if (this.#running < mostAtOnce) start();
    else this.#waiting.push(start);
  }

  /** The most bytes of a decompressed message when `left` bytes of the budget remain. */
  #most(left: number): number {
    return Math.min(this.#maxBytes, Math.max(leastOutput, Math.floor(left * partOfBudget)));
  }
}

const nothing = Buffer.alloc(0);

/**
 * @param limit - The limit that the message had.
 * @param usual - The limit that it would have had with the whole budget left.
 */
function inflateError(error: Error, limit: number, usual: number): Error {
  const { code }: { code?: unknown } = error as { code?: unknown };
  if (code === 'ERR_BUFFER_TOO_LARGE' && limit < usual) {
    return unavailable(
      'TOO_MUCH_IN_FLIGHT',
      `a decompressed message exceeds ${limit} bytes, the room that calls in progress leave (maxHeldBytes)`,
    );
  }
  if (code === 'ERR_BUFFER_TOO_LARGE')
    return new RpcError(
      status.resourceExhausted,
      `a decompressed message exceeds the limit of ${limit} bytes`,
    );
  // gRPC itself uses INTERNAL here; see UnreadableMessage.
  return new RpcError(status.internal, `a message cannot be decompressed: ${error.message}`);
}
