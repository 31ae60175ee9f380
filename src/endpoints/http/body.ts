/** Collects each request's body in one piece, within limits for one body and for all bodies under way. */

import type { IncomingMessage } from 'node:http';
import { unzip } from 'node:zlib';
import { invalidArgument, TritonError, unavailable } from '../../errors.js';
import { BodyMemory } from './body-memory.js';

/** The most chunks of a body without a length. As in Triton. */
const mostChunks = 65_536;
/** The limit of all bodies under way together, as a multiple of the limit of one body. */
const bodiesAtOnce = 16;
/** How many bodies are decompressed at once: libuv has four threads. */
const mostUnzips = 4;

/** Called once with a body, or with an error; never if the connection ends before. */
export type BodyTaker = (error: TritonError | undefined, body: Buffer) => void;

const nothing = Buffer.alloc(0);

/** Errors of bodies that are too large. */
const tooLarge: WeakSet<TritonError> = new WeakSet();

/** Whether an error says that a body is too large. */
export function isTooLarge(error: TritonError): boolean {
  return tooLarge.has(error);
}

/** Reads the bodies of an endpoint's requests. */
export class BodyReader {
  readonly memory: BodyMemory = new BodyMemory();
  readonly #maxBytes: number;
  /** Bytes of bodies that have arrived and wait for the rest of the body, or for the answer. */
  #held = 0;
  #unzips = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get maxBytes(): number {
    return this.#maxBytes;
  }

  /**
   * Collects a body. Its bytes are counted as they arrive, until {@link release} is called for them.
   *
   * @param align - The offset in the body of the bytes that should lie at a multiple of 8.
   */
  collect(request: IncomingMessage, align: number, take: BodyTaker): void {
    if (request.readableEnded || request.destroyed) {
      // No event follows: the body was read before, or the client had left before this call.
      if (request.readableEnded) take(wasRead(), nothing);
      return;
    }
    const length = request.headers['content-length'];
    const expected = length === undefined ? undefined : Number(length);
    if (expected !== undefined && expected > this.#maxBytes) {
      // Discard the body, so that the next request on the connection can be read.
      request.resume();
      take(this.#tooLarge(`${expected} bytes`), nothing);
    } else if (expected === undefined && request.headers['transfer-encoding'] === undefined) {
      request.resume();
      take(undefined, nothing);
    } else new Collector(this, request, expected, align, take);
  }

  /** Counts bytes of a body, or returns the error that ends it. */
  hold(size: number, more: number, chunks: number): TritonError | undefined {
    if (size > this.#maxBytes) return this.#tooLarge('more');
    if (this.#held + more > bodiesAtOnce * this.#maxBytes) return this.#full();
    if (chunks > mostChunks)
      return invalidArgument(`the request's body has more chunks than the limit of ${mostChunks}`);
    this.#held += more;
    return undefined;
  }

  /** Stops counting bytes of a body. */
  release(size: number): void {
    this.#held -= size;
  }

  /** Releases a body and its memory. The caller must not read it afterwards. */
  giveBack(body: Buffer): void {
    this.release(body.length);
    this.memory.giveBack(body);
  }

  /**
   * Decompresses a body; the first bytes tell gzip from deflate. The plain bytes are then counted instead of the
   * compressed ones.
   */
  unzip(body: Buffer, done: BodyTaker): void {
    const start = (): void => {
      this.#unzips++;
      unzip(body, { maxOutputLength: this.#maxBytes }, (error, plain) => {
        this.#unzips--;
        this.#waiting.shift()?.();
        this.giveBack(body);
        const why = error === null ? this.hold(plain.length, plain.length, 0) : this.#unzipError(error);
        done(why, why === undefined ? plain : nothing);
      });
    };
    if (this.#unzips < mostUnzips) start();
    else this.#waiting.push(start);
  }

  #unzipError(error: Error): TritonError {
    const { code }: { code?: unknown } = error as { code?: unknown };
    if (code === 'ERR_BUFFER_TOO_LARGE') return this.#tooLarge('more when decompressed');
    return invalidArgument(`the body cannot be decompressed: ${error.message}`, { cause: error });
  }

  #tooLarge(size: string): TritonError {
    const error = invalidArgument(
      `the request's body has ${size}, over the limit of ${this.#maxBytes} bytes (maxRequestBytes)`,
    );
    tooLarge.add(error);
    return error;
  }

  #full(): TritonError {
    const limit = bodiesAtOnce * this.#maxBytes;
    return unavailable(
      'TOO_MUCH_IN_FLIGHT',
      `the bodies of requests in progress hold ${this.#held} bytes; the limit is ${limit}`,
    );
  }
}

/** Up to this announced size a body gets all its memory at once. Pages that are never written cost nothing. */
const allAtOnce = 1 << 20;
/** The first memory of a body of unknown size. */
const firstChunks = 1 << 16;
/** The growth factor of memory that is too small. An announced length alone never allocates the rest. */
const growth = 8;

/** Collects one body. */
class Collector {
  readonly #reader: BodyReader;
  readonly #request: IncomingMessage;
  readonly #expected: number | undefined;
  readonly #align: number;
  readonly #take: BodyTaker;
  /** The first chunk; memory of its own from the second on. */
  #body: Buffer = nothing;
  #size = 0;
  #chunks = 0;
  #over = false;

  constructor(
    reader: BodyReader,
    request: IncomingMessage,
    expected: number | undefined,
    align: number,
    take: BodyTaker,
  ) {
    this.#reader = reader;
    this.#expected = expected;
    this.#align = align;
    this.#take = take;
    this.#request = request;
    request.on('data', (chunk: Buffer) => {
      if (!this.#over) this.#add(chunk);
    });
    // A body of known length ends with its last byte, so most requests need no 'end' listener.
    if (expected === undefined || expected === 0) {
      request.on('end', () => {
        if (!this.#over) this.#finish(undefined);
      });
    }
  }

  /**
   * Releases the body if the rest does not arrive. Node then emits 'close', and 'error' only if there is a
   * listener.
   */
  #awaitRest(): void {
    this.#request.on('close', () => {
      if (this.#over) return;
      this.#over = true;
      this.#drop();
    });
  }

  #drop(): void {
    this.#reader.release(this.#size);
    this.#reader.memory.giveBack(this.#body);
    this.#body = nothing;
    this.#size = 0;
  }

  #add(chunk: Buffer): void {
    const expected = this.#expected;
    const start = this.#size;
    const size = start + chunk.length;
    if (expected === undefined) this.#chunks++;
    const error = this.#reader.hold(size, chunk.length, this.#chunks);
    if (error !== undefined) {
      this.#drop();
      this.#finish(error);
      return;
    }
    // Most bodies come in one chunk, which is used without a copy.
    if (start === 0) this.#body = chunk;
    else {
      if (this.#body.length < size) this.#grow(size);
      this.#body.set(chunk, start);
    }
    this.#size = size;
    if (size === expected) this.#finish(undefined);
    else if (start === 0) this.#awaitRest();
  }

  #grow(size: number): void {
    const most = this.#expected ?? this.#reader.maxBytes;
    const first = this.#expected === undefined ? firstChunks : allAtOnce;
    const room = Math.min(most, Math.max(first, size * growth));
    const { memory } = this.#reader;
    const body = memory.take(room, this.#align);
    body.set(this.#body.subarray(0, this.#size));
    memory.giveBack(this.#body);
    this.#body = body;
  }

  /** Hands over the body or an error. Later bytes are discarded, so that the next request can be read. */
  #finish(error: TritonError | undefined): void {
    this.#over = true;
    const body = this.#body;
    this.#take(error, body.length === this.#size ? body : body.subarray(0, this.#size));
  }
}

function wasRead(): TritonError {
  return new TritonError('INTERNAL', 'the body was read before: put the handler before body parsers');
}
