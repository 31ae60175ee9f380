/**
 * Folders for the files that agents make. They are removed with their model's load, or at the latest when the process exits. What a
 * process has left that was killed is removed by the next one of this user that makes such a folder.
 */

import { chmodSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProcessLease, removeDeadLeases } from '../files/process-lease.js';

/** The folders of all processes have names with this beginning. */
const prefix = 'tritonts-agent-';

/** Those that exist. They may hold the decrypted files of a model. */
const folders = new Set<string>();
/** Those whose removal has failed. It is tried again with the next one. */
const stuck = new Set<string>();

/** The folder of this environment, in which they are, while it has some. */
let lease: Promise<ProcessLease> | undefined;
/** How many there are, or are being made. */
let users = 0;
/** The place of the lease, for the end of the process. */
let leased: string | undefined;

async function take(): Promise<ProcessLease> {
  await removeDeadLeases(tmpdir(), prefix);
  const taken = await ProcessLease.take(tmpdir(), prefix);
  leased = taken.folder;
  process.once('exit', removeAll);
  return taken;
}

/** Ends the lease once nobody needs it. */
async function release(): Promise<void> {
  if (--users > 0 || stuck.size > 0) return;
  const ending = lease;
  lease = undefined;
  leased = undefined;
  process.off('exit', removeAll);
  await (await ending)?.end();
}

/** Makes an empty folder that only this user may open. */
export async function makeFolder(): Promise<string> {
  users++;
  try {
    const { folder: parent } = await (lease ??= take());
    const folder = await mkdtemp(join(parent, 'model-'));
    folders.add(folder);
    return folder;
  } catch (error) {
    if (leased === undefined) lease = undefined;
    await release();
    throw error;
  }
}

/**
 * Removes a folder with all in it.
 *
 * @throws The error of the system if something stays. It is tried again with the next folder, and when the process exits.
 */
export async function removeFolder(folder: string): Promise<void> {
  if (!folders.delete(folder)) {
    await removeTree(folder);
    return;
  }
  stuck.add(folder);
  let failure: { readonly error: unknown } | undefined;
  for (const one of [...stuck]) {
    try {
      await removeTree(one);
      stuck.delete(one);
    } catch (error) {
      if (one === folder) failure = { error };
    }
  }
  await release();
  if (failure) throw failure.error;
}

async function removeTree(folder: string): Promise<void> {
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  try {
    await remove();
  } catch {
    // An agent may have made folders, as those of a read-only image are, from which nobody may remove anything.
    await openTree(folder);
    await remove();
  }
}

async function openTree(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await openTree(join(folder, entry.name));
  }
}

/** The process exits. Nobody can be told of errors. */
function removeAll(): void {
  if (leased === undefined) return;
  try {
    rmSync(leased, { recursive: true, force: true });
  } catch {
    try {
      openTreeNow(leased);
      rmSync(leased, { recursive: true, force: true });
    } catch {
      // The next process tries it again.
    }
  }
}

function openTreeNow(folder: string): void {
  chmodSync(folder, 0o700);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (lstatSync(path).isDirectory()) openTreeNow(path);
  }
}
