/** Reads the headers of ELF files (Linux). Nothing else of such a file is read before it is loaded. */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** The part of a file's ELF headers that is needed here. */
export interface ElfHeaders {
  /** The minimum size of the file that its tables and mapped segments imply. */
  readonly bytes: number;
  /**
   * The path of the dynamic linker that loads the program, such as `/lib64/ld-linux-x86-64.so.2`; undefined for
   * libraries.
   */
  readonly interpreter: string | undefined;
}

const loadSegment = 1;
const interpreterSegment = 3;

/**
 * Reads the headers of a 64-bit little-endian ELF file; undefined if the file has another format or ends within
 * the headers.
 */
export function elfHeaders(file: string): ElfHeaders | undefined {
  const descriptor = openSync(file, 'r');
  try {
    const read = (offset: number, length: number): Buffer | undefined => {
      const bytes = Buffer.alloc(length);
      return readSync(descriptor, bytes, 0, length, offset) === length ? bytes : undefined;
    };
    const header = read(0, 64);
    // Class 2 means 64 bits, and data 1 means little-endian.
    if (header?.readUInt32BE(0) !== 0x7f454c46 || header[4] !== 2 || header[5] !== 1) return undefined;
    const [programs, sections] = [Number(header.readBigUInt64LE(32)), Number(header.readBigUInt64LE(40))];
    const [programSize, programCount] = [header.readUInt16LE(54), header.readUInt16LE(56)];
    const table = read(programs, programSize * programCount);
    if (!table) return undefined;
    let bytes = sections + header.readUInt16LE(58) * header.readUInt16LE(60);
    let interpreter: string | undefined;
    for (let at = 0; at < table.length; at += programSize) {
      const type = table.readUInt32LE(at);
      const [offset, size] = [Number(table.readBigUInt64LE(at + 8)), Number(table.readBigUInt64LE(at + 32))];
      if (type === loadSegment) bytes = Math.max(bytes, offset + size);
      if (type === interpreterSegment && size < 4096)
        interpreter = read(offset, size)?.toString('latin1').replace(/\0.*$/s, '');
    }
    return { bytes, interpreter };
  } finally {
    closeSync(descriptor);
  }
}

/** Whether a file is shorter than its ELF headers say. Loading such a file ends the process with SIGBUS. */
export function isCutOff(file: string): boolean {
  const headers = elfHeaders(file);
  if (!headers) return false;
  const descriptor = openSync(file, 'r');
  try {
    return fstatSync(descriptor).size < headers.bytes;
  } finally {
    closeSync(descriptor);
  }
}
