/** Keeps the local files of a load for as long as a version needs them: JavaScript, Python and external weights are read late. */

import type { NativeServer } from '../../addon/native/server.js';
import type { LocalFiles } from './model-source.js';

/** What a version needs, and the removal of it once that has begun: the end of a server waits for it, too. */
interface Need {
  readonly files: HeldFiles;
  end?: Promise<void>;
}

/** What each server's versions need, by the engine's id of the version. Files with nothing to remove are not here. */
const needs = new WeakMap<NativeServer, Map<number, Need>>();

/** See the head of this file. The load itself is the first that needs them. */
export class HeldFiles {
  readonly local: LocalFiles;
  #users = 1;

  constructor(local: LocalFiles) {
    this.local = local;
  }

  /** A version needs them, too, until {@link releaseFiles}. */
  keepFor(server: NativeServer, uid: number): void {
    if (!this.local.release) return;
    const known = needs.get(server) ?? new Map<number, Need>();
    needs.set(server, known.set(uid, { files: this }));
    this.#users++;
  }

  /** One needs them no more. After the last one they are removed. It does not reject. */
  async release(): Promise<void> {
    if (--this.#users > 0) return;
    try {
      await this.local.release?.();
    } catch {
      // As the interface says.
    }
  }
}

/** A version has ended, and needs its files no more. Resolves when they are removed. It does not reject. */
export async function releaseFiles(server: NativeServer, uid: number): Promise<void> {
  const known = needs.get(server);
  const need = known?.get(uid);
  if (!need) return;
  await (need.end ??= need.files.release());
  known?.delete(uid);
}

/** All versions of a server have ended with it. Resolves when no file of theirs is left. */
export async function releaseAllFiles(server: NativeServer): Promise<void> {
  const uids = [...(needs.get(server)?.keys() ?? [])];
  await Promise.all(uids.map((uid) => releaseFiles(server, uid)));
}
