/** The versions of each server that run JavaScript, from their load to their end. */

import { addon } from '../addon/load.js';
import type { NativeServer } from '../addon/native.js';
import type { JavaScriptVersion } from './javascript-version.js';

/** Those that are loaded, by the engine's id of the version. */
const versions = new WeakMap<NativeServer, Map<number, JavaScriptVersion>>();
/** Those that are being loaded. */
const opening = new WeakMap<NativeServer, Set<JavaScriptVersion>>();

/** Notes that a version is being loaded. */
export function noteOpening(server: NativeServer, version: JavaScriptVersion): void {
  const known = opening.get(server) ?? new Set();
  opening.set(server, known.add(version));
}

/** Notes that the load of a version has ended: with the engine's id, or without success. */
export function noteOpened(server: NativeServer, version: JavaScriptVersion, uid: number | undefined): void {
  opening.get(server)?.delete(version);
  if (uid === undefined) return;
  const known = versions.get(server) ?? new Map<number, JavaScriptVersion>();
  versions.set(server, known.set(uid, version));
}

/** The version of this id, if it runs JavaScript. */
export function javaScriptVersion(server: NativeServer, uid: number): JavaScriptVersion | undefined {
  return versions.get(server)?.get(uid);
}

/** Cancels the loads that are under way. */
export function cancelOpening(server: NativeServer): void {
  for (const version of opening.get(server) ?? []) version.cancel();
}

/** Tells versions that the server closes. */
export function settleVersions(server: NativeServer): void {
  for (const { inboxes } of versions.get(server)?.values() ?? []) addon().settleInstances(inboxes, false);
}

/** Ends a version whose requests have ended. */
export async function endVersion(server: NativeServer, uid: number): Promise<void> {
  const known = versions.get(server);
  const version = known?.get(uid);
  known?.delete(uid);
  await version?.end();
}

/** Ends all versions of a server that is closed. */
export async function endVersions(server: NativeServer): Promise<void> {
  const known = [...(versions.get(server)?.keys() ?? [])];
  await Promise.all(known.map((uid) => endVersion(server, uid)));
}
