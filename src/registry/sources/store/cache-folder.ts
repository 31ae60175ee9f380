/**
 * Files of stores on this machine, which servers and restarts share.
 *
 * ```text
 * files/<name>             a whole file; its name stands for its place in the store and its content
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
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TritonError, unavailable } from '../../../errors.js';
import { thrownText } from '../../../thrown-text.js';
import { makePlace, type CachePlace } from './cache-place.js';
import { ProcessLease, removeDeadLeases } from '../../files/process-lease.js';
import { follow, orAborted, sharedController } from '../../../signals.js';

/** A file that a folder is to have. */
export interface WantedFile {
  /** In the folder, with `/` as separator. */
  readonly path: string;
  /** Hexadecimal digits that stand for its place in the store and its content. */
  readonly name: string;
  readonly size: number;
  /** Writes its content, until the signal is aborted. Called only if the cache lacks it. */
  readonly fetch: (file: FileHandle, signal: AbortSignal) => Promise<void>;
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
  readonly #fetches: Map<string, Promise<void>> = new Map();
  #evicting: Promise<void> = Promise.resolve();
  /** Whether the files of others before this process have been counted. */
  #isCounted = false;

  private constructor(place: CachePlace, most: number) {
    this.directory = place.directory;
    this.#place = place;
    this.#most = most;
  }

  /** The cache in a place. Nothing is made before it is used. Servers of a process with the same limit share it. */
  static at(place: CachePlace, most: number): CacheFolder {
    const key = `${most} ${place.directory}`;
    const known = folders.get(key) ?? new CacheFolder(place, most);
    folders.set(key, known);
    return known;
  }

  /** The files that are not here, so that they would have to be fetched. */
  async missing<T extends WantedFile>(files: readonly T[]): Promise<T[]> {
    const missing: T[] = [];
    await eachOf(files, async (file) => {
      if (!(await this.#has(file))) missing.push(file);
    });
    return missing;
  }

  /**
   * Makes a folder with files. Those that are missing are fetched, several at once.
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
        await rm(directory, { recursive: true, force: true });
        // The limit may not have held its files.
        await this.#makeRoom(0).catch(() => undefined);
      }
      if (--this.#folders === 0) await this.#endLease();
    };
    try {
      const { folder } = await this.#begin();
      const made = join(folder, String(++this.#count));
      directory = made;
      // Somebody may have tidied up.
      await mkdir(made, { recursive: true });
      await mkdir(join(this.directory, 'files'), { recursive: true, mode: 0o700 });
      const missing = await this.missing(files);
      if (missing.length > 0) await this.#makeRoom(missing.reduce((sum, { size }) => sum + size, 0));
      for (const parent of new Set([...folders, ...files.map(({ path }) => dirname(path))])) {
        await mkdir(join(made, parent), { recursive: true });
      }
      const own = sharedController();
      const letGo = follow(own, signal);
      try {
        await eachOf(files, async (file) => {
          try {
            own.signal.throwIfAborted();
            await this.#put(file, join(made, file.path), folder, own.signal);
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

  #fileOf(name: string): string {
    return join(this.directory, 'files', name);
  }

  async #has({ name, size }: WantedFile): Promise<boolean> {
    try {
      const found = await lstat(this.#fileOf(name));
      return found.isFile() && found.size === size && found.mtimeMs === untouched.getTime();
    } catch {
      return false;
    }
  }

  async #put(file: WantedFile, target: string, own: string, signal: AbortSignal): Promise<void> {
    // Another process may evict it between two of these calls, but not again and again.
    for (let tries = 0; ; tries++) {
      if (!(await this.#has(file))) await this.#fetchOnce(file, own, signal);
      try {
        await this.#linkTo(file.name, target);
        return;
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || tries === 3) throw error;
      }
    }
  }

  async #linkTo(name: string, target: string): Promise<void> {
    const from = this.#fileOf(name);
    // Another user's file keeps its time, and is evicted a little too early.
    await utimes(from, new Date(), untouched).catch(() => undefined);
    try {
      await link(from, target);
    } catch (error) {
      if (!noLinks.has(codeOf(error))) throw error;
      await copyFile(from, target, constants.COPYFILE_FICLONE);
    }
  }

  /** Loads of this process that need a file at the same time share its download. */
  async #fetchOnce(file: WantedFile, own: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const known = this.#fetches.get(file.name);
      if (!known) break;
      // The other one may have been cancelled.
      const isThere = await orAborted(known, signal).then(
        () => true,
        () => false,
      );
      if (isThere) return;
    }
    const fetching = this.#fetch(file, own, signal).finally(() => {
      this.#fetches.delete(file.name);
    });
    this.#fetches.set(file.name, fetching);
    await fetching;
  }

  async #fetch({ name, size, fetch }: WantedFile, own: string, signal: AbortSignal): Promise<void> {
    const part = join(own, `${name}.part`);
    try {
      const file = await open(part, 'wx', 0o444);
      try {
        await fetch(file, signal);
        // The name must not come to the disk before the content.
        await file.sync();
        await file.utimes(new Date(), untouched);
      } finally {
        await file.close();
      }
      const { size: written } = await stat(part);
      if (written !== size) throw new RangeError(`${written} bytes were written in place of ${size}`);
      await rename(part, this.#fileOf(name));
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }

  /** Evicts files, the one first that was used longest ago, until there is room. Files that a load has are kept. */
  #makeRoom(bytes: number): Promise<void> {
    const evicting = this.#evicting.then(() => this.#evict(this.#most - bytes));
    this.#evicting = evicting.catch(() => undefined);
    return evicting;
  }

  async #evict(most: number): Promise<void> {
    await removeDeadLeases(join(this.directory, 'processes'));
    const unused: { readonly path: string; readonly size: number; readonly used: number }[] = [];
    let total = 0;
    await eachOf(await readdir(join(this.directory, 'files')), async (name) => {
      const path = this.#fileOf(name);
      const found = await stat(path).catch(() => undefined);
      if (!found) return;
      total += found.size;
      if (found.nlink === 1) unused.push({ path, size: found.size, used: found.atimeMs });
    });
    unused.sort((a, b) => a.used - b.used);
    for (const { path, size } of unused) {
      if (total <= most) return;
      await unlink(path).catch(() => undefined);
      total -= size;
    }
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
    await removeDeadLeases(processes);
    return await ProcessLease.take(processes);
  }

  async #endLease(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    await lease?.then(
      (one) => one.end(),
      () => undefined,
    );
  }

  #errorOf(error: unknown): unknown {
    const code = codeOf(error);
    if (error instanceof TritonError || !/^E[A-Z0-9]+$/.test(code)) return error;
    const why =
      code === 'ENOSPC' || code === 'EDQUOT'
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
