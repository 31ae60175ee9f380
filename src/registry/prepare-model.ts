/** From a model's folder to a prepared configuration and the versions it chooses. */

import { gpuFinder } from '../backends/gpus.js';
import {
  prepareConfig,
  readModelConfig,
  type ConfigContext,
  type ParsedConfig,
  type PreparedConfig,
} from '../config/index.js';
import { TritonError } from '../errors.js';
import type { ResolvedOptions } from '../options.js';
import type { ModelFiles, ModelFolder } from './model-folder.js';
import { noVersionError } from './unfit-folder.js';
import { chooseVersions } from './versions.js';

/** A model that is ready to be opened. */
export interface PreparedModel {
  readonly prepared: PreparedConfig;
  /** The file of each version, where it is not in the version's folder. */
  readonly file: string | undefined;
  /** What the version policy chooses, ascending. */
  readonly versions: readonly number[];
}

/**
 * Reads a model's configuration.
 *
 * @param files - What lies in its folder.
 * @param override - What takes the place of the configuration.
 * @throws {TritonError} With all that is wrong with the configuration, or the version policy's reason.
 */
export async function prepareModel(
  folder: ModelFolder,
  files: ModelFiles,
  options: ResolvedOptions,
  override?: ParsedConfig,
): Promise<PreparedModel> {
  const context: ConfigContext = {
    modelName: folder.name,
    modelDirectory: folder.path,
    firstVersionEntries: files.firstVersionEntries,
    autoComplete: options.autoCompleteConfig,
    gpus: gpuFinder(options),
    instanceKind: options.instanceKind,
  };
  const hasNoFolder = files.versions.length === 0 && folder.isGiven !== true;
  // What is wrong with a configuration comes first, where there is one.
  if (hasNoFolder && !override && !files.config) throw await noVersionError(folder);
  const parsed = override ?? (files.config && readConfig(folder.name, files.config));
  const prepared = prepareConfig(parsed, context);
  if (hasNoFolder) throw await noVersionError(folder);
  return {
    prepared,
    file: folder.file,
    versions: chooseVersions(prepared.config, prepared.source, files.versions),
  };
}

function readConfig(model: string, { file, bytes }: NonNullable<ModelFiles['config']>): ParsedConfig {
  try {
    return readModelConfig({ file, text: bytes });
  } catch (error) {
    // The reader knows the file only.
    if (!(error instanceof TritonError) || error.model !== undefined) throw error;
    throw new TritonError(error.code, error.message, { model, location: error.location, cause: error.cause });
  }
}
