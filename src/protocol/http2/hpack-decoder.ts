/** Decodes header blocks: https://www.rfc-editor.org/rfc/rfc7541 */

import { ConnectionError, errorCode } from './errors.js';
import { decodeHuffman } from './huffman.js';
import { staticFields } from './static-table.js';

/** The size of the dynamic table that a peer may use, unless settings say otherwise. */
export const tableBytes = 4096;

/** The most bytes of a header block. */
export const mostBlockBytes: number = 64 << 10;

/** What each field counts in addition to its bytes, in tables and lists. */
const fieldBytes = 32;

/** A header field. Fields in tables are shared by all header lists that have them. */
export class Field {
  readonly name: string;
  /** Its bytes as characters of Latin-1. */
  readonly value: string;
  readonly size: number;
  /** Whether name and value have only characters that headers may have. Names have no capitals. */
  readonly isValid: boolean;

  constructor(name: string, value: string) {
    this.name = name;
    this.value = value;
    this.size = name.length + value.length + fieldBytes;
    this.isValid = validName.test(name) && !invalidValue.test(value);
  }
}

const validName = /^:?[!#$%&'*+.^_`|~0-9a-z-]+$/;
// eslint-disable-next-line no-control-regex -- These are the characters to find.
const invalidValue = /[\0\r\n]/;

const fixed: readonly Field[] = staticFields.map(([name, value = '']) => new Field(name, value));

/** The decoded bytes of a text in Huffman code. Nothing is decoded while another text is. */
const scratch = Buffer.allocUnsafeSlow(Math.ceil((mostBlockBytes * 8) / 5));

/** Decodes the header blocks of a connection, in their order. */
export class HpackDecoder {
  /** Changes when the dynamic table does. Until then the same block gives the same fields. */
  version = 0;
  readonly #mostListBytes: number;
  /** The newest entry of the dynamic table is last. Entries before `#oldest` were dropped. */
  #table: (Field | undefined)[] = [];
  #oldest = 0;
  #size = 0;
  #maxSize: number = tableBytes;
  #fields: Field[] = [];
  #listBytes = 0;
  // The block that is decoded.
  #block: Buffer = scratch;
  #at = 0;

  /** @param mostListBytes - The most bytes of a header list. */
  constructor(mostListBytes: number) {
    this.#mostListBytes = mostListBytes;
  }

  /**
   * Decodes a block of at most {@link mostBlockBytes}.
   *
   * @returns The fields, until the next call; undefined if they are more than a header list may have.
   * @throws {@link ConnectionError} For a block that cannot be decoded.
   */
  decode(block: Buffer): readonly Field[] | undefined {
    this.#fields = [];
    this.#listBytes = 0;
    this.#block = block;
    this.#at = 0;
    while (this.#at < block.length && ((block[this.#at] ?? 0) & 0xe0) === 0x20)
      this.#resize(this.#integer(31));
    while (this.#at < block.length) this.#next(block[this.#at] ?? 0);
    this.#block = scratch;
    return this.#listBytes <= this.#mostListBytes ? this.#fields : undefined;
  }

  #next(byte: number): void {
    if (byte >= 0x80) this.#emit(this.#indexed(this.#integer(127)));
    else if (byte >= 0x40) {
      const field = this.#literal(63);
      this.#emit(field);
      this.#insert(field);
    } else if (byte >= 0x20) throw failure('the size of the table changes inside a header block');
    else this.#emit(this.#literal(15));
  }

  #emit(field: Field): void {
    this.#listBytes += field.size;
    if (this.#listBytes <= this.#mostListBytes) this.#fields.push(field);
  }

  #literal(mask: number): Field {
    const index = this.#integer(mask);
    const name = index === 0 ? this.#text() : this.#indexed(index).name;
    return new Field(name, this.#text());
  }

  #indexed(index: number): Field {
    const field =
      index <= fixed.length ? fixed[index - 1] : this.#table[this.#table.length - (index - fixed.length)];
    if (field === undefined) throw failure(`there is no header with the index ${index}`);
    return field;
  }

  /** Reads an integer whose first bits are the last of this byte. */
  #integer(mask: number): number {
    const block = this.#block;
    let value = (block[this.#at++] ?? 0) & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = block[this.#at++];
      if (byte === undefined) throw failure('a header block ends inside a number');
      value += (byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw failure('a number in a header block is too large');
  }

  #text(): string {
    const block = this.#block;
    const isHuffman = ((block[this.#at] ?? 0) & 0x80) !== 0;
    if (this.#at >= block.length) throw failure('a header block ends before a text');
    const length = this.#integer(127);
    const from = this.#at;
    const end = from + length;
    if (end > block.length) throw failure('a header block ends inside a text');
    this.#at = end;
    if (!isHuffman) return block.toString('latin1', from, end);
    return scratch.toString('latin1', 0, decodeHuffman(block, from, end, scratch));
  }

  #insert(field: Field): void {
    this.version++;
    this.#size += field.size;
    this.#table.push(field);
    this.#evict();
  }

  #resize(size: number): void {
    if (size > tableBytes) throw failure(`a table of ${size} bytes is over the limit of ${tableBytes}`);
    this.version++;
    this.#maxSize = size;
    this.#evict();
  }

  /** Drops the oldest entries that have no room. A field that is larger than the table empties it. */
  #evict(): void {
    const table = this.#table;
    while (this.#size > this.#maxSize) {
      this.#size -= table[this.#oldest]?.size ?? 0;
      table[this.#oldest++] = undefined;
    }
    // Half of the array is dropped entries: the cost of moving the others is constant for each insertion.
    if (this.#oldest * 2 > table.length) {
      this.#table = table.slice(this.#oldest);
      this.#oldest = 0;
    }
  }
}

function failure(message: string): ConnectionError {
  return new ConnectionError(errorCode.compression, message);
}
