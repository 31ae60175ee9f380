/** Compares content with checksums of stores. They guard against damage, not against an attacker. */

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ContentCheck } from './object-store.js';

/** @param wanted - The digest, in base64. */
export function hashCheck(algorithm: 'md5' | 'sha1' | 'sha256', wanted: string): ContentCheck {
  const hash = createHash(algorithm);
  return {
    update: (bytes) => void hash.update(bytes),
    matches: () => hash.digest('base64') === wanted,
  };
}

/** The one that all stores know. */
export function md5Check(wanted: string): ContentCheck {
  return hashCheck('md5', wanted);
}

/** @param wanted - The four bytes of the CRC, the highest first, in base64. */
export function crc32Check(wanted: string): ContentCheck {
  let crc = 0;
  return {
    update: (bytes) => {
      crc = crc32(bytes, crc);
    },
    matches: () => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(crc);
      return bytes.toString('base64') === wanted;
    },
  };
}
