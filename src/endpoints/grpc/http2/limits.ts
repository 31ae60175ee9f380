/** Limits of connections, and what all connections of an endpoint share. */

import { frameOf, frameType } from '../../../protocol/http2/frames.js';
import { defaultWindow, settingId, writeSettings } from '../../../protocol/http2/settings.js';
import { Slab } from './slab.js';
import { streamWindow } from './stream.js';

/** The flow-control window of a connection, for all its streams together. */
export const connectionWindow: number = 8 << 20;
/** The most bytes of a frame from a client. */
export const frameBytes: number = 256 << 10;
/** The most bytes of a call's headers. */
export const headerBytes: number = 16 << 10;

/**
 * How long a connection that ends is read after its client's last bytes if answers may be under way. The system drops these
 * when a client sends something to a connection that is closed already.
 */
const answersMs = 10_000;

/** Counts the bytes of answers, and those that paused calls keep. */
export interface ByteCount {
  /** Counts bytes of requests. Throws if they are too many. */
  take(bytes: number): void;
  add(bytes: number): void;
  release(bytes: number): void;
}

/** What all connections of an endpoint share. */
export interface SessionShared {
  readonly slab: Slab;
  readonly maxConcurrentStreams: number;
  /** The bytes of answers that were not sent, and of requests that wait in paused calls. */
  readonly budget: ByteCount;
  /** The frames with which every connection begins. */
  readonly opening: Buffer;
  /** How long a client whose connection ends may read its last answers without sending anything. */
  readonly answersMs: number;
}

/**
 * Makes what all connections of an endpoint share.
 *
 * @param requestTimeoutMs - How long an answer may take to be read.
 */
export function shareSessions(
  maxConcurrentStreams: number,
  budget: ByteCount,
  requestTimeoutMs: number,
): SessionShared {
  const settings = writeSettings([
    [settingId.concurrentStreams, maxConcurrentStreams],
    [settingId.initialWindow, streamWindow],
    [settingId.frameBytes, frameBytes],
    [settingId.headerListBytes, headerBytes],
  ]);
  const opening = Buffer.concat([
    frameOf(frameType.settings, 0, 0, settings),
    frameOf(frameType.windowUpdate, 0, 0, numberOf(connectionWindow - defaultWindow)),
  ]);
  return {
    slab: new Slab(),
    maxConcurrentStreams,
    budget,
    opening,
    answersMs: Math.min(answersMs, requestTimeoutMs),
  };
}

/** The bytes of a 32-bit number. */
export function numberOf(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
