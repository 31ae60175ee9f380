/** Reads flags that HTTP and gRPC share: restricted APIs and forwarded headers. */

import { invalidArgument } from '../../errors.js';
import type { FlagValues } from './parse-flags.js';
import { thrownText } from '../../thrown-text.js';

/** APIs that need a header with a secret. */
export interface RestrictedApis<Group extends string> {
  readonly protocols: readonly Group[];
  readonly header: string;
  readonly value: string;
}

/**
 * Reads all values `<apis>:<key>=<value>` of a flag.
 *
 * @param groups - The known groups of APIs.
 * @param prefix - The prefix of the header's name before the key.
 * @throws {@link TritonError} INVALID_ARG for another form, an unknown group, or a group that is given twice.
 *   The message does not show the secret.
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
 * Reads a pattern in RE2's syntax, which is JavaScript's for all common patterns. It ignores case unless it
 * begins with `(?-i)`.
 *
 * @throws {@link TritonError} INVALID_ARG for a pattern that JavaScript does not support.
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
    const why = thrownText(error);
    throw invalidArgument(`expected a pattern for --${flag} but received '${text}': ${why}`);
  }
}
