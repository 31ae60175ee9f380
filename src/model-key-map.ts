/** A map whose keys are models: two keys with the same namespace and name are the same key. */

import type { ModelKey } from './model-key.js';

/** See the head of this file. It finds the models of one name without a search. */
export class ModelKeyMap<T> {
  /** Values by name, then by namespace. No inner map is empty. */
  readonly #names: Map<string, Map<string, T>> = new Map();

  get({ namespace, name }: ModelKey): T | undefined {
    return this.#names.get(name)?.get(namespace);
  }

  set({ namespace, name }: ModelKey, value: T): void {
    const known = this.#names.get(name);
    if (known) known.set(namespace, value);
    else this.#names.set(name, new Map([[namespace, value]]));
  }

  /** Returns false if there is no such key. */
  delete({ namespace, name }: ModelKey): boolean {
    const known = this.#names.get(name);
    if (!known?.delete(namespace)) return false;
    if (known.size === 0) this.#names.delete(name);
    return true;
  }

  /** The namespaces that have a model of this name, sorted. */
  namespacesOf(name: string): string[] {
    return [...(this.#names.get(name)?.keys() ?? [])].sort();
  }

  /** The values of the models of this name, sorted by namespace. */
  valuesOf(name: string): T[] {
    return [...(this.#names.get(name) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
  }

  /** Each name once, unsorted. */
  names(): MapIterator<string> {
    return this.#names.keys();
  }

  *values(): Generator<T> {
    for (const known of this.#names.values()) yield* known.values();
  }
}
