/**
 * Files of stores on this machine, which servers and restarts share.
 *
 * ```text
 * files/<digest>           a whole file, by the SHA-256 digest of its content: objects of equal content share it
 * names/<name>             the digest of an object; the name stands for its place in the store and its etag or generation
 * processes/<process>/     what a process downloads, and the folders of its loads: their files are links to those above
 * ```
 *
 * A file gets its name when all of it is there and was compared with its checksum. A link keeps a file that was evicted, so
 * nothing has to be locked: who evicts sees the links, and who links sees that the file is gone, and fetches it again.
 */

import { constants } from 'node:fs';
import {
  copyFile,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  unlink,
  utimes,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TritonError, unavailable } from '../../../errors.js';
import { printableLine } from '../../../printable.js';
import { thrownText } from '../../../thrown-text.js';
import { makePlace, type CachePlace } from './cache-place.js';
import { ProcessLease, removeDeadLeases } from '../../files/process-lease.js';
import { follow, orAborted, sharedController } from '../../../signals.js';

/** A file that a folder is to have. */
export interface WantedFile {
  /** In the folder, with `/` as separator. */
  readonly path: string;
  /** Hexadecimal digits that stand for its place in the store, and for its etag or generation. */
  readonly name: string;
  readonly size: number;
  /**
   * Writes its content, until the signal is aborted, and returns the content's SHA-256 digest in hexadecimal digits. Called only if
   * the cache lacks it.
   */
  readonly fetch: (file: FileHandle, signal: AbortSignal) => Promise<string>;
}

/** A folder with links to files. */
export interface LinkedFolder {
  readonly directory: string;
  readonly release: () => Promise<void>;
}

/**
 * The time of the last change that whole files have. One that was written to through a link has another, and is fetched again.
 * The time of the last access tells when a load used the file.
 */
const untouched = new Date('2000-01-01T00:00:00Z');

/** A SHA-256 digest. */
const digestForm = /^[\da-f]{64}$/;

/** How many files are fetched at once for a folder. */
const fetchedAtOnce = 8;

/** Errors of systems that have no links between files, or no more of them for this file. */
const noLinks: ReadonlySet<string> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
  'EXDEV',
  'EACCES',
]);

/** Errors of a disk that has no room left, at all or for this user. */
const fullDisk: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** The open folders of this process. */
const folders = new Map<string, CacheFolder>();

/** See the head of this file. */
export class CacheFolder {
  readonly directory: string;
  readonly #place: CachePlace;
  /** What all files together may have, in bytes. */
  readonly #most: number;
  #lease: Promise<ProcessLease> | undefined;
  #folders = 0;
  #count = 0;
  /** Downloads under way, by name. */
  readonly #fetches: Map<string, Promise<string>> = new Map();
  #evicting: Promise<void> = Promise.resolve();
  /** How often files were evicted because the disk was full. */
  #evictedForDisk = 0;
  /** The log of the server that used it last. */
  #warn: (text: string) => void;
  /** The folders that could not be removed, of which the log was told. */
  readonly #stuck: Set<string> = new Set();
  /** Whether the files of others before this process have been counted. */
  #isCounted = false;

  private constructor(place: CachePlace, most: number, warn: (text: string) => void) {
    this.directory = place.directory;
    this.#place = place;
    this.#most = most;
    this.#warn = warn;
  }

  /**
   * The cache in a place. Nothing is made before it is used. Servers of a process with the same limit share it.
   *
   * @param warn - Is told of what cannot be removed. The last one counts.
   */
  static at(place: CachePlace, most: number, warn: (text: string) => void): CacheFolder {
    const key = `${most} ${place.directory}`;
    const known = folders.get(key) ?? new CacheFolder(place, most, warn);
    known.#warn = warn;
    folders.set(key, known);
    return known;
  }

  /** The files that are not here, so that they would have to be fetched. */
  async missing<T extends WantedFile>(files: readonly T[]): Promise<T[]> {
    const missing: T[] = [];
    await eachOf(files, async (file) => {
      if ((await this.#find(file)) === undefined) missing.push(file);
    });
    return missing;
  }

  /**
   * Makes a folder with files. Those that are missing are fetched, several at once. A full disk is told of only when it has no
   * file that no load needs.
   *
   * After the first failure no other file is waited for.
   *
   * @param folders - Folders in it that there are in any case.
   * @throws {@link TritonError} UNAVAILABLE (`SYSTEM_REFUSED`) if the cache cannot be written, INVALID_ARG if it is somebody
   *   else's; what `fetch` throws; the signal's reason. Nothing that was made is left then.
   */
  async folderOf(
    files: readonly WantedFile[],
    signal: AbortSignal,
    folders: readonly string[] = [],
  ): Promise<LinkedFolder> {
    this.#folders++;
    let directory: string | undefined;
    const release = async (): Promise<void> => {
      if (directory !== undefined) {
        await rm(directory, { recursive: true, force: true }).catch(this.#stays(directory));
        // The limit may not have held its files.
        await this.#makeRoom(0).catch(() => undefined);
      }
      if (--this.#folders === 0) await this.#endLease();
    };
    try {
      const { folder } = await this.#withRoom(() => this.#begin());
      const made = join(folder, String(++this.#count));
      directory = made;
      const parents = new Set([...folders, ...files.map(({ path }) => dirname(path))]);
      await this.#withRoom(async () => {
        // Somebody may have tidied up.
        await mkdir(made, { recursive: true });
        for (const shared of ['files', 'names'])
          await mkdir(join(this.directory, shared), { recursive: true, mode: 0o700 });
        for (const parent of parents) await mkdir(join(made, parent), { recursive: true });
      });
      // First, so that the room for the others is not made of these.
      const missing: WantedFile[] = [];
      await eachOf(files, async (file) => {
        signal.throwIfAborted();
        if (!(await this.#linkPresent(file, join(made, file.path)))) missing.push(file);
      });
      if (missing.length > 0) await this.#makeRoom(missing.reduce((sum, { size }) => sum + size, 0));
      const own = sharedController();
      const letGo = follow(own, signal);
      try {
        await eachOf(missing, async (file) => {
          try {
            own.signal.throwIfAborted();
            await this.#withRoom(() => this.#put(file, join(made, file.path), folder, own.signal));
          } catch (error) {
            own.abort(error);
            throw error;
          }
        });
      } finally {
        letGo();
      }
      if (!this.#isCounted) {
        this.#isCounted = true;
        await this.#makeRoom(0);
      }
      return { directory: made, release };
    } catch (error) {
      await release();
      throw this.#errorOf(error);
    }
  }

  #fileOf(digest: string): string {
    return join(this.directory, 'files', digest);
  }

  #nameOf(name: string): string {
    return join(this.directory, 'names', name);
  }

  /** The digest of a file that is here; undefined if it is not. */
  async #find({ name, size }: WantedFile): Promise<string | undefined> {
    const digest = await this.#digestOf(name);
    return digest !== undefined && (await this.#isWhole(digest, size)) ? digest : undefined;
  }

  /** The digest that a name stands for; undefined if it is not known, or was not written to its end. */
  async #digestOf(name: string): Promise<string | undefined> {
    const digest = await readName(this.#nameOf(name)).catch(() => '');
    return digestForm.test(digest) ? digest : undefined;
  }

  async #isWhole(digest: string, size: number): Promise<boolean> {
    try {
      const found = await lstat(this.#fileOf(digest));
      return found.isFile() && found.size === size && found.mtimeMs === untouched.getTime();
    } catch {
      return false;
    }
  }

  /** Links a file that is here. Returns whether it is. */
  async #linkPresent(file: WantedFile, target: string): Promise<boolean> {
    const digest = await this.#find(file);
    if (digest === undefined) return false;
    try {
      await this.#withRoom(() => this.#linkTo(digest, target));
      return true;
    } catch (error) {
      // Another process has evicted it meanwhile.
      if (codeOf(error) === 'ENOENT') return false;
      throw error;
    }
  }

  /** Calls a function, and once more if the disk was full, and had files that no load needs. */
  async #withRoom<T>(task: () => Promise<T>): Promise<T> {
    const before = this.#evictedForDisk;
    try {
      return await task();
    } catch (error) {
      if (!fullDisk.has(codeOf(error))) throw error;
      const evicting = this.#evicting.then(async () => {
        if (await this.#evict(-Infinity)) this.#evictedForDisk++;
      });
      this.#evicting = evicting.catch(() => undefined);
      await this.#evicting;
      // Another file of this time may have made the room.
      if (this.#evictedForDisk === before) throw error;
      return await task();
    }
  }

  async #put(file: WantedFile, target: string, own: string, signal: AbortSignal): Promise<void> {
    // Another process may evict it between two of these calls, but not again and again.
    for (let tries = 0; ; tries++) {
      const digest = (await this.#find(file)) ?? (await this.#fetchOnce(file, own, signal));
      try {
        await this.#linkTo(digest, target);
        return;
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || tries === 3) throw error;
      }
    }
  }

  async #linkTo(digest: string, target: string): Promise<void> {
    const from = this.#fileOf(digest);
    // Another user's file keeps its time, and is evicted a little too early.
    await utimes(from, new Date(), untouched).catch(() => undefined);
    try {
      await link(from, target);
    } catch (error) {
      if (!noLinks.has(codeOf(error))) throw error;
      try {
        await copyFile(from, target, constants.COPYFILE_FICLONE);
      } catch (fault) {
        // A part of it would be in the way of the next try.
        await rm(target, { force: true });
        throw fault;
      }
    }
  }

  /** Loads of this process that need a file at the same time share its download. */
  async #fetchOnce(file: WantedFile, own: string, signal: AbortSignal): Promise<string> {
    for (;;) {
      signal.throwIfAborted();
      const known = this.#fetches.get(file.name);
      if (!known) break;
      // The other one may have been cancelled.
      const digest = await orAborted(known, signal).catch(() => undefined);
      if (digest !== undefined) return digest;
    }
    const fetching = this.#fetch(file, own, signal).finally(() => {
      this.#fetches.delete(file.name);
    });
    this.#fetches.set(file.name, fetching);
    return await fetching;
  }

  async #fetch({ name, size, fetch }: WantedFile, own: string, signal: AbortSignal): Promise<string> {
    const part = join(own, `${name}.part`);
    let digest: string;
    try {
      const file = await open(part, 'wx', 0o444);
      try {
        digest = await fetch(file, signal);
        // The name must not come to the disk before the content.
        await file.sync();
        await file.utimes(new Date(), untouched);
      } finally {
        await file.close();
      }
      const { size: written } = await stat(part);
      if (written !== size) throw new RangeError(`${written} bytes were written in place of ${size}`);
      // Loads may have links to an equal one: a second one would need room beside it.
      if (await this.#isWhole(digest, size)) await rm(part);
      else await rename(part, this.#fileOf(digest));
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
    const written = join(own, `${name}.name`);
    await writeFile(written, digest);
    await rename(written, this.#nameOf(name));
    return digest;
  }

  /** Evicts files, the one first that was used longest ago, until there is room. Files that a load has are kept. */
  #makeRoom(bytes: number): Promise<void> {
    const evicting = this.#evicting.then(async () => {
      await this.#evict(this.#most - bytes);
    });
    this.#evicting = evicting.catch(() => undefined);
    return evicting;
  }

  /** @returns Whether a file was evicted. */
  async #evict(most: number): Promise<boolean> {
    await this.#removeDead();
    const unused: { readonly path: string; readonly size: number; readonly used: number }[] = [];
    let total = 0;
    await eachOf(await readdir(join(this.directory, 'files')), async (digest) => {
      const path = this.#fileOf(digest);
      const found = await stat(path).catch(() => undefined);
      if (!found) return;
      total += found.size;
      if (found.nlink === 1) unused.push({ path, size: found.size, used: found.atimeMs });
    });
    unused.sort((a, b) => a.used - b.used);
    if (total <= most) return false;
    let evicted = false;
    for (const { path, size } of unused) {
      if (total <= most) break;
      evicted = await unlink(path).then(
        () => true,
        () => evicted,
      );
      total -= size;
    }
    await this.#removeNames();
    return evicted;
  }

  /** What cannot be removed of a process that has ended is in nobody's way. */
  async #removeDead(): Promise<void> {
    await removeDeadLeases(join(this.directory, 'processes'), '', (folder, error) => {
      this.#stays(folder)(error);
    });
  }

  /** Tells the log once that a folder stays. */
  #stays(folder: string): (error: unknown) => void {
    return (error) => {
      if (this.#stuck.has(folder)) return;
      this.#stuck.add(folder);
      this.#warn(
        `the cache folder of object stores '${this.directory}': '${folder}' cannot be removed, and its files take room: ${printableLine(thrownText(error))}`,
      );
    };
  }

  /** Removes the names of files that are gone. */
  async #removeNames(): Promise<void> {
    const files = new Set(await readdir(join(this.directory, 'files')));
    await eachOf(await readdir(join(this.directory, 'names')), async (name) => {
      const digest = await this.#digestOf(name);
      if (digest === undefined || !files.has(digest)) await unlink(this.#nameOf(name)).catch(() => undefined);
    });
  }

  async #begin(): Promise<ProcessLease> {
    this.#lease ??= this.#take();
    const lease = this.#lease;
    try {
      return await lease;
    } catch (error) {
      if (this.#lease === lease) this.#lease = undefined;
      throw error;
    }
  }

  async #take(): Promise<ProcessLease> {
    await makePlace(this.#place);
    const processes = join(this.directory, 'processes');
    await this.#removeDead();
    return await ProcessLease.take(processes);
  }

  async #endLease(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.then(
      (one) => one.end().catch(this.#stays(one.folder)),
      () => undefined,
    );
  }

  #errorOf(error: unknown): unknown {
    const code = codeOf(error);
    if (error instanceof TritonError || !/^E[A-Z0-9]+$/.test(code)) return error;
    const why = fullDisk.has(code)
      ? 'its disk is full: give it more room, or another place'
      : `${thrownText(error)}: give another place`;
    return unavailable(
      'SYSTEM_REFUSED',
      `the cache folder of object stores '${this.directory}' cannot be written: ${why} (repositoryCacheDirectory, --repository-cache-directory)`,
      { cause: error },
    );
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** What a name's file has, if it is one, and at most one character more than a digest. */
async function readName(path: string): Promise<string> {
  // A pipe would wait for its writer. (Windows has no such flags; the missing values count as 0.)
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    if (!(await file.stat()).isFile()) return '';
    const { buffer, bytesRead } = await file.read(Buffer.alloc(65), 0, 65, 0);
    return buffer.subarray(0, bytesRead).toString('latin1');
  } finally {
    await file.close();
  }
}

/** Calls a function for each item, some at once. After a failure no other one begins, and those that began have ended. */
async function eachOf<T>(items: readonly T[], call: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const faults: unknown[] = [];
  const worker = async (): Promise<void> => {
    while (next < items.length && faults.length === 0) {
      const item = items[next++] as T;
      await call(item).catch((error: unknown) => faults.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(fetchedAtOnce, items.length) }, worker));
  if (faults.length > 0) throw faults[0];
}
