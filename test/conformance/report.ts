/** The output of the command. */
import type { Outcome, Verdict } from './outcome.js';

/** How many names of a group are printed, unless all are asked for. */
const fewNames = 6;

const headings: Readonly<Record<Exclude<Verdict, 'passed'>, string>> = {
  skipped: 'Skipped, as Triton has no form for it',
  runtime: 'Fails in the bare runtime as well',
  ours: 'Fails here, but not in the bare runtime',
};

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

function count(outcomes: readonly Outcome[], verdict: Verdict): number {
  return outcomes.filter((outcome) => outcome.verdict === verdict).length;
}

/** How many cases of each kind passed. */
export function passedByKind(outcomes: readonly Outcome[]): Map<string, number> {
  const kinds = groupBy(outcomes, ({ kind }) => kind);
  return new Map([...kinds].map(([kind, ofKind]) => [kind, count(ofKind, 'passed')]));
}

/** A line for each kind of case. */
export function summary(outcomes: readonly Outcome[]): string {
  const lines = [...groupBy(outcomes, ({ kind }) => kind)].map(([kind, ofKind]) => {
    const passed = `${count(ofKind, 'passed')} of ${ofKind.length} passed`;
    return (
      `${kind.padEnd(18)} ${passed.padEnd(20)}  ${count(ofKind, 'skipped')} skipped, ` +
      `${count(ofKind, 'runtime')} the runtime's, ${count(ofKind, 'ours')} ours`
    );
  });
  return lines.join('\n');
}

/**
 * Every case that did not pass, grouped by its reason, largest group first.
 * @param all - Whether every name is printed, with its detail.
 */
export function reasons(outcomes: readonly Outcome[], all: boolean): string {
  const lines: string[] = [];
  for (const verdict of ['skipped', 'runtime', 'ours'] as const) {
    const those = outcomes.filter((outcome) => outcome.verdict === verdict);
    if (those.length === 0) continue;
    lines.push('', `${headings[verdict]} (${those.length}):`);
    const groups = [...groupBy(those, ({ reason }) => reason)].sort(([, a], [, b]) => b.length - a.length);
    for (const [reason, group] of groups) {
      lines.push(`${String(group.length).padStart(5)}  ${reason}`);
      if (all) {
        lines.push(...group.map(({ name, detail }) => `         ${name}: ${detail}`));
      } else {
        const names = group.slice(0, fewNames).map(({ name }) => name);
        const rest = group.length - names.length;
        lines.push(`       ${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`);
      }
    }
  }
  return lines.join('\n');
}
