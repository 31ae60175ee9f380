/** Settings: https://www.rfc-editor.org/rfc/rfc9113#section-6.5 */

import { ConnectionError, errorCode } from './errors.js';

/** Identifiers of settings. */
export const settingId = {
  tableBytes: 1,
  push: 2,
  concurrentStreams: 3,
  initialWindow: 4,
  frameBytes: 5,
  headerListBytes: 6,
} as const;

/** The flow-control window of a connection and of each stream, unless settings say otherwise. */
export const defaultWindow = 65_535;
/** The most bytes of a window. */
export const mostWindow: number = 2 ** 31 - 1;
/** The most bytes of a frame, unless settings say otherwise; and of all frames. */
export const defaultFrameBytes = 16_384;
const mostFrameBytes = 2 ** 24 - 1;

/** Settings of a peer that matter to a server; undefined: not changed. */
export interface PeerSettings {
  tableBytes: number | undefined;
  initialWindow: number | undefined;
  frameBytes: number | undefined;
}

/**
 * Reads the payload of a SETTINGS frame. If it has a setting several times, the last one counts.
 *
 * @throws {@link ConnectionError} For a size or value that is not valid.
 */
export function readSettings(payload: Buffer): PeerSettings {
  if (payload.length % 6 !== 0)
    throw new ConnectionError(
      errorCode.frameSize,
      `settings have ${payload.length} bytes, not a multiple of 6`,
    );
  const settings: PeerSettings = { tableBytes: undefined, initialWindow: undefined, frameBytes: undefined };
  for (let at = 0; at < payload.length; at += 6) {
    const id = payload.readUInt16BE(at);
    const value = payload.readUInt32BE(at + 2);
    if (id === settingId.tableBytes) {
      // A peer may want a small table and then a large one; what matters is the smallest.
      settings.tableBytes = Math.min(settings.tableBytes ?? value, value);
    } else if (id === settingId.push) {
      if (value > 1)
        throw new ConnectionError(
          errorCode.protocol,
          `expected 0 or 1 for ENABLE_PUSH but received ${value}`,
        );
    } else if (id === settingId.initialWindow) {
      if (value > mostWindow)
        throw new ConnectionError(errorCode.flowControl, `an initial window of ${value} bytes is too large`);
      settings.initialWindow = value;
    } else if (id === settingId.frameBytes) {
      if (value < defaultFrameBytes || value > mostFrameBytes)
        throw new ConnectionError(errorCode.protocol, `MAX_FRAME_SIZE of ${value} bytes is out of range`);
      settings.frameBytes = value;
    }
  }
  return settings;
}

/** Writes the payload of a SETTINGS frame. */
export function writeSettings(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * settings.length);
  for (const [i, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, 6 * i);
    payload.writeUInt32BE(value, 6 * i + 2);
  }
  return payload;
}
