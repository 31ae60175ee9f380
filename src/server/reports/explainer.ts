/** Explains the models of a server: gathers what is known of a version's batches, resources, cache and loads. */

import type { NativeServer } from '../../addon/native/server.js';
import { isCached } from '../../cache-config.js';
import type { Explanation } from '../../api/explanation.js';
import type { ServerCache } from '../../cache/server-cache.js';
import { TritonError } from '../../errors.js';
import type { ModelKey } from '../../model-key.js';
import type { Registry } from '../../registry/registry.js';
import { resourcesOf } from '../../scheduling/rate-limit.js';
import type { ModelTable } from '../models/model-table.js';
import { explainedCache, explainedLazy, explanationAsleep, explanationOf } from './explain.js';

/** See the head of this file. A server has one. */
export class Explainer {
  readonly #native: NativeServer;
  readonly #table: ModelTable;
  /** Both are undefined on an attached server. */
  readonly #registry: Registry | undefined;
  readonly #cache: ServerCache | undefined;

  constructor(
    native: NativeServer,
    table: ModelTable,
    registry: Registry | undefined,
    cache: ServerCache | undefined,
  ) {
    this.#native = native;
    this.#table = table;
    this.#registry = registry;
    this.#cache = cache;
  }

  /**
   * Explains a version of a model.
   *
   * @param asked - The version; undefined: the newest ready one.
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE for a model or version that is not served, UNSUPPORTED for an ensemble.
   */
  explain(key: ModelKey, asked: string | undefined): Explanation {
    const { name } = key;
    const lazy = explainedLazy(this.#registry?.lazyTold(key));
    const found = this.#table.resolveAwake(key, asked);
    if (!found) return explanationAsleep(name, asked ?? '', lazy);
    const { uid, version, config, unbatched, detour } = found;
    const step = config.ensemble_scheduling?.step[0];
    if (step) {
      const message = `model '${name}' is an ensemble, which forms no batches: explain its steps, such as '${step.model_name}'`;
      throw new TritonError('UNSUPPORTED', message, { model: name });
    }
    return explanationOf(
      {
        ...{ name, version, maxBatchSize: config.max_batch_size, unbatched, detour },
        dynamic: config.dynamic_batching !== undefined,
      },
      this.#native.batches(uid),
      resourcesOf(config, this.#native.resources()),
      isCached(config)
        ? explainedCache(this.#native.cache(), this.#native.statistics(uid), this.#cache?.up)
        : undefined,
      lazy,
    );
  }
}
