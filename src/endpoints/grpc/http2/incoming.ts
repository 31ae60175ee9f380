/** Reads what a client sends: its preface and its frames, which it checks by themselves. */

import { ConnectionError, errorCode } from '../../../protocol/http2/errors.js';
import {
  clientMagic,
  frameFlag,
  FrameReader,
  frameType,
  type FrameSink,
} from '../../../protocol/http2/frames.js';
import { HeaderBlocks } from './header-blocks.js';
import { frameBytes } from './limits.js';
import type { Stream } from './stream.js';

/** Takes valid frames. Each may throw a {@link ConnectionError}. */
export interface IncomingEvents {
  /** Takes a frame with data before its payload. Returns the stream that takes the payload, if there is one. */
  onData(id: number, length: number): Stream | undefined;
  /** Takes a header block, which must be decoded. */
  onHeaders(id: number, endsStream: boolean, block: Buffer): void;
  onReset(id: number, code: number): void;
  onSettings(payload: Buffer): void;
  onPing(payload: Buffer): void;
  onPong(payload: Buffer): void;
  onGoAway(): void;
  onWindow(id: number, bytes: number): void;
  /** Counts a frame that means nothing. */
  odd(): void;
}

/** The size of frames that have only one; and whether a frame is of a stream, or of the connection. */
const sizes: Readonly<Record<number, number>> = {
  [frameType.priority]: 5,
  [frameType.resetStream]: 4,
  [frameType.ping]: 8,
  [frameType.windowUpdate]: 4,
};
const ofStreams: Readonly<Record<number, boolean>> = {
  [frameType.data]: true,
  [frameType.headers]: true,
  [frameType.priority]: true,
  [frameType.resetStream]: true,
  [frameType.settings]: false,
  [frameType.ping]: false,
  [frameType.goAway]: false,
  [frameType.continuation]: true,
};
/** The most bytes of a SETTINGS frame. Each setting has six. */
const mostSettingsBytes = 1024;

function broken(message: string, code: number = errorCode.protocol): ConnectionError {
  return new ConnectionError(code, message);
}

/** See the head of this file. */
export class Incoming implements FrameSink {
  readonly blocks: HeaderBlocks = new HeaderBlocks();
  readonly #events: IncomingEvents;
  readonly #reader: FrameReader = new FrameReader(this);
  /** Bytes of the preface that have arrived. */
  #greeted = 0;
  #hasSettings = false;
  // The frame that arrives.
  #type = 0;
  #flags = 0;
  #id = 0;
  #length = 0;
  // Of a frame with data: its stream, its bytes without padding, and whether their number is known.
  #stream: Stream | undefined;
  #left = 0;
  #isPadded = false;

  constructor(events: IncomingEvents) {
    this.#events = events;
  }

  /** Ignores all further bytes. */
  stop(): void {
    this.#reader.stop();
  }

  /**
   * Takes bytes.
   *
   * @throws {@link ConnectionError} If they break a rule that ends the connection.
   */
  push(chunk: Buffer): void {
    if (this.#greeted === clientMagic.length) {
      this.#reader.push(chunk);
      return;
    }
    const size = Math.min(chunk.length, clientMagic.length - this.#greeted);
    if (clientMagic.compare(chunk, 0, size, this.#greeted, this.#greeted + size) !== 0)
      throw broken('this port speaks HTTP/2 only');
    this.#greeted += size;
    if (chunk.length > size) this.#reader.push(chunk.subarray(size));
  }

  begin(length: number, type: number, flags: number, id: number): boolean {
    this.#type = type;
    this.#flags = flags;
    this.#id = id;
    this.#length = length;
    this.#check();
    if (type === frameType.data) {
      this.#beginData();
      return false;
    }
    if (type === frameType.goAway) return false;
    if (ofStreams[type] !== undefined || type === frameType.windowUpdate) return true;
    this.#events.odd();
    return false;
  }

  /** Checks a frame by its header. */
  #check(): void {
    const { blocks } = this;
    const type = this.#type;
    const id = this.#id;
    const length = this.#length;
    if (length > frameBytes) throw broken(`a frame of ${length} bytes is too large`, errorCode.frameSize);
    if (!this.#hasSettings && (type !== frameType.settings || this.#isFlagged(frameFlag.ack)))
      throw broken('the first frame is not SETTINGS');
    this.#hasSettings = true;
    if (blocks.stream !== 0 && (type !== frameType.continuation || id !== blocks.stream))
      throw broken('another frame comes inside a header block');
    if (ofStreams[type] !== undefined && ofStreams[type] !== (id !== 0))
      throw broken(`a frame of type ${type} has the stream ${id}`);
    if (sizes[type] !== undefined && sizes[type] !== length)
      throw broken(`a frame of type ${type} has ${length} bytes`, errorCode.frameSize);
    if (type === frameType.headers || type === frameType.continuation) blocks.check(length);
    if (type === frameType.continuation && blocks.stream === 0)
      throw broken('a header block goes on that did not begin');
    if (type === frameType.pushPromise) throw broken('a client cannot promise streams');
    if (type === frameType.goAway && length < 8)
      throw broken(`a GOAWAY frame has ${length} bytes`, errorCode.frameSize);
    if (type === frameType.settings) this.#checkSettings();
  }

  #checkSettings(): void {
    if (this.#isFlagged(frameFlag.ack) && this.#length > 0)
      throw broken('an answer to settings has a payload', errorCode.frameSize);
    if (this.#length > mostSettingsBytes)
      throw broken(`settings have ${this.#length} bytes`, errorCode.enhanceYourCalm);
  }

  #isFlagged(flag: number): boolean {
    return (this.#flags & flag) !== 0;
  }

  payload(bytes: Buffer): void {
    const events = this.#events;
    switch (this.#type) {
      case frameType.data:
        this.#data(bytes);
        break;
      case frameType.headers:
        this.#headers(bytes);
        break;
      case frameType.continuation:
        this.#continue(bytes);
        break;
      case frameType.priority:
        this.#checkPriority(bytes, 0);
        events.odd();
        break;
      case frameType.resetStream:
        events.onReset(this.#id, bytes.readUInt32BE(0));
        break;
      case frameType.settings:
        if (!this.#isFlagged(frameFlag.ack)) events.onSettings(bytes);
        else events.odd();
        break;
      case frameType.ping:
        if (this.#isFlagged(frameFlag.ack)) events.onPong(bytes);
        else events.onPing(bytes);
        break;
      case frameType.windowUpdate:
        events.onWindow(this.#id, bytes.readUInt32BE(0) & 0x7fffffff);
        break;
    }
  }

  end(): void {
    if (this.#type === frameType.goAway) this.#events.onGoAway();
    if (this.#type !== frameType.data) return;
    const stream = this.#stream;
    this.#stream = undefined;
    if (this.#isFlagged(frameFlag.endStream)) stream?.receiveEnd();
  }

  #beginData(): void {
    this.#isPadded = this.#isFlagged(frameFlag.padded);
    if (this.#isPadded && this.#length === 0)
      throw broken('a frame with padding is empty', errorCode.frameSize);
    this.#left = this.#length;
    this.#stream = this.#events.onData(this.#id, this.#length);
    if (this.#length === 0 && !this.#isFlagged(frameFlag.endStream)) this.#events.odd();
  }

  #data(bytes: Buffer): void {
    let from = 0;
    if (this.#isPadded) {
      this.#isPadded = false;
      from = 1;
      const padding = 1 + (bytes[0] ?? 0);
      this.#left = this.#length - padding;
      if (this.#left < 0) throw broken('padding is larger than its frame');
      this.#stream?.release(padding);
      if (this.#left === 0 && !this.#isFlagged(frameFlag.endStream)) this.#events.odd();
    }
    const end = Math.min(bytes.length, from + this.#left);
    if (end === from) return;
    this.#left -= end - from;
    this.#stream?.receive(bytes.subarray(from, end));
  }

  #headers(bytes: Buffer): void {
    let from = 0;
    let end = bytes.length;
    if (this.#isFlagged(frameFlag.padded)) {
      end -= bytes[0] ?? 0;
      from = 1;
    }
    if (this.#isFlagged(frameFlag.priority)) {
      if (from + 5 <= end) this.#checkPriority(bytes, from);
      from += 5;
    }
    if (from > end) throw broken('a HEADERS frame is too short for its padding and priority');
    const block = bytes.subarray(from, end);
    const endsStream = this.#isFlagged(frameFlag.endStream);
    if (this.#isFlagged(frameFlag.endHeaders)) this.#events.onHeaders(this.#id, endsStream, block);
    else this.blocks.begin(this.#id, endsStream, block);
  }

  #continue(bytes: Buffer): void {
    const { blocks } = this;
    blocks.add(bytes);
    if (!this.#isFlagged(frameFlag.endHeaders)) return;
    const { endsStream } = blocks;
    this.#events.onHeaders(this.#id, endsStream, blocks.end());
  }

  /** Priorities are obsolete, and ignored. */
  #checkPriority(bytes: Buffer, at: number): void {
    if ((bytes.readUInt32BE(at) & 0x7fffffff) === this.#id)
      throw broken(`the stream ${this.#id} depends on itself`);
  }
}
