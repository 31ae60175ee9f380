/** Reads constants from the engine's headers, so that tests can hold TypeScript's copies to them. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

/** Text of a header of `native/engine/`. */
export async function header(name: string): Promise<string> {
  return readFile(new URL(`../../../native/engine/${name}`, import.meta.url), 'utf8');
}

/** Members of an `enum class`, by name. */
export function enumOf(text: string, name: string): Record<string, number> {
  const body = new RegExp(`enum class ${name}\\b[^{]*\\{([^}]*)\\}`).exec(text)?.[1];
  assert.ok(body !== undefined, `no enum ${name}`);
  const members = [...body.matchAll(/\bk(\w+) = (\d+)/g)];
  return Object.fromEntries(members.map(([, key, value]) => [key ?? '', Number(value)]));
}

/** The value of `constexpr … kName = …;`: a number, a shift of two numbers, or a negative number. */
export function constantOf(text: string, name: string): number {
  const expression = new RegExp(
    `\\bconstexpr \\w+ k${name} = (?:size_t\\{(\\d+)\\}|(-?\\d+)u?)(?: << (\\d+))?;`,
  ).exec(text);
  assert.ok(expression, `no constant k${name}`);
  return Number(expression[1] ?? expression[2]) * 2 ** Number(expression[3] ?? 0);
}
