/** Sets fields of a written configuration by their paths. */

import { pathSteps } from './paths.js';
import type { ModelConfigInput } from './types.js';

/** The value of a field that is set: a scalar, a list of integers, or a message without fields. */
export type ChangedValue = string | number | readonly number[] | Readonly<Record<string, never>>;

/** A field that is set. */
export interface FieldChange {
  /** Its path, as in errors: `instance_group[0].count`. What leads to it is made where it is missing. */
  readonly path: string;
  readonly value: ChangedValue;
}

/** The configuration with changes. The given one stays as it is. */
export function changeConfig(config: ModelConfigInput, changes: readonly FieldChange[]): ModelConfigInput {
  // A copy has the members of the original, and nobody else knows it.
  const copy = structuredClone(config) as Record<string, unknown>;
  for (const { path, value } of changes) {
    const steps = pathSteps(path);
    let place: Record<string, unknown> = copy;
    for (const [i, step] of steps.entries()) {
      const name = step.kind === 'field' ? step.name : step.kind === 'key' ? step.key : String(step.index);
      if (i === steps.length - 1) place[name] = value;
      else {
        const isList = steps[i + 1]?.kind === 'index';
        // Arrays are objects with their indices as names.
        place = (place[name] ??= isList ? [] : {}) as Record<string, unknown>;
      }
    }
  }
  return copy;
}
