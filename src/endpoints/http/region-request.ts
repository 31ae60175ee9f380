/** Reads the bodies of calls that register shared memory. */

import { invalidArgument } from '../../errors.js';
import type { CudaRegionOptions } from '../../server/memory/cuda-memory.js';
import type { RegionOptions } from '../../server/memory/shared-memory.js';
import { JsonText, member, readCount, readObject, readString, type JsonObject } from './json.js';

function needed(root: JsonObject, name: string): unknown {
  const value = member(root, name);
  if (value !== undefined) return value;
  throw invalidArgument(`Shared memory register request has no '${name}' field`);
}

function rootOf(body: Buffer): JsonObject {
  return readObject('request', new JsonText(body).parse());
}

/**
 * Reads `{ key, offset?, byte_size }`.
 *
 * @throws {@link TritonError} INVALID_ARG for a body that is not such JSON.
 */
export function readSystemRegion(body: Buffer): RegionOptions {
  const root = rootOf(body);
  const key = readString('key', needed(root, 'key'));
  const offset = member(root, 'offset');
  const byteSize = readCount('byte_size', needed(root, 'byte_size'));
  return { key, offset: offset === undefined ? 0 : readCount('offset', offset), byteSize };
}

/**
 * Reads `{ raw_handle: { b64 }, device_id, byte_size }`.
 *
 * @throws {@link TritonError} INVALID_ARG for a body that is not such JSON.
 */
export function readCudaRegion(body: Buffer): CudaRegionOptions {
  const root = rootOf(body);
  const given = readObject('raw_handle', needed(root, 'raw_handle'));
  const handle = Buffer.from(readString('raw_handle.b64', needed(given, 'b64')), 'base64');
  const deviceId = readCount('device_id', needed(root, 'device_id'));
  return { handle, deviceId, byteSize: readCount('byte_size', needed(root, 'byte_size')) };
}
