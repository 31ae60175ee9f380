/** From a model's folder to a prepared configuration and the versions it chooses. */

import { gpuFinder } from '../backends/gpus.js';
import { prepareConfig, type PreparedConfig } from '../config/prepare.js';
import type { ParsedConfig } from '../config/read.js';
import { readPlainConfig } from '../config/read-plain.js';
import { TritonError } from '../errors.js';
import type { ResolvedOptions } from '../options.js';
import type { ModelFiles, ModelFolder } from './local-source.js';
import { chooseVersions } from './versions.js';

/** A model that is ready to be opened. */
export interface PreparedModel {
  readonly prepared: PreparedConfig;
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
  const parsed =
    override ??
    (files.config &&
      (readPlainConfig({ file: files.config.file, text: files.config.bytes }) ??
        (await readConfig(folder.name, files.config))));
  const prepared = prepareConfig(parsed, {
    modelName: folder.name,
    modelDirectory: folder.path,
    firstVersionEntries: files.firstVersionEntries,
    autoComplete: options.autoCompleteConfig,
    gpus: gpuFinder(options),
    instanceKind: options.instanceKind,
  });
  return { prepared, versions: chooseVersions(prepared.config, prepared.source, files.versions) };
}

/** Reads what is not plain, or not right. */
async function readConfig(model: string, config: NonNullable<ModelFiles['config']>): Promise<ParsedConfig> {
  const { readModelConfig } = await import('../config/read.js');
  try {
    return readModelConfig({ file: config.file, text: config.bytes });
  } catch (error) {
    // The reader knows the file only.
    if (!(error instanceof TritonError) || error.model !== undefined) throw error;
    throw new TritonError(error.code, error.message, { model, location: error.location, cause: error.cause });
  }
}
