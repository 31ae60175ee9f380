/** Paths in an archive of Electron (`app.asar`), for what does not read archives: the system's loader, other programs. */

import { existsSync } from 'node:fs';
import { unavailable } from '../errors.js';

/**
 * The real path of a file. Electron shows files outside of an `app.asar` as if they were inside. Node can read
 * them there, but the system's library loader and other programs cannot.
 */
export function outsideOfArchive(file: string): string {
  const outside = unpackedPath(file);
  return outside !== file && existsSync(outside) ? outside : file;
}

/**
 * The real path of a file that another program opens.
 *
 * @param what - What the file is needed for, for the message.
 * @param pattern - What an app has to unpack.
 * @param inElectron - Whether Node reads archives; without, a path like that of an archive is one of a folder.
 * @throws {@link TritonError} UNAVAILABLE if the file is only in the archive.
 */
export function fileOutsideOfArchive(
  file: string,
  what: string,
  pattern: string,
  inElectron: boolean = process.versions['electron'] !== undefined,
): string {
  const outside = outsideOfArchive(file);
  if (outside !== file || !inElectron || unpackedPath(file) === file) return outside;
  throw unavailable(
    'MISSING',
    `'${file}', ${what}, is in an archive, which no other program can read: have it unpacked, with ` +
      `asarUnpack: ${pattern} (electron-builder) or asar.unpackDir (@electron/packager, Electron Forge); docs/electron.md`,
  );
}

function unpackedPath(file: string): string {
  return file.replace(/\.asar(?=[\\/])/, '.asar.unpacked');
}
