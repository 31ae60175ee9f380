/** Collects the bodies of requests: each in one piece, within limits for one, and for all that are under way. */

import type { IncomingMessage } from 'node:http';
import { unzip } from 'node:zlib';
import { invalidArgument, TritonError } from '../../errors.js';

/** The most pieces of a body without a length. As in Triton. */
const mostChunks = 65_536;
/** All bodies under way together may have so many times the limit of one. */
const bodiesAtOnce = 16;
/** How many bodies are decompressed at once: libuv has so many threads. */
const mostUnzips = 4;

/** A body, or why there is none. */
export type BodyDone = (error: TritonError | undefined, body: Buffer) => void;

const nothing = Buffer.alloc(0);

/** Reads the bodies of an endpoint's requests. */
export class BodyReader {
  readonly #maxBytes: number;
  /** Bytes of bodies that are being collected or wait for their answers. */
  #held = 0;
  #unzips = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Collects a body.
   *
   * @param align - Where, from its start, bytes begin that should lie at a multiple of 8.
   * @param done - Called once, unless the connection ends before: then `gone` is. The body's bytes count until they are
   *   given back with {@link release}.
   */
  collect(request: IncomingMessage, align: number, done: BodyDone, gone: () => void): void {
    if (request.readableEnded || request.destroyed) {
      // No event comes any more: somebody has read it, or the client left before it came here.
      if (request.readableEnded) done(wasRead(), nothing);
      else gone();
      return;
    }
    const length = request.headers['content-length'];
    const expected = length === undefined ? undefined : Number(length);
    const fail = (error: TritonError): void => {
      // What still comes is thrown away, so that the connection stays in step.
      request.resume();
      done(error, nothing);
    };
    if (expected !== undefined && expected > this.#maxBytes) {
      fail(this.#tooLarge(`${expected} bytes`));
      return;
    }
    if (expected === undefined && request.headers['transfer-encoding'] === undefined) {
      request.resume();
      done(undefined, nothing);
      return;
    }
    if (this.#held + (expected ?? 0) > bodiesAtOnce * this.#maxBytes) {
      fail(this.#full());
      return;
    }
    if (expected === undefined) this.#collectChunks(request, align, done, fail, gone);
    else this.#collectLength(request, expected, align, done, gone);
  }

  /** The body of an answered request is gone. */
  release(size: number): void {
    this.#held -= size;
  }

  /**
   * Decompresses a body; gzip and deflate are told apart by their bytes. It is held in place of the compressed one.
   */
  unzip(body: Buffer, done: BodyDone): void {
    const start = (): void => {
      this.#unzips++;
      unzip(body, { maxOutputLength: this.#maxBytes }, (error, plain) => {
        this.#unzips--;
        this.#waiting.shift()?.();
        this.#held -= body.length;
        if (error === null) {
          this.#held += plain.length;
          done(undefined, plain);
        } else done(this.#unzipError(error), nothing);
      });
    };
    if (this.#unzips < mostUnzips) start();
    else this.#waiting.push(start);
  }

  #unzipError(error: Error): TritonError {
    const { code }: { code?: unknown } = error as { code?: unknown };
    if (code === 'ERR_BUFFER_TOO_LARGE') return this.#tooLarge('more, decompressed');
    return new TritonError('INTERNAL', `the body cannot be decompressed: ${error.message}`, { cause: error });
  }

  #tooLarge(size: string): TritonError {
    return invalidArgument(
      `the request's body has ${size}, over the limit of ${this.#maxBytes} bytes (maxRequestBytes)`,
    );
  }

  #full(): TritonError {
    const limit = bodiesAtOnce * this.#maxBytes;
    return new TritonError(
      'UNAVAILABLE',
      `the bodies of requests under way have ${this.#held} bytes together; the limit is ${limit}`,
    );
  }

  #collectLength(
    request: IncomingMessage,
    expected: number,
    align: number,
    done: BodyDone,
    gone: () => void,
  ): void {
    this.#held += expected;
    let body: Buffer | undefined;
    let at = 0;
    request.on('data', (chunk: Buffer) => {
      // Most bodies come in one piece, which is used as it is.
      if (at === 0 && chunk.length === expected) body = chunk;
      else {
        body ??= allocate(expected, align);
        body.set(chunk, at);
      }
      at += chunk.length;
    });
    let ended = false;
    request.on('end', () => {
      ended = true;
      done(undefined, body ?? nothing);
    });
    request.on('error', () => undefined); // 'close' comes in any case, and without an error, too.
    request.on('close', () => {
      if (ended) return;
      this.#held -= expected;
      gone();
    });
  }

  #collectChunks(
    request: IncomingMessage,
    align: number,
    done: BodyDone,
    fail: (error: TritonError) => void,
    gone: () => void,
  ): void {
    const chunks: Buffer[] = [];
    let size = 0;
    let over = false;
    const drop = (): void => {
      over = true;
      this.#held -= size;
    };
    const onData = (chunk: Buffer): void => {
      const error = this.#chunkError(size + chunk.length, chunk.length, chunks.length);
      if (error !== undefined) {
        drop();
        request.off('data', onData).off('end', onEnd);
        fail(error);
        return;
      }
      size += chunk.length;
      this.#held += chunk.length;
      chunks.push(chunk);
    };
    const onEnd = (): void => {
      over = true;
      const body = allocate(size, align);
      let at = 0;
      for (const chunk of chunks) {
        body.set(chunk, at);
        at += chunk.length;
      }
      done(undefined, body);
    };
    request.on('data', onData);
    request.on('end', onEnd);
    request.on('error', () => undefined);
    request.on('close', () => {
      if (over) return;
      drop();
      gone();
    });
  }

  #chunkError(size: number, more: number, chunks: number): TritonError | undefined {
    if (size > this.#maxBytes) return this.#tooLarge('more');
    if (this.#held + more > bodiesAtOnce * this.#maxBytes) return this.#full();
    if (chunks < mostChunks) return undefined;
    return invalidArgument(`the request's body has more than ${mostChunks} chunks, which is the limit`);
  }
}

function wasRead(): TritonError {
  return new TritonError('INTERNAL', 'the body was read before: put the handler before body parsers');
}

/** Memory of its own in which byte `align` lies at a multiple of 8. */
function allocate(size: number, align: number): Buffer {
  const pad = (8 - (align % 8)) % 8;
  return Buffer.allocUnsafeSlow(pad + size).subarray(pad);
}
