/** Checks that the addon's file is complete. Loading a damaged file ends the process with SIGBUS or SIGSEGV. */

import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { packageVersion } from '../version.js';
import { isCutOff } from './elf.js';

/** The content of `tritonts.node.json`, which is published beside each binary. */
interface BinaryManifest {
  /** Version of the package that the binary belongs to. */
  readonly version: string;
  /** Size of the file. */
  readonly bytes: number;
  /** SHA-256 of the file, in hexadecimal digits. */
  readonly sha256: string;
}

/** What is wrong with the addon's file, for messages; undefined if the file is sound. */
export function faultOf(file: string): string | undefined {
  if (isCutOff(file)) return 'is damaged: it is cut off';
  const manifest = `${file}.json`;
  // A local build has no manifest.
  if (!existsSync(manifest)) return undefined;
  // Written by scripts/package/binary.mjs.
  const expected = JSON.parse(readFileSync(manifest, 'utf8')) as BinaryManifest;
  if (expected.version !== packageVersion)
    return `belongs to version ${expected.version} of tritonts, and this is ${packageVersion}`;
  const { bytes, sha256 } = digestOf(file);
  if (bytes !== expected.bytes) return `is damaged: it has ${bytes} bytes and should have ${expected.bytes}`;
  return sha256 === expected.sha256
    ? undefined
    : `is damaged: its SHA-256 is ${sha256} and should be ${expected.sha256}`;
}

/** The size and the SHA-256 of a file. Memory for the whole file would take longer than the digest: its pages are new. */
function digestOf(file: string): Pick<BinaryManifest, 'bytes' | 'sha256'> {
  const descriptor = openSync(file, 'r');
  try {
    const hash = createHash('sha256');
    const part = new Uint8Array(1 << 16);
    let bytes = 0;
    for (let length = 1; length > 0; bytes += length) {
      length = readSync(descriptor, part);
      hash.update(part.subarray(0, length));
    }
    return { bytes, sha256: hash.digest('hex') };
  } finally {
    closeSync(descriptor);
  }
}
