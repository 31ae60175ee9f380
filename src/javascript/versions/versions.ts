/** The versions of each server whose instances JavaScript starts and ends, from their load to their end. */

import { functionsOf } from '../../addon/engine-functions.js';
import type { NativeServer } from '../../addon/native/server.js';

/** A version whose instances are threads with JavaScript, or processes with Python. */
export interface RunningVersion {
  /** The number of the version's inboxes. */
  readonly inboxes: number;
  /** Called when an instance was restarted, with the reason for the repository index. */
  onRestart: (reason: string) => void;
  /** Whether the instances report that they are ready; absent: instances are not asked. */
  isReady?(): Promise<boolean>;
  /** The ids of the processes of its instances; absent: it has none. */
  processes?(): readonly number[];
  /** Cancels the load. */
  cancel(): void;
  /** Called when the version takes no more requests. Instances that do not end in time are terminated. */
  settle(): void;
  /** Called when the server closes. The engine then closes the instances when they have no requests left. */
  serverCloses?(): void;
  /** Ends the instances, which get no more batches. */
  end(): Promise<void>;
}

/** Loaded versions, by the engine's id. */
const versions = new WeakMap<NativeServer, Map<number, RunningVersion>>();
/** Promises of versions that are ending. */
const ending = new WeakMap<NativeServer, Set<Promise<void>>>();
/** Versions that are being loaded. */
const opening = new WeakMap<NativeServer, Set<RunningVersion>>();

/** Notes that a version is being loaded. */
export function noteOpening(server: NativeServer, version: RunningVersion): void {
  const known = opening.get(server) ?? new Set();
  opening.set(server, known.add(version));
}

/** Notes the engine's id of a version, whose instances are started next. */
export function noteOpened(server: NativeServer, version: RunningVersion, uid: number): void {
  const known = versions.get(server) ?? new Map<number, RunningVersion>();
  versions.set(server, known.set(uid, version));
}

/** Notes that the load of a version can no longer be cancelled: its instances have started, or it has failed. */
export function noteLoaded(server: NativeServer, version: RunningVersion): void {
  opening.get(server)?.delete(version);
}

/** The version of this id, if JavaScript runs its instances. */
export function runningVersion(server: NativeServer, uid: number): RunningVersion | undefined {
  return versions.get(server)?.get(uid);
}

/** Cancels the loads that are under way. */
export function cancelOpening(server: NativeServer): void {
  for (const version of opening.get(server) ?? []) version.cancel();
}

/** Tells versions that the server closes. */
export function settleVersions(server: NativeServer): void {
  for (const version of versions.get(server)?.values() ?? []) {
    version.serverCloses?.();
    functionsOf(server).settleInstances(version.inboxes, false);
  }
}

/** Ends a version whose requests have ended. */
export async function endVersion(server: NativeServer, uid: number): Promise<void> {
  const known = versions.get(server);
  const version = known?.get(uid);
  known?.delete(uid);
  if (version === undefined) return;
  noteLoaded(server, version);
  const end = version.end();
  const ends = ending.get(server) ?? new Set();
  ending.set(server, ends.add(end));
  try {
    await end;
  } finally {
    ends.delete(end);
  }
}

/** Ends all versions of a server that is closed. */
export async function endVersions(server: NativeServer): Promise<void> {
  const known = [...(versions.get(server)?.keys() ?? [])];
  const others = [...(ending.get(server) ?? [])];
  // The callers that end the other versions handle their rejections.
  await Promise.all([Promise.all(known.map((uid) => endVersion(server, uid))), Promise.allSettled(others)]);
}
