/** The models whose statistics are read: the measured one, the steps of ensembles, and those that it calls. */

import type { ModelConfig } from '../../config/index.js';
import { invalidArgument, TritonError } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import type { OpenedServer } from '../targets/target.js';
import { isWhole, type Snapshot, type StatisticsOfVersion } from './server-side.js';

/** See the head of this file. */
export interface WatchedModels {
  readonly model: string;
  /** Other models; their parts of the way are shown apart. */
  readonly composing: readonly string[];
  /** Whether one of them has sequences. */
  readonly hasSequences: boolean;
}

/**
 * Finds them.
 *
 * @param named - Values of `--bls-composing-models`.
 * @throws {@link TritonError} INVALID_ARG if the server has statistics, and none of a named model.
 */
export async function watchedModels(
  server: Pick<OpenedServer, 'metadata' | 'config' | 'configOf' | 'statistics'>,
  named: readonly string[],
): Promise<WatchedModels> {
  const { name: model } = server.metadata;
  const composing = new Set<string>();
  let hasSequences = false;
  const visit = async (config: ModelConfig | undefined): Promise<void> => {
    if (config?.sequence_batching !== undefined) hasSequences = true;
    for (const { model_name: step } of config?.ensemble_scheduling?.step ?? []) {
      if (step === model || composing.has(step)) continue;
      composing.add(step);
      await visit(await server.configOf(step));
    }
  };
  await visit(server.config);
  for (const name of named) {
    await checkNamed(server, model, name);
    composing.add(name);
  }
  return { model, composing: [...composing], hasSequences };
}

async function checkNamed(
  server: Pick<OpenedServer, 'statistics'>,
  model: string,
  name: string,
): Promise<void> {
  try {
    await server.statistics(name);
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    // Without statistics of the measured model either, the server has none at all.
    if ((await snapshotOf(server, model)) === undefined) return;
    throw invalidArgument(`--bls-composing-models: no statistics of '${name}': ${thrownText(error)}`, {
      cause: error,
    });
  }
}

/** Reads the statistics of all of them; undefined if the server has none of the measured model. */
export async function takeSnapshot(
  server: Pick<OpenedServer, 'statistics'>,
  { model, composing }: WatchedModels,
): Promise<Snapshot | undefined> {
  const found = await Promise.all(
    [model, ...composing].map(async (name) => ({ name, versions: await snapshotOf(server, name) })),
  );
  if (found[0]?.versions === undefined) return undefined;
  return new Map(
    found.flatMap(({ name, versions }): [string, readonly StatisticsOfVersion[]][] =>
      versions === undefined ? [] : [[name, versions]],
    ),
  );
}

async function snapshotOf(
  server: Pick<OpenedServer, 'statistics'>,
  name: string,
): Promise<readonly StatisticsOfVersion[] | undefined> {
  try {
    const versions = await server.statistics(name);
    return versions.every(isWhole) ? versions : undefined;
  } catch {
    // Statistics are an extension of KServe v2.
    return undefined;
  }
}
