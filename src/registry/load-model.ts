/** One load of a model: new versions take over when all of them are ready; if one fails, what was served goes on. */

import type { NativeServer } from '../addon/native.js';
import { TritonError } from '../errors.js';
import type { LoadEvent, ResolvedOptions } from '../options.js';
import { loadVersion, retire } from './load-version.js';
import { readModel } from './local-source.js';
import type { ModelFiles, ModelFolder } from './model-folder.js';
import { mergedVersions, servedVersions, type ModelEntry } from './model-entry.js';
import { filesOf, type Override } from './override.js';
import { prepareModel } from './prepare-model.js';
import type { PublishedModel, PublishedVersion, VersionDescriptor } from './published.js';

/** What a load needs of its server. */
export interface LoadContext {
  readonly server: NativeServer;
  readonly options: ResolvedOptions;
  /** Whether somebody may see what is published of a model on its way. */
  readonly seen: boolean;
  /** @throws {TritonError} CANCELLED once loading is given up. */
  readonly throwIfGivenUp: () => void;
  readonly report: (version: number | undefined, state: LoadEvent['state']) => void;
}

/** The error as one of ours, with the model's name, which whoever looks for a runtime does not know. */
export function asTritonError(error: unknown, model: string): TritonError {
  if (error instanceof TritonError) {
    if (error.model !== undefined) return error;
    const { code, message, tensor, location, cause } = error;
    return new TritonError(code, message, { model, tensor, location, cause });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new TritonError('INTERNAL', `model '${model}': ${message}`, { model, cause: error });
}

/**
 * Loads a model, or loads it anew if its files have changed.
 *
 * @param override - What takes the place of its configuration, or of all its files.
 * @returns The versions that are served now.
 * @throws {TritonError} With the reason.
 */
export async function loadModel(
  context: LoadContext,
  entry: ModelEntry,
  override: Override | undefined,
): Promise<readonly number[]> {
  const { server } = context;
  const before = entry.published();
  const { publications } = entry;
  context.report(undefined, 'LOADING');
  const loaded: Loaded[] = [];
  try {
    context.throwIfGivenUp();
    // What was given in place of files is never 'unchanged'.
    const known = override || servedVersions(before).length === 0 ? '' : entry.stamp;
    const found = await findFiles(server, entry, known, override);
    if (known !== '' && found.stamp === known) {
      // What failed to load meanwhile is gone again.
      const versions = before.versions.filter(({ state }) => state === 'READY');
      if (versions.length < before.versions.length) entry.publish({ state: '', reason: '', versions });
      return servedVersions(before);
    }
    const versions = await loadVersions(context, entry, before, found, override, loaded);
    entry.publish({
      state: '',
      reason: '',
      versions: mergedVersions(
        [],
        loaded.map(({ version, descriptor }) => ({ version, state: 'READY', reason: '', descriptor })),
      ),
    });
    entry.stamp = found.stamp;
    // What was served before ends when its requests have ended; nobody waits for that.
    for (const { descriptor } of before.versions) if (descriptor) void retire(server, descriptor.uid);
    return versions;
  } catch (error) {
    await Promise.all(loaded.map(({ descriptor }) => retire(server, descriptor.uid)));
    const failure = asTritonError(error, entry.name);
    if (entry.publications === publications && servedVersions(before).length === 0) {
      entry.publish({ state: 'UNAVAILABLE', reason: failure.message, versions: [] });
    }
    throw failure;
  }
}

/** A version that is ready, and not served yet. */
interface Loaded {
  readonly version: number;
  readonly descriptor: VersionDescriptor;
}

/** Where a model's files are, and what they are. */
interface FoundFiles {
  readonly folder: ModelFolder;
  readonly files: ModelFiles;
  /** Empty where there is nothing to compare with the next time. */
  readonly stamp: string;
}

async function findFiles(
  server: NativeServer,
  entry: ModelEntry,
  known: string,
  override: Override | undefined,
): Promise<FoundFiles> {
  const { name } = entry;
  if (override?.files)
    return { folder: { name, path: name, isGiven: true }, files: filesOf(override.files), stamp: '' };
  const folder = entry.folder();
  const files = await readModel(server, folder, known);
  return { folder, files, stamp: override ? '' : files.stamp };
}

/** Loads the versions that the model's policy chooses; returns their numbers. */
async function loadVersions(
  context: LoadContext,
  entry: ModelEntry,
  before: PublishedModel,
  { folder, files }: FoundFiles,
  override: Override | undefined,
  loaded: Loaded[],
): Promise<readonly number[]> {
  const { server, options } = context;
  const model = await prepareModel(folder, files, options, override?.config);
  const { versions } = model;
  const unserved = (version: number): boolean => !servedVersions(before).includes(version);
  const publish = (changed: readonly PublishedVersion[]): void => {
    entry.publish({ state: '', reason: '', versions: mergedVersions(before.versions, changed) });
  };
  if (context.seen) {
    publish(versions.filter(unserved).map((version) => ({ version, state: 'LOADING', reason: '' })));
  }
  const results = await Promise.allSettled(
    versions.map(async (version) => {
      context.throwIfGivenUp();
      context.report(version, 'LOADING');
      const descriptor = await loadVersion(server, options, model, version, override);
      loaded.push({ version, descriptor });
    }),
  );
  const failed = results.flatMap((result, i) =>
    result.status === 'rejected'
      ? [{ version: versions[i] ?? 0, error: asTritonError(result.reason, entry.name) }]
      : [],
  );
  const [first] = failed;
  if (!first) return versions;
  publish(
    failed
      .filter(({ version }) => unserved(version))
      .map(({ version, error }) => ({ version, state: 'UNAVAILABLE', reason: error.message })),
  );
  throw first.error;
}
