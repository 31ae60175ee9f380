/** Unpacks archives of conda-pack, once for all models of this process that name them. */

import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../addon/own-process.js';
import { thrownText } from '../thrown-text.js';

/** An unpacked archive, until it is released. */
export interface Unpacked {
  readonly folder: string;
  readonly release: () => Promise<void>;
}

interface Known {
  readonly folder: Promise<string>;
  users: number;
}

/** Unpacked archives, by path, size and time of the archive. */
const archives = new Map<string, Known>();
const folders = new Set<string>();

/** Unpacks an archive into a temporary folder, which is removed when its last user releases it. */
export async function unpacked(path: string): Promise<Unpacked> {
  const { size, mtimeMs } = await stat(path);
  const key = `${path}\0${size}\0${mtimeMs}`;
  const known = archives.get(key) ?? { folder: unpack(path), users: 0 };
  archives.set(key, known);
  known.users++;
  let released = false;
  const release = async (): Promise<void> => {
    if (released) return;
    released = true;
    if (--known.users > 0) return;
    archives.delete(key);
    const folder = await known.folder.catch(() => undefined);
    if (folder === undefined) return;
    folders.delete(folder);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { folder: await known.folder, release };
  } catch (error) {
    await release();
    throw error;
  }
}

async function unpack(path: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-python-'));
  // Also remove the folders if the process exits without closing its servers.
  if (folders.size === 0) {
    process.once('exit', () => {
      for (const one of folders) rmSync(one, { recursive: true, force: true });
    });
  }
  folders.add(folder);
  try {
    await run('tar', ['-xf', path, '-C', folder], { maxBuffer: 1 << 20 });
    // conda-unpack corrects the absolute paths in the environment's files.
    const correct = join(folder, 'bin', 'conda-unpack');
    const python = join(folder, 'bin', 'python');
    if (existsSync(correct) && existsSync(python)) await run(python, [correct], { maxBuffer: 1 << 20 });
  } catch (error) {
    folders.delete(folder);
    await rm(folder, { recursive: true, force: true });
    const text = thrownText(error);
    throw new Error(`it cannot be unpacked: ${text.split('\n').slice(0, 2).join(' ')}`, { cause: error });
  }
  return folder;
}
