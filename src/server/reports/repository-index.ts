/** Lists the models and versions of a server. */

import type { ModelTable } from '../models/model-table.js';
import type { ModelStatus } from '../../api/metadata.js';

/** All models of the repositories, with the state and reason of each version. Triton: `RepositoryIndex`. */
export function indexOf(table: ModelTable): ModelStatus[] {
  const list: ModelStatus[] = [];
  for (const key of table.keys()) {
    const { name } = key;
    const published = table.entry(key)?.published;
    if (!published) continue;
    for (const { version, state, reason } of published.versions) {
      list.push({ name, version: String(version), state, ...(reason === '' ? {} : { reason }) });
    }
    if (published.versions.length > 0) continue;
    list.push(published.state === '' ? { name } : { name, state: published.state, reason: published.reason });
  }
  return list;
}

/** Whether everything is ready that should be served. */
export function isReady(index: readonly ModelStatus[]): boolean {
  return index.every(
    ({ state, reason }) =>
      state === undefined || state === 'READY' || (state === 'UNAVAILABLE' && reason === 'unloaded'),
  );
}
