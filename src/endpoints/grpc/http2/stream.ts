/** A stream of a connection, which carries a call. It passes received bytes on, and keeps what waits to be sent. */

import { errorCode } from '../../../protocol/http2/errors.js';
import { frameFlag, frameType } from '../../../protocol/http2/frames.js';
import { mostWindow } from '../../../protocol/http2/settings.js';
import { lengthOf, type CallHeaders } from './request-headers.js';
import type { Slab } from './slab.js';

/** The flow-control window of a stream, and so the bytes that a paused stream may hold in memory. */
export const streamWindow: number = 256 << 10;
/** A stream with more bytes that wait to be sent is congested. */
const mostWaiting = 16 << 10;
/** The most bytes of a frame with data. Smaller frames let other streams send in between. */
const mostDataBytes = 64 << 10;

/** Uses a stream. */
export interface StreamUser {
  /** Whether the client is likely to end the call now because its time is over. */
  readonly isDue: boolean;
  /** Takes received bytes. */
  received(bytes: Buffer): void;
  /** Tells that bytes which came while the stream was paused cannot be kept, and are lost. */
  overflowed(error: unknown): void;
  /** Tells that the client has sent everything. */
  inputEnded(): void;
  /** Tells that bytes which waited to be sent have been sent, after the stream was congested. */
  drained(): void;
  /**
   * Tells that nothing more is sent or received.
   *
   * @param sent - Whether everything was sent, with the end.
   */
  closed(sent: boolean): void;
}

/** The connection of a stream. */
export interface StreamHost {
  /** Tells that the stream has something to send. */
  ready(stream: Stream): void;
  /** The address of the client. */
  readonly remoteAddress: string | undefined;
  /** Resets the stream. */
  reset(stream: Stream, code: number): void;
  /** Resets the stream because of an error of the client. */
  fault(stream: Stream, code: number): void;
  /** Returns a header block as it must be sent next. */
  nextBlock(block: Buffer): Buffer;
  /** Lets the client send more. */
  credit(stream: Stream, bytes: number): void;
  /** Tells that everything was sent. */
  sent(stream: Stream): void;
  /** Counts bytes that wait to be sent; negative: they never will. */
  wait(bytes: number): void;
  /** Counts memory for received bytes that wait; {@link wait} gives it back. Throws if it is too much. */
  keep(bytes: number): void;
  /** Counts bytes of data that are sent. */
  sending(bytes: number): void;
}

const nothing = Buffer.alloc(0);

/** What a stream could send: all that it may, not all, or nothing because the connection's window is closed. */
export const progress = { done: 0, more: 1, blocked: 2 } as const;

/** See the head of this file. */
export class Stream {
  readonly id: number;
  readonly headers: CallHeaders;
  user: StreamUser | undefined;
  /** Whether it is in the connection's list of streams that have something to send. Only the connection sets it. */
  listed = false;
  readonly #host: StreamHost;

  #watcher: ((status: number | undefined) => void) | undefined;

  // Receiving.
  #window = streamWindow;
  /** Bytes that the user has taken, and the client does not know of. */
  #taken = 0;
  /** Bytes of the body that are missing; negative: their number was not announced. */
  #announced: number;
  #remoteEnded = false;
  #paused = false;
  /** What came while the stream was paused. */
  #kept: Buffer | undefined;
  #keptBytes = 0;
  #endKept = false;
  #resuming = false;

  // Sending.
  #sendWindow: number;
  #head: Buffer | undefined;
  #begun = false;
  #pieces: Buffer[] = [];
  /** The next piece, and its next byte. */
  #next = 0;
  #offset = 0;
  #waiting = 0;
  #congested = false;
  #trailers: Buffer | undefined;
  #status: number | undefined;
  #ended = false;
  #stopsClient = false;
  #sent = false;
  #closed = false;

  constructor(id: number, headers: CallHeaders, sendWindow: number, host: StreamHost) {
    this.id = id;
    this.headers = headers;
    this.#host = host;
    this.#sendWindow = sendWindow;
    this.#announced = lengthOf(headers) ?? -1;
  }

  /** The address of the client. */
  get remoteAddress(): string | undefined {
    return this.#host.remoteAddress;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Whether the headers of the answer were given. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Whether the client has sent everything. */
  get remoteEnded(): boolean {
    return this.#remoteEnded;
  }

  /** Whether everything was sent, with the end. */
  get sent(): boolean {
    return this.#sent;
  }

  /** Whether many bytes wait to be sent, or waited and have not all left. */
  get congested(): boolean {
    return this.#congested;
  }

  // What the user calls.

  /** Gives the headers of the answer, encoded. Nothing is given after {@link end}. */
  begin(head: Buffer): void {
    if (this.#closed) return;
    this.#begun = true;
    this.#head = head;
    this.#host.ready(this);
  }

  /** Gives bytes of the answer. They must not change any more. */
  write(bytes: Buffer): void {
    if (this.#closed || bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.#waiting += bytes.length;
    if (this.#waiting >= mostWaiting) this.#congested = true;
    this.#host.wait(bytes.length);
    this.#host.ready(this);
  }

  /**
   * Ends the answer.
   *
   * @param trailers - Encoded; undefined: the headers of the answer are all there is.
   * @param stopsClient - Whether a client that still sends is told to stop.
   */
  end(trailers: Buffer | undefined, status: number | undefined, stopsClient: boolean): void {
    if (this.#closed) return;
    this.#trailers = trailers;
    this.#status = status;
    this.#ended = true;
    this.#stopsClient = stopsClient;
    this.#host.ready(this);
  }

  /** Calls `ended` when the stream has closed, with the status that was sent, if one was. */
  watch(ended: (status: number | undefined) => void): void {
    const watcher = this.#watcher;
    this.#watcher =
      watcher === undefined
        ? ended
        : (status): void => {
            watcher(status);
            ended(status);
          };
  }

  /** Ends the stream at once. */
  reset(code: number): void {
    if (!this.#closed) this.#host.reset(this, code);
  }

  /** Stops passing bytes on, or resumes. Meanwhile the client may fill the stream's window. */
  pause(paused: boolean): void {
    this.#paused = paused;
    if (paused || this.#resuming || (this.#kept === undefined && !this.#endKept)) return;
    // Not now: the user may be in the middle of something.
    this.#resuming = true;
    process.nextTick(this.#resume);
  }

  readonly #resume = (): void => {
    this.#resuming = false;
    if (this.#paused || this.#closed) return;
    const kept = this.#kept?.subarray(0, this.#keptBytes);
    this.#dropKept();
    if (kept !== undefined) this.#pass(kept);
    if (!this.#endKept) return;
    // The bytes may have paused it again.
    if (this.#keeps() || this.#isPaused()) return;
    this.#endKept = false;
    this.user?.inputEnded();
  };

  #dropKept(): void {
    if (this.#kept !== undefined) this.#host.wait(-this.#kept.length);
    this.#kept = undefined;
    this.#keptBytes = 0;
  }

  #keeps(): boolean {
    return this.#kept !== undefined;
  }

  #isPaused(): boolean {
    return this.#paused;
  }

  // What the connection calls, for received frames.

  /** Takes a frame's size from the window. Returns whether it fits. */
  arrive(bytes: number): boolean {
    this.#window -= bytes;
    return this.#window >= 0;
  }

  /** Takes bytes of data. */
  receive(bytes: Buffer): void {
    if (this.#closed) return;
    if (this.#announced >= 0 && (this.#announced -= bytes.length) < 0) {
      this.#host.fault(this, errorCode.protocol);
      return;
    }
    if (!this.#paused && this.#kept === undefined) {
      this.#pass(bytes);
      return;
    }
    try {
      this.#keep(bytes);
    } catch (error) {
      this.user?.overflowed(error);
      this.release(bytes.length);
    }
  }

  /** Counts bytes that the stream needs no more. */
  release(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < streamWindow / 2 || this.#remoteEnded || this.#closed) return;
    this.#window += this.#taken;
    this.#host.credit(this, this.#taken);
    this.#taken = 0;
  }

  /** Takes the end of what the client sends. */
  receiveEnd(): void {
    if (this.#closed) return;
    if (this.#announced > 0) {
      this.#host.fault(this, errorCode.protocol);
      return;
    }
    this.#remoteEnded = true;
    if (this.#paused || this.#kept !== undefined) this.#endKept = true;
    else this.user?.inputEnded();
    // All may be sent already. Then the client may open another stream at once.
    if (this.#sent) this.#host.sent(this);
  }

  /** Lets the stream send more. Returns whether the window is valid. */
  widen(bytes: number): boolean {
    this.#sendWindow += bytes;
    if (this.#sendWindow > mostWindow) return false;
    if (this.#waiting > 0 && this.#sendWindow > 0) this.#host.ready(this);
    return true;
  }

  /** Ends the stream. Called once. */
  close(): void {
    this.#closed = true;
    this.#host.wait(-this.#waiting);
    this.#waiting = 0;
    this.#pieces = [];
    this.#dropKept();
    const { user } = this;
    this.user = undefined;
    user?.closed(this.#sent);
    this.#watcher?.(this.#sent ? this.#status : undefined);
  }

  #pass(bytes: Buffer): void {
    this.user?.received(bytes);
    this.release(bytes.length);
  }

  /** Copies bytes, because each piece would keep all that came with it in memory. */
  #keep(bytes: Buffer): void {
    const size = this.#keptBytes + bytes.length;
    let kept = this.#kept;
    if (kept === undefined || kept.length < size) {
      const capacity = Math.min(streamWindow, Math.max(4096, 2 * size));
      this.#host.keep(capacity - (kept?.length ?? 0));
      const larger = Buffer.allocUnsafe(capacity);
      kept?.copy(larger, 0, 0, this.#keptBytes);
      this.#kept = kept = larger;
    }
    bytes.copy(kept, this.#keptBytes);
    this.#keptBytes = size;
  }

  // What the connection calls, to send.

  /**
   * Writes the next frames: the headers, a frame of data, and the end if nothing waits before it.
   *
   * @param most - The most bytes of a frame, and how many bytes of data the connection may send.
   * @returns One of {@link progress}.
   */
  send(slab: Slab, frameBytes: number, most: number): number {
    if (this.#closed || this.#sent) return progress.done;
    if (this.#head !== undefined) {
      const isAll = this.#ended && this.#trailers === undefined;
      writeHeaders(slab, this.id, this.#host.nextBlock(this.#head), isAll, frameBytes);
      this.#head = undefined;
      if (isAll) {
        this.#sent = true;
        return progress.done;
      }
    }
    if (this.#waiting > 0) {
      if (this.#sendWindow <= 0) return progress.done; // It is listed again when the window opens.
      if (most <= 0) return progress.blocked;
      this.#sendData(slab, Math.min(this.#waiting, this.#sendWindow, most, frameBytes, mostDataBytes));
      if (this.#waiting > 0) return progress.more;
    }
    if (!this.#ended) return progress.done;
    if (this.#trailers !== undefined)
      writeHeaders(slab, this.id, this.#host.nextBlock(this.#trailers), true, frameBytes);
    this.#sent = true;
    return progress.done;
  }

  /** Whether the client is to be told to stop sending. */
  get stopsClient(): boolean {
    return this.#stopsClient && !this.#remoteEnded;
  }

  /** Called when frames were sent. */
  afterSend(): void {
    if (!this.#congested || this.#waiting > 0 || this.#closed) return;
    this.#congested = false;
    this.user?.drained();
  }

  #sendData(slab: Slab, size: number): void {
    slab.header(size, frameType.data, 0, this.id);
    this.#sendWindow -= size;
    this.#waiting -= size;
    this.#host.sending(size);
    let left = size;
    while (left > 0) {
      const piece = this.#pieces[this.#next];
      if (piece === undefined) return;
      const from = this.#offset;
      const end = Math.min(piece.length, from + left);
      slab.bytes(piece, from, end);
      left -= end - from;
      this.#offset = end;
      if (end < piece.length) return;
      this.#offset = 0;
      this.#pieces[this.#next++] = nothing;
    }
    if (this.#waiting > 0 && this.#next < 64) return;
    this.#pieces = this.#waiting === 0 ? [] : this.#pieces.slice(this.#next);
    this.#next = 0;
  }
}

/** Writes a header block, in as many frames as it needs. */
function writeHeaders(slab: Slab, id: number, block: Buffer, isEnd: boolean, frameBytes: number): void {
  let type: number = frameType.headers;
  let at = 0;
  do {
    const end = Math.min(block.length, at + frameBytes);
    const flags =
      (end === block.length ? frameFlag.endHeaders : 0) |
      (isEnd && type === frameType.headers ? frameFlag.endStream : 0);
    slab.header(end - at, type, flags, id);
    slab.bytes(block, at, end);
    at = end;
    type = frameType.continuation;
  } while (at < block.length);
}
