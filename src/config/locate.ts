/** Finds the line of a field path in a scanned file. */

import { pathSteps, type PathStep } from './paths.js';
import type { ScannedField, ScannedValue } from './scan.js';

/**
 * The line of the field at a path. Where the field itself was not written: the line of the nearest part around it that
 * was, and 0 if that is the whole file.
 *
 * @param fields - The file.
 * @param path - As `paths.ts` writes it.
 */
export function lineOf(fields: readonly ScannedField[], path: string): number {
  let line = 0;
  let scope: readonly ScannedField[] = fields;
  const steps = pathSteps(path);
  while (steps.length > 0) {
    const [field, element] = steps;
    if (field?.kind !== 'field') return line;
    const written = scope.filter(({ name }) => name === field.name);
    const last = written.at(-1);
    if (last === undefined) return line;
    line = last.line;
    steps.shift();
    let value = written.findLast(({ values }) => values.length > 0)?.values.at(-1);
    if (element !== undefined && element.kind !== 'field') {
      steps.shift();
      value = elementOf(written, element);
      if (value === undefined) return line;
      line = value.line;
      if (element.kind === 'key') value = entryField(value, 'value')?.values.at(-1);
    }
    if (value?.fields === undefined) return line;
    scope = value.fields;
  }
  return line;
}

/** An element of a list or map, which may be written in several parts. No copies: lists can be long, and are asked often. */
function elementOf(written: readonly ScannedField[], step: PathStep): ScannedValue | undefined {
  if (step.kind === 'key') {
    for (const { values } of written.toReversed()) {
      const found = values.findLast((entry) => keyOf(entry) === step.key);
      if (found !== undefined) return found;
    }
  } else if (step.kind === 'index') {
    let left = step.index;
    for (const { values } of written) {
      if (left < values.length) return values[left];
      left -= values.length;
    }
  }
  return undefined;
}

/** The key of a map's entry as written; escapes are not resolved, such keys are not found. */
export function keyOf(entry: ScannedValue): string {
  return entryField(entry, 'key')?.values.at(-1)?.text ?? '';
}

function entryField(entry: ScannedValue, name: 'key' | 'value'): ScannedField | undefined {
  return entry.fields?.findLast((field) => field.name === name);
}
