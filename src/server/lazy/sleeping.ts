/** Lazy models that are not loaded. */

import type { PublishedModel } from '../../registry/entries/published.js';

/** Whether a request would have the model loaded, and wait for that. */
export function sleeps({ lazy, versions }: PublishedModel): boolean {
  return lazy !== undefined && !versions.some(({ state }) => state === 'READY');
}

/** Whether a load of it has failed, and nothing was loaded since. */
export function hasFailed({ state, reason, versions }: PublishedModel): boolean {
  const failed = (one: { readonly state: string; readonly reason: string }): boolean =>
    one.state === 'UNAVAILABLE' && one.reason !== 'unloaded';
  return versions.length > 0 ? versions.some(failed) : failed({ state, reason });
}

/**
 * Whether a model that is not loaded may have a version, though it had not when it was loaded last: a newer one may have been added.
 *
 * @param known - The versions of its last load; empty: it was never loaded.
 */
export function mayBeNewer(version: string, known: readonly { readonly version: string }[]): boolean {
  return known.every((one) => Number(one.version) < Number(version));
}
