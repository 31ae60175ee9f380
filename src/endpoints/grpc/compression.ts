/** Compressed messages: what may come, and what answers get. */

import { constants, deflate, gzip, unzip } from 'node:zlib';
import { unavailable } from '../../errors.js';
import type { Budget } from '../../protocol/grpc/budget.js';
import { RpcError, status } from '../../protocol/grpc/status.js';

/** What is in `grpc-accept-encoding`. */
export const acceptedEncodings = 'identity,deflate,gzip';

/** What compresses an answer. */
export type Compression = 'gzip' | 'deflate';

/** How hard answers are compressed: Triton's levels. */
export type CompressionLevel = 'none' | 'low' | 'medium' | 'high';

/** zlib's levels. */
const zlibLevels: Readonly<Record<CompressionLevel, number>> = {
  none: constants.Z_NO_COMPRESSION,
  low: constants.Z_BEST_SPEED,
  medium: constants.Z_DEFAULT_COMPRESSION,
  high: constants.Z_BEST_COMPRESSION,
};

/** What compresses answers to a client that accepts these encodings; undefined: nothing does. */
export function compressionFor(
  level: CompressionLevel,
  accepted: string | undefined,
): Compression | undefined {
  if (level === 'none' || accepted === undefined) return undefined;
  const names = accepted.split(',').map((name) => name.trim().toLowerCase());
  if (names.includes('gzip')) return 'gzip';
  return names.includes('deflate') ? 'deflate' : undefined;
}

/** Compresses a message. Where that fails, `done` gets undefined, and the message goes as it is. */
export function compress(
  kind: Compression,
  level: CompressionLevel,
  pieces: readonly Buffer[],
  done: (bytes: Buffer | undefined) => void,
): void {
  const method = kind === 'gzip' ? gzip : deflate;
  method(Buffer.concat(pieces), { level: zlibLevels[level] }, (error, bytes) => {
    done(error === null ? bytes : undefined);
  });
}

/** How many messages are decompressed at once: libuv has four threads. */
const mostAtOnce = 4;
/** Each may take so much of what is left of the budget, and this in any case. */
const partOfBudget = 1 / mostAtOnce;
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

  /** Decompresses a message, which is counted in place of the compressed one. gzip and deflate are told apart by their bytes. */
  inflate(bytes: Buffer, done: (error: Error | undefined, plain: Buffer) => void): void {
    const start = (): void => {
      this.#running++;
      // Its own bytes are given back when it is decompressed.
      const maxOutputLength = this.#most(this.#budget.left + bytes.length);
      unzip(bytes, { maxOutputLength }, (error, plain) => {
        this.#running--;
        this.#waiting.shift()?.();
        this.#budget.give(bytes.length);
        if (error === null) {
          this.#budget.add(plain.length);
          done(undefined, plain);
        } else done(inflateError(error, maxOutputLength, this.#most(this.#budget.max)), nothing);
      });
    };
    if (this.#running < mostAtOnce) start();
    else this.#waiting.push(start);
  }

  /** The most bytes of a message where so many bytes of the budget are left. */
  #most(left: number): number {
    return Math.min(this.#maxBytes, Math.max(leastOutput, Math.floor(left * partOfBudget)));
  }
}

const nothing = Buffer.alloc(0);

/**
 * @param limit - The most bytes that it might have.
 * @param usual - The most if nothing else were under way.
 */
function inflateError(error: Error, limit: number, usual: number): Error {
  const { code }: { code?: unknown } = error as { code?: unknown };
  if (code === 'ERR_BUFFER_TOO_LARGE' && limit < usual) {
    return unavailable(
      'TOO_MUCH_IN_FLIGHT',
      `a message has more than ${limit} bytes, decompressed; beside what is under way there is no room for more (maxHeldBytes)`,
    );
  }
  if (code === 'ERR_BUFFER_TOO_LARGE')
    return new RpcError(status.resourceExhausted, `a message has more than ${limit} bytes, decompressed`);
  // gRPC's own code for it: see UnreadableMessage.
  return new RpcError(status.internal, `a message cannot be decompressed: ${error.message}`);
}
