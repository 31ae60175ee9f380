/** Leaves out what a server tells in another form than the protocol's: its type is only promised. */

import type { ModelStatus } from '../../api/metadata.js';
import { isWhole } from '../../perf/measure/server-side.js';
import type { VersionStatistics } from '../reading.js';

type Members = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;
const isTextOrAbsent = (value: unknown): boolean => value === undefined || typeof value === 'string';

/** Statistics that have what is read of them. Memory whose size is not a number is left out alone. */
export function wholeStatistics(all: readonly VersionStatistics[]): VersionStatistics[] {
  // Those of other software may be anything.
  const given: readonly unknown[] = Array.isArray(all) ? all : [];
  return given
    .filter(
      (one): one is VersionStatistics =>
        isObject(one) &&
        typeof one['name'] === 'string' &&
        typeof one['version'] === 'string' &&
        isWhole(one as unknown as VersionStatistics),
    )
    .map((one) => ({ ...one, memory_usage: memoryOf(one) }));
}

function memoryOf({
  memory_usage: memory,
}: VersionStatistics): NonNullable<VersionStatistics['memory_usage']> {
  const given: readonly unknown[] = Array.isArray(memory) ? memory : [];
  return given.filter((one): one is NonNullable<VersionStatistics['memory_usage']>[number] =>
    Number.isFinite(isObject(one) ? one['byte_size'] : undefined),
  );
}

/** Entries of the index with texts alone; undefined if the server has no list. */
export function wholeIndex(index: readonly ModelStatus[] | undefined): ModelStatus[] | undefined {
  const given: unknown = index;
  if (!Array.isArray(given)) return undefined;
  return (given as readonly unknown[]).filter(
    (one): one is ModelStatus =>
      isObject(one) &&
      typeof one['name'] === 'string' &&
      isTextOrAbsent(one['version']) &&
      isTextOrAbsent(one['state']) &&
      isTextOrAbsent(one['reason']),
  );
}
