/**
 * Loads a model. New versions take over when all of them are ready. If one fails, the old versions go on
 * serving.
 */

import { insist } from '../../addon/memory.js';
import type { NativeServer } from '../../addon/native/server.js';
import { backends } from '../../backends/index.js';
import { customBackend } from '../../backends/custom-backends.js';
import { requiredModels } from '../../backends/required-models.js';
import type { ModelConfig, ParsedConfig } from '../../config/index.js';
import { TritonError } from '../../errors.js';
import type { VersionHost } from '../../javascript/model-server.js';
import { runningVersion } from '../../javascript/versions/versions.js';
import type { LoadEvent, ResolvedOptions } from '../../options.js';
import type { Wait } from '../../waits.js';
import { isEnsemble } from '../../ensemble/composing.js';
import type { Ensembles } from '../entries/ensembles.js';
import { alone, type During } from '../agents/agent-chain.js';
import type { AgentsBegun, ModelAgents } from '../agents/model-agents.js';
import {
  changeInstances,
  filesAt,
  noteOrigin,
  withDescriptors,
  type LoadedFiles,
} from './change-instances.js';
import { logAbandoned } from './abandoned.js';
import { loadVersion, retire } from './load-version.js';
import { readChatTemplate, takesPrompts } from '../files/chat-template.js';
import { HeldFiles } from '../sources/held-files.js';
import { MemorySource } from '../sources/memory-source.js';
import {
  placeOf,
  type FoundModel,
  type ModelSource,
  type ListedModel,
  type ModelFiles,
  type StampedFiles,
} from '../sources/model-source.js';
import { mergedVersions, servedVersions, type ModelEntry } from '../entries/model-entry.js';
import { givenUp } from './load-stops.js';
import type { LoadPlan } from './load-plan.js';
import type { GivenModel } from '../../options.js';
import type { Override } from './override.js';
import { timed } from '../../metrics/load-times.js';
import { prepareModel } from './prepare-model.js';
import type { PublishedModel, PublishedVersion, VersionDescriptor } from '../entries/published.js';
import { thrownText } from '../../thrown-text.js';

/** What a load needs to know of its server. */
export interface LoadContext {
  readonly server: NativeServer;
  readonly options: ResolvedOptions;
  readonly ensembles: Ensembles;
  readonly agents: ModelAgents;
  /** The server, for models that call others. */
  readonly host: VersionHost;
  /** The load in the order of the model's loads and unloads. */
  readonly turn: Wait;
  /** The model that the program gave, if its files are loaded. */
  readonly given: GivenModel | undefined;
  /** Whether somebody may see what is published while a model loads. */
  readonly seen: boolean;
  /**
   * Throws once loading is cancelled.
   *
   * @throws {@link TritonError} CANCELLED.
   */
  readonly throwIfCancelled: () => void;
  /** Aborted once loading is cancelled, or this load is given up. */
  readonly signal: AbortSignal;
  /** Whether the load was given up and did not end, so that nothing of it may be published. */
  readonly isLeft: () => boolean;
  /** @param download - Bytes, of the state 'DOWNLOADING'. */
  readonly report: (
    version: number | undefined,
    state: LoadEvent['state'],
    download?: LoadEvent['download'],
  ) => void;
  /**
   * Whether the model is lazy, so that nothing is loaded now. It gets what is written of its configuration, and marks the
   * model. Undefined: it is loaded in any case.
   *
   * @throws {@link TritonError} INVALID_ARG for a configuration that cannot be read.
   */
  readonly defers?:
    | ((entry: ModelEntry, written: ModelFiles['config'], given: ParsedConfig | undefined) => boolean)
    | undefined;
}

/**
 * The error as a TritonError with the model's name, which the code that looks for a runtime does not know. It takes
 * any value and does not throw.
 */
export function asTritonError(error: unknown, model: string): TritonError {
  if (isTritonError(error)) {
    if (error.model !== undefined) return error;
    const { code, reason, message, tensor, location, cause } = error;
    return new TritonError(code, message, { model, reason, tensor, location, cause });
  }
  const message = thrownText(error);
  return new TritonError('INTERNAL', `model '${model}': ${message}`, { model, cause: error });
}

function isTritonError(error: unknown): error is TritonError {
  try {
    return error instanceof TritonError;
  } catch {
    // It is a proxy that refuses the question.
    return false;
  }
}

/**
 * Loads a model, or loads it again if its files have changed.
 *
 * @param override - Replaces its configuration, or all its files.
 * @param force - Whether it is loaded again even if its files have not changed.
 * @param plan - What a poll has found out. If it is true no more, nothing is loaded: the next poll looks again.
 * @throws {@link TritonError} Any code, with the reason why it cannot be loaded.
 */
export async function loadModel(
  context: LoadContext,
  entry: ModelEntry,
  override: Override | undefined,
  force: boolean,
  plan?: LoadPlan,
): Promise<LoadedModel> {
  const { server } = context;
  const before = entry.published();
  const { publications } = entry;
  const asBefore: LoadedModel = { versions: servedVersions(before), changed: false, loaded: [], ended: [] };
  if (plan && entry.stamp !== plan.known) return asBefore;
  context.report(undefined, 'LOADING');
  const loaded: Loaded[] = [];
  const during: During = (task) => context.host.asker.during(task);
  let begun: AgentsBegun | undefined;
  let served: Served;
  try {
    context.throwIfCancelled();
    // A model that was given without a folder always counts as changed.
    const known = override || force || plan || servedVersions(before).length === 0 ? '' : entry.stamp;
    const found = placeOfLoad(entry, override);
    const { source, model } = found;
    if (known !== '' && (await stampNow(found, context.signal)) === known) {
      // Versions whose load failed meanwhile are not listed any more.
      entry.forgetFailures();
      entry.serveFrom(source);
      return asBefore;
    }
    const files = await timed(server, 'reading', () => source.read(model, context.signal));
    const stamp = override ? '' : stampAt(model, files.stamp);
    if (plan && stamp !== plan.stamp) return asBefore;
    if (asBefore.versions.length === 0 && context.defers?.(entry, files.config, override?.config) === true)
      return { ...asBefore, isDeferred: true };
    begun = await context.agents.begin(entry.key, found, files, override, context.signal, during);
    const read = begun ? { ...begun.found, files: begun.files } : { ...found, files };
    // Agents may make other files of the same ones, for each version.
    const kept = begun || !plan ? undefined : plan.keep;
    const own = override?.files ?? override?.code;
    // Agents make other files, of which no stamp tells.
    const origin = begun || (own && !context.given) ? undefined : filesAt(found, files.stamp, context.given);
    const { versions, config, inPlace } = await loadVersions(context, entry, read, override, loaded, {
      keep: kept,
      files: force ? undefined : origin,
    }).finally(() => {
      if (!context.isLeft()) context.ensembles.endLoad(entry);
    });
    const given = givenUp(context.signal);
    if (given) throw given;
    const old = entry.published();
    const fresh = new Set(loaded.map(({ version }) => version));
    const going = old.versions
      .filter(({ version, state }) => state === 'READY' && versions.includes(version) && !fresh.has(version))
      .map((one) => (one.reason === entry.pollFailure ? { ...one, reason: '' } : one));
    // One that was to be kept may have failed meanwhile.
    if (origin) noteOrigin(entry, origin, config);
    const isWhole = going.length + fresh.size === versions.length;
    served = {
      versions,
      old,
      kept: new Set(going.map(({ version }) => version)),
      stamp: isWhole ? stamp : '',
      source,
    };
    entry.publish({
      state: '',
      reason: '',
      versions: mergedVersions(
        withDescriptors(going, inPlace),
        loaded.map(({ version, descriptor }) => ({ version, state: 'READY', reason: '', descriptor })),
      ),
    });
  } catch (error) {
    for (const { descriptor } of loaded) context.ensembles.forget(descriptor.uid);
    await Promise.all(loaded.map(({ descriptor }) => retire(server, descriptor.uid)));
    await begun?.chain.fail(during);
    const thrown = asTritonError(error, entry.name);
    const failure = (thrown.code === 'CANCELLED' ? givenUp(context.signal) : undefined) ?? thrown;
    await insist(() => {
      if (context.isLeft()) return;
      publishFailure(entry, failure.message, entry.publications === publications);
      // Nobody asked for the load, so the index has to tell of it.
      if (plan && failure.code !== 'CANCELLED') entry.tellFailure(failure.message);
    });
    throw failure;
  }
  // The new versions are served, whatever happens from here on.
  for (const { descriptor } of loaded) tellRestarts(server, entry, descriptor.uid);
  entry.stamp = served.stamp;
  entry.serveFrom(served.source);
  entry.isToReturn = false;
  entry.pollFailure = '';
  entry.isOfRepository = override === undefined;
  const gone = served.old.versions.filter(({ version }) => !served.kept.has(version));
  const ended = gone.filter(({ descriptor }) => descriptor !== undefined);
  if (loaded.length > 0 || ended.length > 0) context.ensembles.changed(entry);
  const { agents } = entry;
  entry.agents = begun?.chain;
  const told = agents?.unload(during);
  // The old versions end when their requests have ended. The load does not wait for that.
  const ends = ended.map(async ({ version, descriptor }) => {
    if (!descriptor) return;
    context.ensembles.forget(descriptor.uid);
    if (await retire(server, descriptor.uid)) logAbandoned(context.options.log, entry, [version]);
  });
  void Promise.allSettled([told, ...ends]).then(() => agents?.unloadComplete(alone));
  await told;
  await begun?.chain.complete(during);
  return {
    versions: served.versions,
    changed: true,
    loaded: loaded.map(({ version }) => version).sort((a, b) => a - b),
    ended: ended.map(({ version }) => version),
  };
}

/** What a load has published, and what it took the place of. */
interface Served {
  readonly versions: readonly number[];
  readonly old: PublishedModel;
  /** Of the old versions those that go on. */
  readonly kept: ReadonlySet<number>;
  readonly stamp: string;
  readonly source: ModelSource;
}

/** The outcome of a load. */
export interface LoadedModel {
  /** The versions that are served now. */
  readonly versions: readonly number[];
  /** False: its files have not changed, and its versions go on. */
  readonly changed: boolean;
  /** Of the versions those that were loaded now. */
  readonly loaded: readonly number[];
  /** Those that were served before, and are not any more, or were loaded again. */
  readonly ended: readonly number[];
  /** Whether nothing was loaded because the model is lazy. */
  readonly isDeferred?: boolean;
}

/**
 * Publishes that a load has failed. No version may stay LOADING, wherever the load failed: the server would never
 * count as ready again.
 *
 * @param isUntold - Whether nothing was published of the model since its load began.
 */
export function publishFailure(entry: ModelEntry, reason: string, isUntold: boolean): void {
  const { versions } = entry.published();
  if (versions.some(({ state }) => state === 'LOADING')) {
    entry.publish({
      state: '',
      reason: '',
      versions: versions.map((one) =>
        one.state === 'LOADING' ? { version: one.version, state: 'UNAVAILABLE', reason } : one,
      ),
    });
  } else if (isUntold && !versions.some(({ state }) => state === 'READY')) {
    entry.publish({ state: 'UNAVAILABLE', reason, versions: [] });
  }
}

/** Publishes it when an instance of a JavaScript model was started anew. */
function tellRestarts(server: NativeServer, entry: ModelEntry, uid: number): void {
  const javaScript = runningVersion(server, uid);
  if (javaScript === undefined) return;
  javaScript.onRestart = (reason): void => {
    const { versions, ...model } = entry.published();
    if (!versions.some(({ descriptor }) => descriptor?.uid === uid)) return;
    entry.publish({
      ...model,
      versions: versions.map((one) => (one.descriptor?.uid === uid ? { ...one, reason } : one)),
    });
  };
}

/** A version that is ready, and not served yet. */
interface Loaded {
  readonly version: number;
  readonly descriptor: VersionDescriptor;
}

/** A model, and what its source has read of it. */
interface ReadModel extends FoundModel {
  readonly files: StampedFiles;
}

/**
 * Where a load finds its model: in memory if the program gave it, else in its one source.
 *
 * @throws {@link TritonError} NOT_FOUND and INVALID_ARG as {@link ModelEntry.place}.
 */
function placeOfLoad(entry: ModelEntry, override: Override | undefined): FoundModel {
  if (!(override?.files ?? override?.code)) return entry.place();
  const source = new MemorySource(entry.name, override.files);
  return { source, model: source.model };
}

/** The stamp that a model has now, as {@link ModelEntry.stamp}. */
export async function stampNow({ source, model }: FoundModel, signal: AbortSignal): Promise<string> {
  return stampAt(model, await source.stamp(model, signal));
}

/** A stamp of a model that may be in another source at its next load, where the same text would mean other files. */
function stampAt(model: ListedModel, stamp: string): string {
  return stamp === '' ? '' : `${placeOf(model)}\0${stamp}`;
}

/** What a load need not load. */
interface Unchanged {
  /** Versions that go on as they are. */
  readonly keep: ReadonlySet<number> | undefined;
  /** The model's files: if they are those of its last load, the instances may be changed in place. Undefined: never. */
  readonly files: LoadedFiles | undefined;
}

/** The numbers of all versions, and the model's configuration before it is completed. */
interface LoadedVersions {
  readonly versions: readonly number[];
  readonly config: ModelConfig;
  /** What is served now of versions whose instances were changed in place; undefined: none were. */
  readonly inPlace?: ReadonlyMap<number, VersionDescriptor> | undefined;
}

/**
 * Loads the versions that the model's policy chooses, but for those that are kept. Returns the numbers of all.
 * An ensemble costs nothing to open, so each of its versions is opened again.
 */
async function loadVersions(
  context: LoadContext,
  entry: ModelEntry,
  { files, ...found }: ReadModel,
  override: Override | undefined,
  loaded: Loaded[],
  { keep, files: origin }: Unchanged,
): Promise<LoadedVersions> {
  const { server, options } = context;
  const model = await prepareModel(server, found, files, options, override?.config);
  const { config } = model.prepared;
  const whole: LoadedVersions = { versions: model.versions, config };
  const inPlace = origin && (await changeInstances(server, options, entry, found, origin, model));
  if (inPlace) return { ...whole, inPlace };
  const composed = isEnsemble(config);
  const before = new Set(servedVersions(entry.published()));
  const isKept = (version: number): boolean =>
    !composed && keep?.has(version) === true && before.has(version);
  const versions = model.versions.filter((version) => !isKept(version));
  if (versions.length === 0) return whole;
  // What is served may change while the load waits: a version of an ensemble may end.
  const unserved = (): ((version: number) => boolean) => {
    const now = new Set(servedVersions(entry.published()));
    return (version) => !now.has(version);
  };
  const publish = (changed: readonly PublishedVersion[]): void => {
    if (context.isLeft()) return;
    entry.publish({ state: '', reason: '', versions: mergedVersions(entry.published().versions, changed) });
  };
  if (context.seen) {
    publish(versions.filter(unserved()).map((version) => ({ version, state: 'LOADING', reason: '' })));
  }
  const replaces = servedVersions(entry.published()).length > 0;
  const chats =
    composed && takesPrompts(model.prepared.config)
      ? await chatTemplates(context, found, model.prepared.config, versions)
      : undefined;
  const required = requiredBy(model.prepared.config);
  const parts = composed
    ? await context.ensembles.loadParts(entry, model.prepared, context.turn)
    : await context.ensembles.loadRequired(entry, model.prepared, required, context.turn);
  const held = composed
    ? undefined
    : new HeldFiles(
        await timed(server, 'download', () =>
          found.source.materialise(found.model, versions, context.signal, (done, total) => {
            context.report(undefined, 'DOWNLOADING', { done, total });
          }),
        ),
      );
  const results = await Promise.allSettled(
    versions.map(async (version) => {
      context.throwIfCancelled();
      context.report(version, 'LOADING');
      const descriptor = held
        ? await loadVersion(
            server,
            options,
            { ...model, local: held.local, code: override?.code, replaces, namespace: entry.key.namespace },
            version,
            context.host,
            () => {
              context.report(version, 'WARMING_UP');
              context.throwIfCancelled();
            },
          )
        : { ...context.ensembles.open(entry, model.prepared, version), chatTemplate: chats?.get(version) };
      held?.keepFor(server, descriptor.uid);
      if (!composed) context.ensembles.noteRequired(descriptor.uid, entry, parts);
      loaded.push({ version, descriptor });
    }),
  );
  await held?.release();
  const failed = results.flatMap((result, i) =>
    result.status === 'rejected'
      ? [{ version: versions[i] ?? 0, error: asTritonError(result.reason, entry.name) }]
      : [],
  );
  const [first] = failed;
  if (!first) return whole;
  const isUnserved = unserved();
  publish(
    failed
      .filter(({ version }) => isUnserved(version))
      .map(({ version, error }) => ({ version, state: 'UNAVAILABLE', reason: error.message })),
  );
  throw first.error;
}

/** The chat templates of an ensemble's versions. It needs no other file of its folder. */
async function chatTemplates(
  { signal }: LoadContext,
  { source, model }: FoundModel,
  config: ModelConfig,
  versions: readonly number[],
): Promise<ReadonlyMap<number, VersionDescriptor['chatTemplate']>> {
  try {
    const local = await source.materialise(model, versions, signal);
    try {
      const read = versions.map(
        async (version) => [version, await readChatTemplate(config, local, version)] as const,
      );
      return new Map(await Promise.all(read));
    } finally {
      await local.release?.().catch(() => undefined); // As the interface says.
    }
  } catch (error) {
    const fault = `the model's folder cannot be read: ${thrownText(error)}`;
    return new Map(versions.map((version) => [version, { fault }]));
  }
}

/** The models that a model requires. Most backends' models call none. */
export function requiredBy(config: ModelConfig): string[] {
  if (config.ensemble_scheduling !== undefined) return [];
  const { callsModels } = backends().get(config.backend) ?? customBackend(config.backend);
  return callsModels === true ? requiredModels(config) : [];
}
