/** The backends of the addon, by name. */

import { addon } from '../addon/load.js';
import type { RulesOfBackends } from '../config/index.js';
import type { Backend } from './backend.js';
import { table } from './table.generated.js';

const described = new Map<string, Backend>(table.map((backend) => [backend.name, backend]));
let rules: RulesOfBackends | undefined;
let present: ReadonlyMap<string, Backend> | undefined;

/**
 * The addon's backends, by the name in a configuration's `backend`.
 *
 * @throws {@link TritonError} UNAVAILABLE if the addon cannot be loaded.
 */
export function backends(): ReadonlyMap<string, Backend> {
  present ??= new Map(
    addon()
      .backends()
      .flatMap((name) => {
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
