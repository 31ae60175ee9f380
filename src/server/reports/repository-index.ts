/** Lists the models and versions of a server. */

import { sleeps } from '../lazy/sleeping.js';
import type { ModelTable } from '../models/model-table.js';
import type { ModelStatus } from '../../api/metadata.js';
import { defaultNamespace, type ModelKey } from '../../model-key.js';
import type { PublishedModel } from '../../registry/entries/published.js';

/** All models of the repositories, with the state and reason of each version. Triton: `RepositoryIndex`. */
export function indexOf(table: ModelTable): ModelStatus[] {
  const list: ModelStatus[] = [];
  for (const key of table.keys()) {
    const published = table.entry(key)?.published;
    if (published) list.push(...statusOf(key, published));
  }
  return list;
}

function* statusOf({ name, namespace }: ModelKey, published: PublishedModel): Generator<ModelStatus> {
  const model = { name, ...(namespace !== defaultNamespace && { namespace }) };
  const { versions, state, reason } = published;
  const isAsleep = sleeps(published);
  for (const one of versions) {
    const [shown, why] = isAsleep ? asleep(one) : [one.state, one.reason];
    yield { ...model, version: String(one.version), state: shown, ...(why === '' ? {} : { reason: why }) };
  }
  if (versions.length > 0) return;
  const [shown, why] = isAsleep ? asleep({ state, reason }) : [state, reason];
  yield shown === '' ? model : { ...model, state: shown, reason: why };
}

/** The state of a lazy model without a load, as clients are to see it: they ask for it before they send a request. */
function asleep<S extends PublishedModel['state']>({
  state,
  reason,
}: {
  readonly state: S;
  readonly reason: string;
}): readonly [S | 'READY', string] {
  if (state === 'UNAVAILABLE' && reason !== 'unloaded') return [state, reason];
  return ['READY', state === 'LOADING' ? 'lazy: being loaded' : 'lazy: loaded at the next request'];
}

/** Whether everything is ready that should be served. Lazy models do not count: a request finds out. */
export function isReady(table: ModelTable): boolean {
  return table.keys().every((key) => {
    const published = table.entry(key)?.published;
    if (!published || published.lazy !== undefined) return true;
    return [...statusOf(key, published)].every(
      ({ state, reason }) =>
        state === undefined || state === 'READY' || (state === 'UNAVAILABLE' && reason === 'unloaded'),
    );
  });
}
