/** The agents' chains of each server with calls that are still owed. A server that ends, or is dropped, makes them. */

import type { NativeServer } from '../../addon/native/server.js';

/** The part of a chain that the end of a server needs. */
interface Endable {
  readonly end: () => Promise<void>;
}

const live = new WeakMap<NativeServer, Set<Endable>>();

/** The chains of a server. */
export function liveChains(server: NativeServer): Set<Endable> {
  const known = live.get(server) ?? new Set();
  live.set(server, known);
  return known;
}

/** A server has ended. Resolves when its agents have been told. It does not reject. */
export async function endAgents(server: NativeServer): Promise<void> {
  await Promise.all([...liveChains(server)].map((chain) => chain.end()));
}
