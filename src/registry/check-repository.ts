/** Checks every model of a repository as loading it would, and serves none. */

import { createEngine } from '../addon/server.js';
import type { NativeServer } from '../addon/native.js';
import type { ModelConfig } from '../config/index.js';
import { TritonError, type ErrorLocation, type TritonErrorCode } from '../errors.js';
import type { ServerOptions } from '../options.js';
import { resolveOptions } from '../resolve-options.js';
import { openVersion, retire } from './load-version.js';
import { listModels, readModel } from './local-source.js';
import type { ModelFolder } from './model-folder.js';
import { prepareModel, type PreparedModel } from './prepare-model.js';
import { noModelsError } from './unfit-folder.js';

/** Something that keeps a model from loading. */
export interface CheckProblem {
  readonly code: TritonErrorCode;
  readonly message: string;
  /** The version concerned; undefined: all of them. */
  readonly version: string | undefined;
  readonly location: ErrorLocation | undefined;
}

/** What checking a model came to. */
export interface CheckedModel {
  readonly name: string;
  readonly path: string;
  readonly ok: boolean;
  readonly backend: string;
  readonly versions: readonly string[];
  readonly problems: readonly CheckProblem[];
  /** What completion filled in, and which fields are hints. */
  readonly notes: readonly string[];
  /** The complete configuration of the newest version; undefined where there are problems. */
  readonly config: ModelConfig | undefined;
}

/** Told before each model. */
export type CheckProgress = (model: string, done: number, total: number) => void;

function problemsOf(error: unknown, version?: number): CheckProblem[] {
  const shown = version === undefined ? undefined : String(version);
  if (!(error instanceof TritonError)) {
    return [{ code: 'INTERNAL', message: String(error), version: shown, location: undefined }];
  }
  const parts: readonly unknown[] = error.cause instanceof AggregateError ? error.cause.errors : [];
  const errors = parts.filter((part): part is TritonError => part instanceof TritonError);
  const problems = (errors.length > 0 ? errors : [error]).map(({ code, message, location }) => ({
    code,
    message,
    version: shown,
    location,
  }));
  // So many that not all of them are in the cause: how many more is told.
  const more = errors.length > 0 ? /\n(… and .+ more)$/.exec(error.message)?.[1] : undefined;
  return more === undefined
    ? problems
    : [...problems, { code: error.code, message: more, version: shown, location: undefined }];
}

async function checkModel(
  native: NativeServer,
  options: ReturnType<typeof resolveOptions>,
  folders: readonly ModelFolder[],
): Promise<CheckedModel> {
  const [folder] = folders;
  if (!folder) throw new RangeError('a model without a folder');
  const { name, path } = folder;
  const failed = (
    problems: readonly CheckProblem[],
    backend = '',
    versions: readonly number[] = [],
  ): CheckedModel => ({
    name,
    path,
    ok: false,
    backend,
    versions: versions.map(String),
    problems,
    notes: [],
    config: undefined,
  });
  if (folders.length > 1) {
    return failed([
      {
        code: 'INVALID_ARG',
        message: `model '${name}' appears in two or more repositories: ${folders.map(({ path, file }) => file ?? path).join(', ')}`,
        version: undefined,
        location: undefined,
      },
    ]);
  }
  let prepared: PreparedModel;
  try {
    prepared = await prepareModel(folder, await readModel(native, folder), options);
  } catch (error) {
    return failed(problemsOf(error));
  }
  const { backend } = prepared.prepared.config;
  const problems: CheckProblem[] = [];
  const notes = new Set<string>();
  let config: ModelConfig | undefined;
  for (const version of prepared.versions) {
    try {
      const opened = await openVersion(native, options, prepared, version);
      await retire(native, opened.uid);
      config = opened.config;
      for (const note of opened.notes) notes.add(note);
    } catch (error) {
      problems.push(...problemsOf(error, version));
    }
  }
  if (problems.length > 0) return failed(problems, backend, prepared.versions);
  return {
    name,
    path,
    ok: true,
    backend,
    versions: prepared.versions.map(String),
    problems: [],
    notes: [...notes],
    config,
  };
}

/**
 * Checks all models of one or several repositories: reads and completes each configuration, opens each model file that
 * its version policy chooses, compares the two, and releases everything again.
 *
 * @param options - As for a server; only what concerns repositories, configurations and backends is looked at.
 * @returns One entry a model, by name.
 * @throws {TritonError} INVALID_ARG for wrong options and for repositories without models, NOT_FOUND for a folder that is not there.
 */
export async function checkRepository(
  options: ServerOptions,
  progress?: CheckProgress,
): Promise<CheckedModel[]> {
  const resolved = resolveOptions(options);
  const byName = new Map<string, ModelFolder[]>();
  for (const repository of resolved.repositories) {
    for (const folder of await listModels(repository)) {
      byName.set(folder.name, [...(byName.get(folder.name) ?? []), folder]);
    }
  }
  if (byName.size === 0) throw await noModelsError(resolved.repositories);
  const native = createEngine(resolved);
  const checked: CheckedModel[] = [];
  try {
    for (const [name, folders] of [...byName].sort(([a], [b]) => (a < b ? -1 : 1))) {
      progress?.(name, checked.length, byName.size);
      checked.push(await checkModel(native, resolved, folders));
    }
  } finally {
    await new Promise<void>((resolve) => {
      native.close(0, () => {
        resolve();
      });
    });
    native.join();
  }
  return checked;
}
