/** Prepares a model's configuration and chooses its versions, from what its source has read. */

import type { NativeServer } from '../../addon/native/server.js';
import { customCode } from '../../backends/custom-backends.js';
import { askForGpus, gpuFinder } from '../../backends/gpu-finder.js';
import { mayHavePlugins } from '../../backends/plugin/find-plugin.js';
import { rulesOfBackends } from '../../backends/index.js';
import {
  prepareConfig,
  readModelConfig,
  type ConfigContext,
  type ParsedConfig,
  type PreparedConfig,
} from '../../config/index.js';
import { TritonError, withModel } from '../../errors.js';
import type { ResolvedOptions } from '../../options.js';
import type { FoundModel, ListedModel, ModelFiles } from '../sources/model-source.js';
import { chooseVersions } from './versions.js';

/** A model that is ready to be opened. */
export interface PreparedModel {
  readonly prepared: PreparedConfig;
  /** What it was made of; undefined if there is no configuration. */
  readonly parsed: ParsedConfig | undefined;
  /** The versions that the version policy chooses, ascending. */
  readonly versions: readonly number[];
}

/**
 * Reads and prepares a model's configuration.
 *
 * @param server - Its threads ask for GPUs.
 * @param files - What its source has read of it.
 * @param override - Replaces the configuration.
 * @throws {@link TritonError} INVALID_ARG, UNSUPPORTED or UNAVAILABLE with all problems of the
 *   configuration, or with the reason why no version is chosen.
 */
export async function prepareModel(
  server: NativeServer,
  { source, model: folder }: FoundModel,
  files: ModelFiles,
  options: ResolvedOptions,
  override?: ParsedConfig,
): Promise<PreparedModel> {
  const context: ConfigContext = {
    modelName: folder.name,
    modelDirectory: folder.path,
    firstVersionEntries: files.firstVersionEntries,
    autoComplete: options.autoCompleteConfig,
    backends: rulesOfBackends(),
    gpus: gpuFinder(options, (name) => customCode(name, options) !== undefined, mayHavePlugins(options)),
    instanceKind: options.instanceKind,
  };
  const throwIfEmpty = async (file?: string): Promise<void> => {
    if (files.versions.length === 0 && source.whyNoVersions) throw await source.whyNoVersions(folder, file);
  };
  // If there is a configuration, its problems are reported first.
  if (!override && !files.config) await throwIfEmpty();
  const parsed = named(folder, override ?? (files.config && readConfig(folder.name, files.config)));
  await askForGpus(server, options, wantsGpu(parsed));
  const note = misnamedNote(files.misnamedConfig);
  if (note !== undefined) options.log.warn(`model '${folder.name}': ${note}`, { model: folder.name });
  const prepared = withNote(prepareConfig(parsed, context), note);
  await throwIfEmpty(prepared.config.ensemble_scheduling ? '' : prepared.config.default_model_filename);
  return {
    prepared,
    parsed,
    versions: chooseVersions(prepared.config, prepared.source, files.versions),
  };
}

/** As in Triton, the name that a program gives to a model replaces the one in its configuration. */
function named({ name, isRenamed }: ListedModel, parsed: ParsedConfig | undefined): ParsedConfig | undefined {
  return isRenamed === true && parsed ? { ...parsed, value: { ...parsed.value, name } } : parsed;
}

function withNote(prepared: PreparedConfig, note: string | undefined): PreparedConfig {
  return note === undefined ? prepared : { ...prepared, notes: [note, ...prepared.notes] };
}

/** What to do with a file that nobody reads. */
function misnamedNote(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  return name.toLowerCase().endsWith('.json')
    ? `${name} is not read, because a configuration is a text named config.pbtxt: if it is this model's configuration, give its content as config of loadModel, or write it as config.pbtxt`
    : `${name} is not read, because a configuration has the name config.pbtxt: rename it`;
}

/** Whether instances are to be on GPUs and nowhere else. */
function wantsGpu(parsed: ParsedConfig | undefined): boolean {
  return parsed?.value.instance_group?.some(({ kind }) => kind === 'KIND_GPU') ?? false;
}

/**
 * Reads the text of a configuration.
 *
 * @throws {@link TritonError} INVALID_ARG with all its problems.
 */
export function readConfig(model: string, { file, bytes }: NonNullable<ModelFiles['config']>): ParsedConfig {
  try {
    return readModelConfig({ file, text: bytes });
  } catch (error) {
    // The reader of configurations knows the file, not the model.
    if (!(error instanceof TritonError) || error.model !== undefined) throw error;
    throw withModel(error, model);
  }
}
