/**
 * Finds the ends of HTTP/1.1 responses in the bytes of a connection. Their bodies are kept only where they are needed.
 *
 * Node's own client parses each header into an object, which takes most of the time of a small request. The heads of a
 * server's responses are mostly equal, so that an equal one is not parsed again.
 */

/** A response. */
export interface Response {
  readonly status: number;
  /** By the names in lower case; of equal ones the last. */
  readonly headers: ReadonlyMap<string, string>;
  /** The body; empty if it was not kept. */
  readonly body: Buffer;
}

/** What a reader reports. */
export interface ResponseTaker {
  /** @param isLast - Whether the server closes the connection after it. */
  response(response: Response, isLast: boolean): void;
}

interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Undefined: until the connection ends. */
  readonly length: number | undefined;
  readonly chunked: boolean;
  readonly closes: boolean;
}

/** Longer heads are refused: no server sends them. */
const mostHeadBytes = 64 << 10;
/** Bodies that are kept may have so many bytes: those of errors, and those of answers. */
const mostBodyBytes = { error: 1 << 20, answer: 512 << 20 } as const;
const empty = Buffer.alloc(0);
const headEnd = Buffer.from('\r\n\r\n');
const lineFeed = 0x0a;

/** See the head of this file. */
export class ResponseReader {
  readonly #taker: ResponseTaker;
  /** Whether bodies of responses with status 200 are kept. Others always are. */
  keep = false;
  /** The beginning of a head, or of a chunk's length. */
  #rest: Buffer = empty;
  #head: Head | undefined;
  /** Bytes of the body, or of the chunk, that are missing. */
  #missing = 0;
  /** Where in a chunked body the reader is. */
  #place: 'length' | 'data' | 'end' | 'trailers' = 'length';
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #lastText = '';
  #lastHead: Head | undefined;

  constructor(taker: ResponseTaker) {
    this.#taker = taker;
  }

  /** Whether part of a response has arrived. */
  get within(): boolean {
    return this.#head !== undefined || this.#rest.length > 0;
  }

  /**
   * Reads bytes. They may be overwritten afterwards.
   *
   * @throws Error if they are not HTTP/1.1, or if a body that is kept is too long.
   */
  push(bytes: Buffer): void {
    let at = 0;
    // Also without bytes left: a body may be empty.
    for (;;) {
      const next =
        this.#head === undefined ? this.#readHead(bytes, at) : this.#readBody(bytes, at, this.#head);
      if (next < 0) return;
      at = next;
      if (at >= bytes.length && this.#head === undefined) return;
    }
  }

  /** Called when the connection has ended. Returns whether that ended a response. */
  ended(): boolean {
    const head = this.#head;
    if (head?.length !== undefined || head === undefined || head.chunked) return false;
    this.#finish(head);
    return true;
  }

  /** Returns where to go on; -1 if more bytes are needed. */
  #readHead(bytes: Buffer, at: number): number {
    let from = at;
    let source = bytes;
    if (this.#rest.length > 0) {
      source = Buffer.concat([this.#rest, bytes.subarray(at)]);
      from = 0;
    }
    const end = source.indexOf(headEnd, from);
    if (end < 0) {
      this.#rest = Buffer.from(source.subarray(from));
      if (this.#rest.length > mostHeadBytes) throw new Error('the head of a response has no end');
      return -1;
    }
    const consumed = end + headEnd.length - (source === bytes ? 0 : this.#rest.length);
    this.#rest = empty;
    const text = source.toString('latin1', from, end);
    if (text !== this.#lastText || this.#lastHead === undefined) {
      this.#lastHead = parseHead(text);
      this.#lastText = text;
    }
    const head = this.#lastHead;
    const next = source === bytes ? consumed : at + consumed;
    // Such as 100 Continue; another response follows.
    if (head.status < 200) return next;
    this.#head = head;
    this.#place = 'length';
    this.#missing = head.length ?? 0;
    return next;
  }

  #readBody(bytes: Buffer, at: number, head: Head): number {
    if (head.chunked) return this.#readChunks(bytes, at, head);
    const isOpen = head.length === undefined;
    const size = isOpen ? bytes.length - at : Math.min(this.#missing, bytes.length - at);
    this.#take(bytes, at, size, head);
    if (isOpen) return -1;
    this.#missing -= size;
    if (this.#missing > 0) return -1;
    this.#finish(head);
    return at + size;
  }

  #readChunks(bytes: Buffer, from: number, head: Head): number {
    let at = from;
    while (at < bytes.length) {
      if (this.#place === 'data') {
        const size = Math.min(this.#missing, bytes.length - at);
        this.#take(bytes, at, size, head);
        this.#missing -= size;
        at += size;
        if (this.#missing === 0) this.#place = 'end';
        continue;
      }
      const end = bytes.indexOf(lineFeed, at);
      if (end < 0) {
        this.#rest = Buffer.concat([this.#rest, bytes.subarray(at)]);
        if (this.#rest.length > mostHeadBytes) throw new Error('a line of a chunked response has no end');
        return -1;
      }
      const line = this.#rest.toString('latin1') + bytes.toString('latin1', at, end);
      this.#rest = empty;
      at = end + 1;
      if (this.#line(line.replace(/\r$/, ''), head)) return at;
    }
    return -1;
  }

  /** Reads a line of a chunked body. Returns whether it ended the body. */
  #line(text: string, head: Head): boolean {
    if (this.#place === 'end') {
      if (text !== '') throw new Error('a chunk of a response is longer than announced');
      this.#place = 'length';
      return false;
    }
    if (this.#place === 'trailers') {
      if (text !== '') return false;
      this.#finish(head);
      return true;
    }
    const [, digits] = /^([0-9a-f]{1,12})\s*(?:;.*)?$/i.exec(text) ?? [];
    if (digits === undefined) throw new Error(`a chunk of a response has the length '${text.slice(0, 40)}'`);
    this.#missing = Number.parseInt(digits, 16);
    this.#place = this.#missing === 0 ? 'trailers' : 'data';
    return false;
  }

  #take(bytes: Buffer, at: number, size: number, { status }: Head): void {
    if (size === 0 || (!this.keep && status === 200)) return;
    const most = status === 200 ? mostBodyBytes.answer : mostBodyBytes.error;
    this.#keptBytes += size;
    if (this.#keptBytes > most)
      throw new Error(`the body of a response with status ${status} has more than ${most} bytes`);
    this.#kept.push(Buffer.from(bytes.subarray(at, at + size)));
  }

  #finish({ status, headers, closes, length, chunked }: Head): void {
    const body = this.#kept.length === 0 ? empty : Buffer.concat(this.#kept);
    this.#kept = [];
    this.#keptBytes = 0;
    this.#head = undefined;
    this.#taker.response({ status, headers, body }, closes || (length === undefined && !chunked));
  }
}

function parseHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const [, minor, code] = /^HTTP\/1\.([01]) (\d{3})/.exec(first) ?? [];
  if (code === undefined)
    throw new Error(`the server does not answer in HTTP/1.1: ${JSON.stringify(first.slice(0, 80))}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  const status = Number(code);
  const chunked = /chunked$/i.test(headers.get('transfer-encoding') ?? '');
  const given = headers.get('content-length');
  if (given !== undefined && !/^\d{1,15}$/.test(given))
    throw new Error(`a response has the content-length '${given.slice(0, 40)}'`);
  const isEmpty = status < 200 || status === 204 || status === 304;
  const connection = (headers.get('connection') ?? '').toLowerCase();
  return {
    status,
    headers,
    length: isEmpty ? 0 : given === undefined ? undefined : Number(given),
    chunked: chunked && !isEmpty,
    closes: connection === 'close' || (minor === '0' && connection !== 'keep-alive'),
  };
}
