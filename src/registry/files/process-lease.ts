/**
 * A process's own folder beside those of others, with the mark that it lives. What a process that ended without
 * a close has left is removed by the next one.
 */

import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { clearInterval, setInterval } from '../../timers.js';
import { readAtMost } from './read-file.js';

/** The file with the mark. */
const markName = 'process.json';

/** The most bytes that a mark has. */
const mostMarkBytes = 4096;

/** How often the mark is renewed, and how old that of another machine's process may be, in milliseconds. */
const renewMs = 60_000;
const oldestMs = 60 * 60_000;

/** Tells a process from any other one of all machines that may share the folder. */
interface Mark {
  /** The machine since its start, with the process ids' namespace. */
  readonly machine: string;
  readonly pid: number;
  /** When the process started, as the system counts; empty where it does not say. */
  readonly started: string;
}

/** See the head of this file. */
export class ProcessLease {
  readonly folder: string;
  readonly #timer: NodeJS.Timeout;

  private constructor(folder: string, mark: string) {
    this.folder = folder;
    // Written anew, because whoever tidies up old files may have removed it.
    this.#timer = setInterval(() => {
      writeFile(join(folder, markName), mark).catch(() => undefined);
    }, renewMs).unref();
  }

  /**
   * Makes a folder among those of all processes.
   *
   * @param prefix - What its name begins with.
   */
  static async take(all: string, prefix = ''): Promise<ProcessLease> {
    const folder = join(all, `${prefix}${process.pid}-${randomBytes(6).toString('hex')}`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const mark = JSON.stringify(await ownMark());
    await writeFile(join(folder, markName), mark);
    return new ProcessLease(folder, mark);
  }

  /** Removes the folder with all in it. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await rm(this.folder, { recursive: true, force: true });
  }
}

/**
 * Removes the folders of processes that have ended.
 *
 * What cannot be removed is left alone.
 *
 * @param prefix - What their names begin with. With one, the folder may have those of other users, which are left alone, too.
 * @param failed - Is told of what could not be removed.
 */
export async function removeDeadLeases(
  all: string,
  prefix = '',
  failed: (folder: string, error: unknown) => void = () => undefined,
): Promise<void> {
  const own = await ownMark();
  for (const name of await readdir(all).catch(() => [])) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(all, name);
    if (prefix !== '' && !(await isOwnFolder(folder))) continue;
    if (!(await isDead(folder, own))) continue;
    await rm(folder, { recursive: true, force: true }).catch((error: unknown) => {
      failed(folder, error);
    });
  }
}

/** Whether it is a folder, and no link, of this user. */
async function isOwnFolder(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
}

async function isDead(folder: string, own: Mark): Promise<boolean> {
  const mark = await readMark(join(folder, markName));
  if (mark?.machine === own.machine) return (await startOf(mark.pid)) !== mark.started;
  // Nobody here can look at the process: it renews its mark, or the folder was made a moment ago.
  const { mtimeMs } = await stat(mark ? join(folder, markName) : folder).catch(() => ({
    mtimeMs: Date.now(),
  }));
  return Date.now() - mtimeMs > oldestMs;
}

async function readMark(file: string): Promise<Mark | undefined> {
  try {
    // It may be anything, also a pipe.
    const mark: unknown = JSON.parse((await readAtMost(file, mostMarkBytes)).toString());
    if (typeof mark !== 'object' || mark === null) return undefined;
    const { machine, pid, started }: Partial<Record<keyof Mark, unknown>> = mark;
    return typeof machine === 'string' && typeof pid === 'number' && typeof started === 'string'
      ? { machine, pid, started }
      : undefined;
  } catch {
    return undefined; // It is being written, or was damaged.
  }
}

async function ownMark(): Promise<Mark> {
  const [boot, namespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]);
  const machine = boot === '' ? hostname() : `${boot.trim()} ${namespace}`;
  return { machine, pid: process.pid, started: (await startOf(process.pid)) ?? '' };
}

/** When a process of this machine started; undefined: there is none with this id. */
async function startOf(pid: number): Promise<string | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, may have anything in it.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    try {
      process.kill(pid, 0);
      return '';
    } catch (error) {
      return error instanceof Error && 'code' in error && error.code === 'EPERM' ? '' : undefined;
    }
  }
}
