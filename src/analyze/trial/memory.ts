/** How much memory this process and the processes of its models have. */

import { readdir, readFile } from 'node:fs/promises';
import { memoryOutsideHeap } from '../../registry/lazy/memory.js';
import { processBytes } from '../../registry/lazy/told-memory.js';

/** What the process has outside of V8's heap, and what its child processes have, in bytes; undefined: it cannot be read. */
export async function memoryOfModels(): Promise<number | undefined> {
  const own = memoryOutsideHeap();
  if (own === undefined) return undefined;
  const others = await Promise.all((await childrenOf()).map(processBytes));
  return others.reduce((sum, bytes) => sum + bytes, own);
}

/** The child processes. Systems without such files have models in Python, but do not tell what these take. */
async function childrenOf(): Promise<readonly number[]> {
  try {
    const threads = await readdir('/proc/self/task');
    const texts = await Promise.all(threads.map(childrenOfThread));
    return texts.flatMap((text) => text.split(' ').filter((pid) => pid !== '')).map(Number);
  } catch {
    return [];
  }
}

/** A thread may end while it is asked. */
async function childrenOfThread(thread: string): Promise<string> {
  try {
    return (await readFile(`/proc/self/task/${thread}/children`, 'latin1')).trim();
  } catch {
    return '';
  }
}
