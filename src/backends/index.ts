/** The backends of the addon, by name. */

import { addonUnlessSpared } from '../addon/load.js';
import type { NativeAddon } from '../addon/native/addon.js';
import type { RulesOfBackends } from '../config/index.js';
import type { Backend } from './backend.js';
import { table } from './table.generated.js';

const described = new Map<string, Backend>(table.map((backend) => [backend.name, backend]));
let rules: RulesOfBackends | undefined;
let present: ReadonlyMap<string, Backend> | undefined;
/** The addon that {@link present} is of. */
let presentOf: NativeAddon | undefined;

/**
 * The addon's backends, by the name in a configuration's `backend`; without an addon, all that the package describes.
 *
 * @throws {@link TritonError} UNAVAILABLE if the addon cannot be loaded.
 */
export function backends(): ReadonlyMap<string, Backend> {
  const native = addonUnlessSpared();
  if (native === undefined) return described;
  if (present !== undefined && presentOf === native) return present;
  presentOf = native;
  present = new Map(
    native.backends().flatMap((name) => {
      const backend = described.get(name);
      return backend === undefined ? [] : [[name, backend]];
    }),
  );
  return present;
}

/** Adds backends that another build of the addon has, such as that of the tests. */
export function addBackends(more: readonly Backend[]): void {
  for (const backend of more) described.set(backend.name, backend);
  present = undefined;
  rules = undefined;
}

/** The backends' rules for their models' configurations. */
export function rulesOfBackends(): RulesOfBackends {
  rules ??= new Map([...described.values()].map(({ name, rules = {} }) => [name, rules]));
  return rules;
}

/** The name of the backend whose models may be code that the program gives. */
export function takerOfCode(): string {
  // Options are read before the addon is loaded.
  return [...described.values()].find(({ takesCode }) => takesCode === true)?.name ?? '';
}
