/** Variables of the environment for the time of a test: files that share a process must not see them. */

import type { TestContext } from 'node:test';

/** Variables that a test has replaced. */
const replaced = new WeakMap<TestContext, Set<string>>();

/** Sets variables of the environment for a test. An undefined one is absent meanwhile. */
export function setEnvironment(
  t: TestContext,
  variables: Readonly<Record<string, string | undefined>>,
): void {
  const names = replaced.get(t) ?? new Set();
  replaced.set(t, names);
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name];
    const set = (text: string | undefined): void => {
      if (text === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = text;
    };
    set(value);
    // The hooks run in the order of their registration, so that only the first value before may be set again.
    if (names.has(name)) continue;
    names.add(name);
    t.after(() => {
      set(before);
    });
  }
}
