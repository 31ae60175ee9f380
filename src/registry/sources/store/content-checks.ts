/** Compares content with checksums of stores. They guard against damage, not against an attacker. */

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ContentCheck } from './object-store.js';

/** The algorithms of checksums that are computed here. */
export type ChecksumAlgorithm = 'md5' | 'sha1' | 'sha256' | 'crc32' | 'crc32c';

/** A checksum that is being computed. */
interface Digest {
  update(bytes: Uint8Array): void;
  /** The bytes of the checksum; of a CRC the highest byte first. Called once. */
  end(): Buffer;
}

/** The polynomial of CRC32C (Castagnoli), its lowest bit first. */
const castagnoli = 0x82f63b78;
let crc32cTable: Int32Array | undefined;

function crc32c(bytes: Uint8Array, before: number): number {
  crc32cTable ??= Int32Array.from({ length: 256 }, (_, byte) => {
    let rest = byte;
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ castagnoli : rest >>> 1;
    return rest;
  });
  const table = crc32cTable;
  let crc = ~before;
  for (const byte of bytes) crc = (table[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

function digestOf(algorithm: ChecksumAlgorithm): Digest {
  if (algorithm !== 'crc32' && algorithm !== 'crc32c') {
    const hash = createHash(algorithm);
    return { update: (bytes) => void hash.update(bytes), end: () => hash.digest() };
  }
  const next = algorithm === 'crc32' ? crc32 : crc32c;
  let crc = 0;
  return {
    update: (bytes) => {
      crc = next(bytes, crc);
    },
    end: () => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(crc);
      return bytes;
    },
  };
}

/**
 * Compares with the checksum of an object.
 *
 * @param wanted - The checksum, in base64.
 */
export function contentCheck(algorithm: ChecksumAlgorithm, wanted: string): ContentCheck {
  const digest = digestOf(algorithm);
  return {
    update: (bytes) => {
      digest.update(bytes);
    },
    matches: () => digest.end().toString('base64') === wanted,
  };
}

/**
 * Compares with the checksum of the checksums of an object's parts, which is what a store has of an object that was uploaded
 * in parts.
 *
 * @param wanted - The checksum, in base64.
 * @param sizes - Those of the parts, in their order, in bytes. Their sum is the size of the object.
 */
export function partsCheck(
  algorithm: ChecksumAlgorithm,
  wanted: string,
  sizes: readonly number[],
): ContentCheck {
  const whole = digestOf(algorithm);
  let part = digestOf(algorithm);
  let index = 0;
  let left = sizes[0] ?? 0;
  let isTooLong = false;
  const endParts = (): void => {
    while (left === 0 && index < sizes.length) {
      whole.update(part.end());
      part = digestOf(algorithm);
      left = sizes[++index] ?? 0;
    }
  };
  return {
    update: (bytes) => {
      for (let at = 0; at < bytes.length;) {
        endParts();
        if (index === sizes.length) {
          isTooLong = true;
          return;
        }
        const end = Math.min(bytes.length, at + left);
        part.update(bytes.subarray(at, end));
        left -= end - at;
        at = end;
      }
    },
    matches: () => {
      endParts();
      return !isTooLong && index === sizes.length && whole.end().toString('base64') === wanted;
    },
  };
}
