/**
 * What a connection sends. All frames of a turn of the loop leave in one write. Streams take turns, frame by frame. While the
 * client does not read, answers stay in their streams, and the socket holds little.
 */

import type { Socket } from 'node:net';
import { defaultFrameBytes, defaultWindow, mostWindow } from '../../../protocol/http2/settings.js';
import { Queue } from '../../../queue.js';
import { setImmediate } from '../../../timers.js';
import type { Slab } from './slab.js';
import { progress, type Stream } from './stream.js';

/** The most bytes of a write, and the bytes in the socket beyond which nothing is written. */
const batchBytes = 128 << 10;
/** The most bytes that are written in one turn of the loop. */
const turnBytes = 1 << 20;
/** The most bytes of frames without data that wait because the client does not read. */
const mostControlBytes = 64 << 10;

const nothing = Buffer.alloc(0);

/** Is told what an output does. */
export interface OutputEvents {
  /** Tells that all of a stream was sent. */
  sent(stream: Stream): void;
  /** Tells that bytes of data have left the socket, or never will. */
  left(bytes: number): void;
  /** Tells that nothing more can be sent. */
  failed(): void;
}

/** See the head of this file. */
export class Output {
  /** The most bytes of a frame that the client takes. */
  frameBytes: number = defaultFrameBytes;
  /** The bytes of headers and data that were sent. */
  answerBytes = 0;
  readonly #socket: Socket;
  readonly #slab: Slab;
  readonly #events: OutputEvents;
  readonly #ready: Queue<Stream> = new Queue();
  #window = defaultWindow;
  #control: Buffer = nothing;
  #controlBytes = 0;
  #scheduled = false;
  /** Whether the socket has as many bytes as it may, so that more is written when it has less. */
  #full = false;
  /** Called when all was sent; undefined: more may be sent. */
  #ended: (() => void) | undefined;
  /** Bytes of data in the write that is being made. */
  #dataBytes = 0;
  /** When bytes last left the socket, or none waited there. */
  #movedAt = 0;

  constructor(socket: Socket, slab: Slab, events: OutputEvents) {
    this.#socket = socket;
    this.#slab = slab;
    this.#events = events;
  }

  /** How many milliseconds bytes have waited in the socket, of which none left. */
  stuckMs(now: number): number {
    return this.#socket.writableLength > 0 ? now - this.#movedAt : 0;
  }

  /** Notes that a stream has something to send. */
  ready(stream: Stream): void {
    if (!stream.listed) {
      stream.listed = true;
      this.#ready.push(stream);
    }
    this.#schedule();
  }

  /** Sends a frame that is not of an answer. */
  send(frame: Buffer): void {
    const size = this.#controlBytes + frame.length;
    if (size > mostControlBytes) {
      this.flush();
      if (this.#controlBytes > 0) {
        // The client makes answers necessary, and does not read them.
        this.#events.failed();
        return;
      }
      this.send(frame);
      return;
    }
    if (size > this.#control.length) {
      const larger = Buffer.allocUnsafe(Math.max(256, 2 * size));
      this.#control.copy(larger, 0, 0, this.#controlBytes);
      this.#control = larger;
    }
    frame.copy(this.#control, this.#controlBytes);
    this.#controlBytes = size;
    this.#schedule();
  }

  /** Lets the connection send more data. Returns whether the window is valid. */
  widen(bytes: number): boolean {
    this.#window += bytes;
    if (this.#window > mostWindow) return false;
    if (this.#ready.length > 0) this.#schedule();
    return true;
  }

  /** Counts bytes of data that are sent. */
  sending(bytes: number): void {
    this.#window -= bytes;
    this.#dataBytes += bytes;
  }

  /** Batches may have scheduled a flush. */
  #isScheduled(): boolean {
    return this.#scheduled;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(this.flush);
  }

  /**
   * Sends what waits, and nothing after it.
   *
   * @param ended - Called when the socket has passed everything on; not if it is destroyed before.
   */
  end(ended: () => void): void {
    this.#ended = ended;
    this.flush();
  }

  /** Sends what waits, as far as the client takes it. */
  readonly flush = (): void => {
    this.#scheduled = false;
    this.#full = false;
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    if (this.#socket.writableLength === 0) this.#movedAt = performance.now();
    try {
      let left = turnBytes;
      while (left > 0 && this.#socket.writableLength < batchBytes) {
        const written = this.#batch();
        if (written === 0) break;
        left -= written;
      }
      this.#full = this.#socket.writableLength >= batchBytes;
      this.#endIfSent();
      if (left <= 0 && !this.#isScheduled()) {
        this.#scheduled = true;
        setImmediate(this.flush);
      }
    } catch {
      // Such as for lack of memory. What was begun cannot be completed.
      this.#slab.drop();
      this.#events.left(this.#dataBytes);
      this.#dataBytes = 0;
      this.#events.failed();
    }
  };

  #endIfSent(): void {
    const ended = this.#ended;
    if (ended === undefined || this.#controlBytes > 0) return;
    this.#ended = undefined;
    this.#socket.end(() => {
      if (!this.#socket.destroyed) ended();
    });
  }

  /** Makes a write. Returns its bytes. */
  #batch(): number {
    const slab = this.#slab;
    slab.begin();
    if (this.#controlBytes > 0) {
      slab.bytes(this.#control, 0, this.#controlBytes);
      this.#control = nothing;
      this.#controlBytes = 0;
    }
    const controlBytes = slab.size;
    const done = this.#sendStreams(slab);
    const { size } = slab;
    this.answerBytes += size - controlBytes;
    if (size > 0) this.#write(slab.take());
    for (const stream of done) {
      if (stream.closed) continue;
      if (stream.sent) this.#events.sent(stream);
      else stream.afterSend();
    }
    return size;
  }

  /** Writes frames of streams. Returns those that have nothing more to send now. */
  #sendStreams(slab: Slab): readonly Stream[] {
    const ready = this.#ready;
    const done: Stream[] = [];
    // How many streams at the queue's end wait for the connection's window.
    let blocked = 0;
    while (ready.length > blocked && slab.size < batchBytes) {
      const stream = ready.shift();
      if (stream === undefined) break;
      const went = stream.send(slab, this.frameBytes, this.#window);
      blocked = went === progress.blocked ? blocked + 1 : 0;
      if (went === progress.done) {
        stream.listed = false;
        done.push(stream);
      } else ready.push(stream);
    }
    return done;
  }

  #write(parts: readonly Buffer[]): void {
    const socket = this.#socket;
    const data = this.#dataBytes;
    this.#dataBytes = 0;
    const left = (): void => {
      this.#movedAt = performance.now();
      if (data > 0) this.#events.left(data);
      // Not at 'drain': the process may set a high-water mark so large that the socket never asks to wait for it.
      if (this.#full && socket.writableLength < batchBytes) this.flush();
    };
    const last = parts.length - 1;
    if (last > 0) socket.cork();
    for (const [i, part] of parts.entries()) socket.write(part, i === last ? left : undefined);
    if (last > 0) socket.uncork();
    // What has left already needs its memory no more.
    if (socket.writableLength === 0) this.#slab.reuse();
  }
}
