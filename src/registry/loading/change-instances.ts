/**
 * Changes the instances of served versions in place, as Triton does, if a load finds nothing else changed: not the
 * files, and of the configuration only `instance_group` and `version_policy`. Requests and sequences go on, no file is
 * read, and statistics count on.
 *
 *     before: a_0  a_1  a_2        the same group with count 2, and another one
 *     now:    a_0  a_1       b_0   a_2 gets no new sequence or batch, and is removed when its sequences have ended
 *
 * Models whose instances are threads or processes of their own, those on GPUs, with host policies or with a warm-up are
 * loaded again instead.
 */

import { isDeepStrictEqual } from 'node:util';
import type { NativeServer } from '../../addon/native/server.js';
import type { NativeStatus } from '../../addon/native/status.js';
import type { NativeInstanceSpec } from '../../addon/native/version-config.js';
import type { ModelConfig } from '../../config/index.js';
import type { GivenModel, ResolvedOptions } from '../../options.js';
import { runningVersion } from '../../javascript/versions/versions.js';
import type { ModelEntry } from '../entries/model-entry.js';
import type { PublishedVersion, VersionDescriptor } from '../entries/published.js';
import { configName } from '../sources/layout.js';
import { placeOf, type FoundModel, type StampedEntry } from '../sources/model-source.js';
import { instancesOf, instancesWithGroups, nativeInstances, type InstanceGroup } from './instances.js';
import { loadError, runnerOf } from './load-version.js';
import type { PreparedModel } from './prepare-model.js';

/** The files that a model was loaded from: those that the program gave, or those of a source with this stamp. */
export interface LoadedFiles {
  readonly given: GivenModel | undefined;
  readonly place: string;
  /** Empty: it is not known. */
  readonly stamp: string;
}

/** What the served versions of a model were loaded from. */
interface Origin {
  readonly files: LoadedFiles;
  /** The configuration before it was completed. */
  readonly config: ModelConfig;
}

const origins: WeakMap<ModelEntry, Origin> = new WeakMap();

/** The engine's numbers of instances, in the order of the descriptor. Unlisted: they count from 0. */
const numbersOf: WeakMap<NativeServer, Map<number, readonly number[]>> = new WeakMap();

/** Notes what a model was loaded from, for its next load. */
export function noteOrigin(entry: ModelEntry, files: LoadedFiles, config: ModelConfig): void {
  origins.set(entry, { files, config });
}

/**
 * Changes the instances of a model's versions, if that is all that a load has to do. If one version fails, those before
 * it are changed and published.
 *
 * @returns The new descriptors by version; undefined: the model has to be loaded again.
 * @throws {@link TritonError} Any code, if an instance cannot be made. The version then goes on as it was.
 */
export async function changeInstances(
  server: NativeServer,
  options: ResolvedOptions,
  entry: ModelEntry,
  found: FoundModel,
  files: LoadedFiles,
  { prepared, versions }: PreparedModel,
): Promise<ReadonlyMap<number, VersionDescriptor> | undefined> {
  const origin = origins.get(entry);
  const { config } = prepared;
  if (!origin || !changesInstancesOnly(origin.config, config) || !areInTheEngine(config)) return undefined;
  if (![origin.config, config].every((one) => areMovable(one, options))) return undefined;
  const served = entry.published().versions.filter(({ state }) => state === 'READY');
  const isSame =
    served.length === versions.length && served.every(({ version }) => versions.includes(version));
  // A backend may have chosen threads or processes for them.
  const ownsInstances = ({ descriptor }: PublishedVersion): boolean =>
    descriptor !== undefined && runningVersion(server, descriptor.uid) !== undefined;
  if (served.some(ownsInstances)) return undefined;
  if (!isSame || !(await areSameFiles(found, origin.files, files))) return undefined;
  const changed = new Map<number, VersionDescriptor>();
  for (const one of served) {
    if (!one.descriptor) return undefined;
    try {
      const descriptor = await changeVersion(server, options, one, one.descriptor, config);
      if (!descriptor) return undefined;
      changed.set(one.version, descriptor);
    } catch (error) {
      publishChanged(entry, changed);
      throw error;
    }
  }
  return changed;
}

/** The versions of a model with these descriptors. */
export function withDescriptors(
  versions: readonly PublishedVersion[],
  changed: ReadonlyMap<number, VersionDescriptor> | undefined,
): readonly PublishedVersion[] {
  if (!changed) return versions;
  return versions.map((one) => {
    const descriptor = changed.get(one.version);
    return descriptor ? { ...one, descriptor } : one;
  });
}

function publishChanged(entry: ModelEntry, changed: ReadonlyMap<number, VersionDescriptor>): void {
  if (changed.size === 0) return;
  const { versions, ...model } = entry.published();
  entry.publish({ ...model, versions: withDescriptors(versions, changed) });
}

function changesInstancesOnly(before: ModelConfig, now: ModelConfig): boolean {
  const rest = (config: ModelConfig): ModelConfig => ({
    ...config,
    instance_group: [],
    version_policy: undefined,
  });
  return isDeepStrictEqual(rest(before), rest(now)) && !isDeepStrictEqual(before, now);
}

/** Whether nothing outside of the engine belongs to an instance. Plug-ins of Triton are told of all instances at the load. */
function areInTheEngine(config: ModelConfig): boolean {
  const backend = runnerOf(config);
  const isPlugin = config.runtime !== '' || config.parameters['plugin'] !== undefined;
  return (
    backend !== undefined &&
    !isPlugin &&
    backend.open === undefined &&
    config.ensemble_scheduling === undefined
  );
}

function areMovable(config: ModelConfig, options: ResolvedOptions): boolean {
  return (
    config.model_warmup.length === 0 &&
    instancesOf(config, options.hostPolicies).every(
      ({ kind, hostPolicy }) => kind === 'KIND_CPU' && hostPolicy === undefined,
    )
  );
}

/** Whether the files beside the configuration are the same. */
async function areSameFiles(found: FoundModel, before: LoadedFiles, now: LoadedFiles): Promise<boolean> {
  if (now.given !== undefined || before.given !== undefined) return now.given === before.given;
  if (before.stamp === '' || now.stamp === '' || before.place !== now.place) return false;
  if (before.stamp === now.stamp) return true;
  const { source, model } = found;
  const [old, present] = await Promise.all([
    source.entriesOf?.(model, before.stamp),
    source.entriesOf?.(model, now.stamp),
  ]);
  return old !== undefined && present !== undefined && isDeepStrictEqual(stampsOf(old), stampsOf(present));
}

function stampsOf(entries: readonly StampedEntry[]): ReadonlyMap<string, string> {
  return new Map(
    entries
      .filter(({ path }) => path !== configName)
      .map(({ path, stamp, target }) => [path, `${stamp}\0${target ?? ''}`]),
  );
}

/** Two instances with the same text can stand for each other. */
function signatureOf({ name: _name, count: _count, ...group }: InstanceGroup): string {
  return JSON.stringify(group);
}

/** Undefined: the engine cannot change this version's instances. */
async function changeVersion(
  server: NativeServer,
  options: ResolvedOptions,
  { version }: PublishedVersion,
  descriptor: VersionDescriptor,
  config: ModelConfig,
): Promise<VersionDescriptor | undefined> {
  const { uid } = descriptor;
  const known = numbersOf.get(server) ?? new Map<number, readonly number[]>();
  numbersOf.set(server, known);
  const before = instancesWithGroups(descriptor.config).map(([, group], i) => ({
    signature: signatureOf(group),
    number: known.get(uid)?.[i] ?? i,
  }));
  const specs = nativeInstances(config, options.hostPolicies);
  const added: NativeInstanceSpec[] = [];
  const numbers = instancesWithGroups(config).map(([, group], i) => {
    const same = before.findIndex(({ signature }) => signature === signatureOf(group));
    const [kept] = same < 0 ? [] : before.splice(same, 1);
    const spec = specs[i];
    if (!kept && spec) added.push(spec);
    return kept?.number;
  });
  const removed = before.map(({ number }) => number);
  const [status, given] = await new Promise<[NativeStatus | null, readonly number[]]>((resolve) => {
    server.changeInstances(uid, removed, added, (error, made) => {
      resolve([error, made]);
    });
  });
  if (status) {
    const error = loadError(status, config.name, version);
    if (error.code === 'UNSUPPORTED') return undefined;
    throw error;
  }
  let next = 0;
  known.set(
    uid,
    numbers.map((number) => number ?? given[next++] ?? 0),
  );
  const { instance_group, version_policy } = config;
  return {
    ...descriptor,
    config: { ...descriptor.config, instance_group, version_policy },
    instances: instancesOf(config, options.hostPolicies),
    changes: (descriptor.changes ?? 0) + 1,
  };
}

/** The text that stands for the place of a model's files. */
export function filesAt({ model }: FoundModel, stamp: string, given: GivenModel | undefined): LoadedFiles {
  return { given, place: placeOf(model), stamp };
}
