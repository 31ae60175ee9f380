/** Asks the runtimes and the processes of a loaded model what they take. */

import { readFile } from 'node:fs/promises';
import type { NativeServer } from '../../addon/native/server.js';
import { runningVersion } from '../../javascript/versions/versions.js';
import { openUids, type ModelEntry } from '../entries/model-entry.js';
import type { Told } from './memory.js';

/** Asks it all. Nothing is told of what has ended meanwhile. */
export async function toldOf(server: NativeServer, entry: ModelEntry): Promise<Told> {
  const uids = openUids(entry.published());
  let told = 0;
  for (const uid of uids) {
    for (const { type, byteSize } of server.statistics(uid)?.memory ?? [])
      if (type === 'CPU') told += byteSize;
  }
  const pids = uids.flatMap((uid) => runningVersion(server, uid)?.processes?.() ?? []);
  const each = await Promise.all(pids.map(processBytes));
  return { told, besides: each.reduce((sum, bytes) => sum + bytes, 0) };
}

/** What a process has in memory, in bytes. Pages that several processes share count in parts. 0 if the system does not tell. */
export async function processBytes(pid: number): Promise<number> {
  try {
    const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1');
    return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
  } catch {
    // It has ended, or this system has no such file.
    return 0;
  }
}
