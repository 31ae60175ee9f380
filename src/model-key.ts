/** Which model of a server is meant: its name, and the namespace in which the name is unique. */

import { TritonError } from './errors.js';
import { printableLine } from './printable.js';

/** See the head of this file. `native/engine/server/model_key.h` has the same. */
export interface ModelKey {
  readonly namespace: string;
  readonly name: string;
}

/** How many namespaces a message names. */
const mostNamed = 12;

/** The namespace of all models of a server without namespaces. */
export const defaultNamespace = '';

/** The key as messages show it: `namespace::name` as in Triton, and the name alone in the default namespace. */
export function keyText({ namespace, name }: ModelKey): string {
  return namespace === defaultNamespace ? name : `${namespace}::${name}`;
}

/** Whether two keys mean the same model. */
export function sameKey(a: ModelKey, b: ModelKey): boolean {
  return a.name === b.name && a.namespace === b.namespace;
}

/**
 * The model that a name alone means: that of the own namespace, else the only one.
 *
 * @param namespaces - Those that have a model of this name, sorted.
 * @param own - The namespace of the ensemble that names it as a step; undefined: no namespace is preferred.
 * @returns Undefined if no namespace has it.
 * @throws {@link TritonError} INVALID_ARG if several other namespaces have it.
 */
export function resolveKey(name: string, namespaces: readonly string[], own?: string): ModelKey | undefined {
  if (own !== undefined && namespaces.includes(own)) return { namespace: own, name };
  const [namespace, second] = namespaces;
  if (namespace === undefined) return undefined;
  if (second === undefined) return { namespace, name };
  throw ambiguousName(name, namespaces);
}

/**
 * The error for a name that several namespaces have: Triton's text, and these namespaces.
 *
 * @param namespaces - Those that have a model of this name.
 */
export function ambiguousName(name: string, namespaces: readonly string[]): TritonError {
  const all = [...namespaces].sort().map((one) => `'${printableLine(one)}'`);
  const shown = all.length > mostNamed ? [...all.slice(0, mostNamed), '…'] : all;
  // native/engine/server/published_models.cc has the first sentence.
  const text = `There are ${all.length} identifiers of model '${name}' in global map, model namespace must be provided to resolve ambiguity.`;
  return new TritonError('INVALID_ARG', `${text} The namespaces are ${shown.join(', ')}.`, { model: name });
}
