/** Checks every model of a repository as a load would, and serves none of them. */

import { defaultNamespace } from '../model-key.js';
import { insistOnAnswer } from '../addon/memory.js';
import { createEngine } from '../addon/engine.js';
import type { NativeServer } from '../addon/native/server.js';
import { requiresField } from '../backends/required-models.js';
import { fieldError, finishConfig, tritonDefaults, type ModelConfig } from '../config/index.js';
import { compileEnsemble } from '../ensemble/compile.js';
import { composingModels, isEnsemble, type ComposingVersion } from '../ensemble/composing.js';
import { Asker, Asking } from '../javascript/asker.js';
import { sharedController } from '../signals.js';
import { Wait } from '../waits.js';
import { TritonError, type ErrorLocation, type TritonErrorCode, unavailable } from '../errors.js';
import type { VersionHost } from '../javascript/model-server.js';
import { keyText, resolveKey } from '../model-key.js';
import { ignore } from '../logger.js';
import type { LoadEvent, ServerOptions } from '../options.js';
import { resolveOptions } from '../resolve-options.js';
import { checkBackendDirectory } from '../backends/custom-backends.js';
import { alone } from './agents/agent-chain.js';
import { checkAgentDirectory } from './agents/find-agent.js';
import { ModelAgents, type AgentsBegun } from './agents/model-agents.js';
import { openVersion, retire } from './loading/load-version.js';
import { asTritonError, requiredBy } from './loading/load-model.js';
import { prepareModel, type PreparedModel } from './loading/prepare-model.js';
import { findModels, noModelsError, type FoundPlaces } from './sources/find-models.js';
import {
  placeOf,
  type DownloadProgress,
  type FoundModel,
  type ListedModel,
  type StampedFiles,
} from './sources/model-source.js';
import { HeldFiles } from './sources/held-files.js';
import { sourcesOf } from './sources/sources-of.js';

/** A problem that keeps a model from loading. */
export interface CheckProblem {
  readonly code: TritonErrorCode;
  readonly message: string;
  /** The version concerned; undefined if it concerns all of them. */
  readonly version: string | undefined;
  readonly location: ErrorLocation | undefined;
}

/** The outcome of checking a model. */
export interface CheckedModel {
  readonly name: string;
  readonly path: string;
  readonly ok: boolean;
  readonly backend: string;
  readonly versions: readonly string[];
  readonly problems: readonly CheckProblem[];
  /** What completion filled in, and which fields are hints. */
  readonly notes: readonly string[];
  /** The complete configuration of the newest version; undefined if there are problems. */
  readonly config: ModelConfig | undefined;
}

/** Called before each model, and while its files are downloaded. */
export type CheckProgress = (
  model: string,
  done: number,
  total: number,
  download?: LoadEvent['download'],
) => void;

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
  // The cause does not list all problems if there are very many. The message then says how many more there
  // are.
  const more = errors.length > 0 ? /\n(… and .+ more)$/.exec(error.message)?.[1] : undefined;
  return more === undefined
    ? problems
    : [...problems, { code: error.code, message: more, version: shown, location: undefined }];
}

/** A check is not cancelled. */
const uncancelled = sharedController().signal;

/** Where models are looked at, none can be called. */
const unserved: VersionHost = {
  handle: undefined,
  wake: () => Promise.resolve(),
  key: { namespace: defaultNamespace, name: '' },
  signal: uncancelled,
  asker: new Asker(new Asking(), new Wait('load', ''), new Wait('run', '')),
  server: () => {
    throw unavailable('NOT_ALLOWED', 'no models are served while a repository is checked');
  },
};

/** Checks a model that another one needs; undefined if there is none of that name. */
type CheckPart = (model: string) => Promise<CheckedModel> | undefined;

/** Checks an ensemble against its models, which are checked before. */
async function checkEnsemble(
  { prepared }: PreparedModel,
  checkPart: CheckPart,
): Promise<Pick<CheckedModel, 'notes' | 'config'>> {
  const { config, notes } = finishConfig(prepared, undefined, tritonDefaults);
  const parts = new Map<string, readonly ComposingVersion[]>();
  for (const name of composingModels(config)) {
    const part = await checkPart(name);
    if (part === undefined) continue;
    const { config: own, versions } = part;
    parts.set(
      name,
      own
        ? versions.map((version) => ({ version: Number(version), uid: 0, config: own, labels: {} })).reverse()
        : [],
    );
  }
  const compiled = compileEnsemble(config, prepared.source, (name) => parts.get(name));
  return { config: compiled.config, notes: [...notes, ...compiled.notes] };
}

/**
 * Checks the models that a model in JavaScript or Python requires.
 *
 * @throws {@link TritonError} INVALID_ARG or UNAVAILABLE if one is missing, cannot be loaded, or requires this one.
 */
async function checkRequired({ prepared }: PreparedModel, checkPart: CheckPart): Promise<void> {
  const { config, source } = prepared;
  for (const name of requiredBy(config)) {
    const part = await checkPart(name);
    if (part?.ok === true) continue;
    const [code, text] =
      part === undefined
        ? (['INVALID_ARG', `no repository has a model '${name}'`] as const)
        : ([
            'UNAVAILABLE',
            `model '${name}' could not be loaded: ${part.problems[0]?.message ?? ''}`,
          ] as const);
    throw fieldError(code, source, requiresField, text, {
      model: config.name,
      reason: code === 'UNAVAILABLE' ? 'LOAD_FAILED' : undefined,
    });
  }
}

/** The outcome for a model with problems. */
function failed(
  { name, path }: ListedModel,
  problems: readonly CheckProblem[],
  backend = '',
  versions: readonly number[] = [],
): CheckedModel {
  return {
    ...{ name, path, ok: false, backend, versions: versions.map(String), problems },
    notes: [],
    config: undefined,
  };
}

/** Checks a model between the calls of its repository agents. */
async function checkModel(
  native: NativeServer,
  options: ReturnType<typeof resolveOptions>,
  agents: ModelAgents,
  { key, places }: FoundPlaces,
  checkPart: CheckPart,
  download: DownloadProgress,
): Promise<CheckedModel> {
  const [found] = places;
  if (!found) throw new RangeError('a model without a place');
  const { source, model } = found;
  if (places.length > 1) {
    return failed(model, [
      {
        code: 'INVALID_ARG',
        message: `model '${model.name}' appears in two or more repositories: ${places.map((one) => placeOf(one.model)).join(', ')}`,
        version: undefined,
        location: undefined,
      },
    ]);
  }
  let files: StampedFiles;
  let begun: AgentsBegun | undefined;
  try {
    files = await source.read(model, uncancelled);
    begun = await agents.begin(key, found, files, undefined, uncancelled, alone);
  } catch (error) {
    const [problem, ...others] = problemsOf(asTritonError(error, model.name));
    // What an agent says is elsewhere in the log alone.
    const cause =
      error instanceof TritonError && error.cause instanceof Error ? `: ${error.cause.message}` : '';
    return failed(model, problem ? [{ ...problem, message: problem.message + cause }, ...others] : []);
  }
  const checked = await checkFound(
    native,
    options,
    begun?.found ?? found,
    begun?.files ?? files,
    checkPart,
    download,
  );
  if (checked.ok) {
    await begun?.chain.complete(alone);
    await begun?.chain.unload(alone);
    await begun?.chain.unloadComplete(alone);
  } else await begun?.chain.fail(alone);
  return { ...checked, path: model.path };
}

/** Checks what has been read of a model. */
async function checkFound(
  native: NativeServer,
  options: ReturnType<typeof resolveOptions>,
  found: FoundModel,
  files: StampedFiles,
  checkPart: CheckPart,
  download: DownloadProgress,
): Promise<CheckedModel> {
  const { source, model } = found;
  const { name, path } = model;
  let prepared: PreparedModel;
  try {
    prepared = await prepareModel(native, found, files, options);
  } catch (error) {
    return failed(model, problemsOf(asTritonError(error, name)));
  }
  const { backend } = prepared.prepared.config;
  const problems: CheckProblem[] = [];
  const notes = new Set<string>();
  let config: ModelConfig | undefined;
  try {
    await checkRequired(prepared, checkPart);
  } catch (error) {
    return failed(model, problemsOf(error), backend, prepared.versions);
  }
  let held: HeldFiles | undefined;
  try {
    if (!isEnsemble(prepared.prepared.config)) {
      held = new HeldFiles(await source.materialise(model, prepared.versions, uncancelled, download));
    }
  } catch (error) {
    return failed(model, problemsOf(asTritonError(error, name)), backend, prepared.versions);
  }
  for (const version of prepared.versions) {
    try {
      if (!held) {
        const checked = await checkEnsemble(prepared, checkPart);
        config = checked.config;
        for (const note of checked.notes) notes.add(note);
        continue;
      }
      const opened = await openVersion(
        native,
        options,
        { prepared: prepared.prepared, parsed: prepared.parsed, local: held.local },
        version,
        unserved,
      );
      opened.warmup.release();
      await retire(native, opened.uid);
      config = opened.config;
      for (const note of opened.notes) notes.add(note);
    } catch (error) {
      problems.push(...problemsOf(error, version));
    }
  }
  await held?.release();
  if (problems.length > 0) return failed(model, problems, backend, prepared.versions);
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
 * Checks all models of one or several repositories: reads and completes each configuration, opens each model
 * file that the version policy chooses, compares the two, and releases everything again.
 *
 * @param options - As for a server. Only options about repositories, configurations and backends matter.
 * @param only - Names of the models to check, with those that they need; undefined: all of them.
 * @returns One entry for each model, by name.
 * @throws {@link TritonError} INVALID_ARG for wrong options and for repositories without models, NOT_FOUND
 *   for a folder that does not exist.
 */
export async function checkRepository(
  options: ServerOptions,
  progress?: CheckProgress,
  only?: readonly string[],
): Promise<CheckedModel[]> {
  const resolved = resolveOptions(options);
  await checkBackendDirectory(resolved);
  await checkAgentDirectory(resolved);
  const native = createEngine(resolved);
  const agents = new ModelAgents(native, { ...resolved, log: { ...resolved.log, error: ignore } });
  const checked: CheckedModel[] = [];
  try {
    const sources = sourcesOf(native, resolved);
    const found = await findModels(sources, uncancelled);
    const all = [...found.values()].sort((a, b) => (a.key.name < b.key.name ? -1 : 1));
    if (all.length === 0) throw await noModelsError(sources);
    const models = only?.flatMap((name) => found.valuesOf(name)) ?? all;
    const checks = new Map<FoundPlaces, Promise<CheckedModel>>();
    // Ensembles wait for the models that they need, and none may need itself.
    const check = (model: FoundPlaces, chain: readonly FoundPlaces[]): Promise<CheckedModel> => {
      const known = checks.get(model);
      if (known) return known;
      const inner = [...chain, model];
      const { namespace, name } = model.key;
      const checkPart: CheckPart = (step) => {
        const key = resolveKey(step, found.namespacesOf(step), namespace);
        const part = key && found.get(key);
        if (!part) return undefined;
        if (!inner.includes(part)) return check(part, inner);
        const circle = [...inner.slice(inner.indexOf(part)), part].map((one) => keyText(one.key));
        const text = `model '${name}': a model cannot need itself: ${circle.join(' → ')}`;
        throw new TritonError('INVALID_ARG', text, { model: name });
      };
      const result = checkModel(native, resolved, agents, model, checkPart, (done, total) => {
        progress?.(name, checked.length, models.length, { done, total });
      });
      checks.set(model, result);
      return result;
    };
    for (const model of models) {
      progress?.(model.key.name, checked.length, models.length);
      checked.push(await check(model, []));
    }
  } finally {
    await insistOnAnswer<readonly string[]>((done) => {
      native.close(0, done);
    });
    native.join();
  }
  return checked;
}
