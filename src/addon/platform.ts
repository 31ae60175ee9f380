/** The platform that this process runs on, named as in the names of the binary packages. */

import { elfHeaders } from './elf.js';

let musl: boolean | undefined;

/** Whether this process uses musl instead of glibc, according to the dynamic linker that its program names. */
function isMusl(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    musl ??= elfHeaders(process.execPath)?.interpreter?.includes('ld-musl') ?? false;
  } catch {
    musl = false; // The program's file cannot be read; most use glibc.
  }
  return musl;
}

/** Platform and architecture, and the C library if it is musl: `linux-x64`, `linux-x64-musl`. */
export function target(): string {
  return `${process.platform}-${process.arch}${isMusl() ? '-musl' : ''}`;
}

/** The platform with versions, for messages: `linux-x64 (glibc 2.36), Node 20.20.2`. */
export function describePlatform(): string {
  const place = `${process.platform}-${process.arch}`;
  return `${place}${process.platform === 'linux' ? ` (${libc()})` : ''}, ${runtime()}`;
}

function runtime(): string {
  const { bun, deno, electron, node } = process.versions;
  if (bun !== undefined) return `Bun ${bun}`;
  if (deno !== undefined) return `Deno ${deno}`;
  return electron === undefined ? `Node ${node}` : `Electron ${electron} (Node ${node})`;
}

/** The C library with its version. Making a report is slow, so this is for messages only. */
function libc(): string {
  if (isMusl()) return 'musl';
  try {
    // Node's type says only that the report is an object.
    const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
    return `glibc ${report.header?.glibcVersionRuntime ?? 'of unknown version'}`;
  } catch {
    return 'glibc of unknown version';
  }
}
