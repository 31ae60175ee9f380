/** Reads the header blocks of a connection. A block may come in several frames. */

import { ConnectionError, errorCode } from '../../../protocol/http2/errors.js';
import { HpackDecoder, mostBlockBytes } from '../../../protocol/http2/hpack-decoder.js';
import { headerBytes } from './limits.js';
import { areTrailers, readRequestHeaders, type CallHeaders } from './request-headers.js';

/** The most frames of a block. */
const mostFrames = 64;
/** Blocks up to this size are compared with the one before. */
const knownBytes = 512;

/** See the head of this file. */
export class HeaderBlocks {
  /** The stream whose block is not complete; 0: none. */
  stream = 0;
  /** Whether that stream's input ends with its block. */
  endsStream = false;
  readonly #decoder: HpackDecoder = new HpackDecoder(headerBytes);
  #parts: Buffer[] = [];
  #size = 0;
  // The last block that changed no table. While the table stays, the same bytes mean the same headers.
  #known: Buffer | undefined;
  #knownSize = 0;
  #knownVersion = -1;
  #knownHeaders: CallHeaders | undefined;

  /** Checks that a frame of a block is not too large. It is called before the frame arrives. */
  check(length: number): void {
    if (this.#size + length <= mostBlockBytes && this.#parts.length < mostFrames) return;
    throw new ConnectionError(
      errorCode.enhanceYourCalm,
      `headers have more than ${mostBlockBytes} bytes or ${mostFrames} frames`,
    );
  }

  /** Begins a block that comes in several frames. */
  begin(stream: number, endsStream: boolean, part: Buffer): void {
    this.stream = stream;
    this.endsStream = endsStream;
    this.add(part);
  }

  /** Adds a part. */
  add(part: Buffer): void {
    this.#parts.push(Buffer.from(part));
    this.#size += part.length;
  }

  /** Ends the block that came in parts, and returns it. */
  end(): Buffer {
    const block = Buffer.concat(this.#parts, this.#size);
    this.stream = 0;
    this.#parts = [];
    this.#size = 0;
    return block;
  }

  /**
   * Reads the headers of a request.
   *
   * @returns A code of an error if the call cannot be answered.
   * @throws {@link ConnectionError} For a block that cannot be decoded.
   */
  request(block: Buffer): CallHeaders | number {
    const decoder = this.#decoder;
    const { version } = decoder;
    if (
      this.#knownHeaders !== undefined &&
      version === this.#knownVersion &&
      block.length === this.#knownSize &&
      this.#known?.compare(block, 0, block.length, 0, block.length) === 0
    )
      return this.#knownHeaders;
    const fields = decoder.decode(block);
    if (fields === undefined) return errorCode.enhanceYourCalm;
    const headers = readRequestHeaders(fields);
    if (headers === undefined) return errorCode.protocol;
    if (decoder.version === version && block.length <= knownBytes) {
      this.#known ??= Buffer.alloc(knownBytes);
      block.copy(this.#known);
      this.#knownSize = block.length;
      this.#knownVersion = version;
      this.#knownHeaders = headers;
    }
    return headers;
  }

  /**
   * Reads trailers, which mean nothing.
   *
   * @returns Whether they are valid.
   * @throws {@link ConnectionError} For a block that cannot be decoded.
   */
  trailers(block: Buffer): boolean {
    const fields = this.#decoder.decode(block);
    return fields !== undefined && areTrailers(fields);
  }
}
