/** Collects what a poll has changed. */

import type { RescannedModel, RescanResult } from '../../api/rescan.js';
import type { TritonError } from '../../errors.js';
import type { ModelEntry } from '../entries/model-entry.js';
import type { UnlistedSource } from '../sources/find-models.js';

/** Numbers of versions. */
interface Versions {
  readonly loaded: readonly number[];
  readonly ended: readonly number[];
}

/** See the head of this file. */
export class Outcome {
  readonly #loaded: RescannedModel[] = [];
  readonly #reloaded: RescannedModel[] = [];
  readonly #unloaded: RescannedModel[] = [];
  readonly #failed: Map<ModelEntry, TritonError> = new Map();
  readonly #served: Set<ModelEntry> = new Set();
  readonly #changing: Set<string> = new Set();
  #unlisted: RescanResult['unlisted'] = [];

  unlisted(sources: readonly UnlistedSource[]): void {
    this.#unlisted = sources.map(({ source, error }) => ({ repository: source.place, error }));
  }

  /** @param wasServed - Whether versions of it were served before. */
  loaded(entry: ModelEntry, versions: Versions, wasServed: boolean): void {
    this.#failed.delete(entry);
    this.#served.add(entry);
    (wasServed ? this.#reloaded : this.#loaded).push(modelOf(entry, versions));
  }

  /** Whether it was loaded by this poll. */
  hasLoaded(entry: ModelEntry): boolean {
    return this.#served.has(entry);
  }

  unloaded(entry: ModelEntry, ended: readonly number[]): void {
    this.#unloaded.push(modelOf(entry, { loaded: [], ended }));
  }

  failed(entry: ModelEntry, error: TritonError): void {
    this.#failed.set(entry, error);
  }

  changing({ name }: ModelEntry): void {
    this.#changing.add(name);
  }

  /** The lists, by name. */
  result(): RescanResult {
    return {
      loaded: this.#loaded.sort(byName),
      reloaded: this.#reloaded.sort(byName),
      unloaded: this.#unloaded.sort(byName),
      failed: Array.from(this.#failed, ([{ name }, error]) => ({ name, error })).sort(byName),
      changing: [...this.#changing].sort(),
      unlisted: this.#unlisted,
    };
  }
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

function modelOf({ name }: ModelEntry, { loaded, ended }: Versions): RescannedModel {
  return { name, loaded: loaded.map(String), ended: ended.map(String) };
}
