/** Flags that HTTP and gRPC have both: restricted calls, forwarded headers. */

import { invalidArgument } from '../../errors.js';
import type { FlagValues } from './parse-flags.js';

/** Calls that need a header with a secret. */
export interface RestrictedApis<Group extends string> {
  readonly protocols: readonly Group[];
  readonly header: string;
  readonly value: string;
}

/**
 * Reads `<apis>:<key>=<value>`, each time that it is given.
 *
 * @param groups - The groups of calls that there are.
 * @param prefix - What comes before the key in the header's name.
 * @throws {@link TritonError} INVALID_ARG for another form, an unknown group, or one that is given twice. The secret is not
 *   shown.
 */
export function readRestricted<Group extends string>(
  flag: string,
  values: FlagValues,
  groups: readonly Group[],
  prefix = '',
): RestrictedApis<Group>[] {
  const seen = new Set<string>();
  return values.list(flag).map((text) => {
    const [, apis = '', key = '', value = ''] = /^([^:]*):([^=]*)=(.*)$/.exec(text) ?? [];
    if (value === '' || !/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(key))
      throw invalidArgument(`expected <apis>:<key>=<value> for --${flag}, where <key> is a header's name`);
    const protocols = apis.split(',').map((name) => {
      const group = groups.find((known) => known === name.trim());
      if (group === undefined)
        throw invalidArgument(`--${flag}: expected ${groups.join(', ')} but received '${name}'`);
      if (seen.has(group)) throw invalidArgument(`--${flag}: '${group}' is restricted twice`);
      seen.add(group);
      return group;
    });
    return { protocols, header: `${prefix}${key}`.toLowerCase(), value };
  });
}

/**
 * Reads a pattern in RE2's syntax, which for all that is usual is JavaScript's. It ignores case unless it begins with
 * `(?-i)`.
 *
 * @throws {@link TritonError} INVALID_ARG for a pattern that JavaScript does not have.
 */
export function readPattern(flag: string, values: FlagValues): RegExp | undefined {
  const text = values.text(flag);
  if (text === undefined) return undefined;
  const [, switched = '', pattern = ''] = /^(?:\(\?(-?[ism]+)\))?([^]*)$/.exec(text) ?? [];
  const flags = switched.startsWith('-')
    ? switched.includes('i')
      ? ''
      : 'i'
    : `i${switched.replace('i', '')}`;
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw invalidArgument(`expected a pattern for --${flag} but received '${text}': ${why}`);
  }
}
