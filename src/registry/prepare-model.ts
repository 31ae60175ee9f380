/** From a model's folder to a prepared configuration and the versions it chooses. */

import { gpuFinder } from '../backends/gpus.js';
import { prepareConfig, type PreparedConfig } from '../config/prepare.js';
import type { ParsedConfig } from '../config/read.js';
import { TritonError } from '../errors.js';
import type { ResolvedOptions } from '../options.js';
import { readModel, type ModelFiles, type ModelFolder } from './local-source.js';
import { filesOf, type Override } from './override.js';
import { chooseVersions } from './versions.js';

/** A model that is ready to be opened. */
export interface PreparedModel {
  readonly prepared: PreparedConfig;
  /** What the version policy chooses, ascending. */
  readonly versions: readonly number[];
}

/**
 * Reads a model's folder and configuration.
 *
 * @param override - What takes the place of both, or of the configuration.
 * @throws {TritonError} With all that is wrong with the configuration, or the version policy's reason.
 */
export async function prepareModel(
  folder: ModelFolder,
  options: ResolvedOptions,
  override?: Override,
): Promise<PreparedModel> {
  const files = override?.files ? { ...filesOf(override.files), config: undefined } : await readModel(folder);
  const parsed = override?.config ?? (files.config && (await readConfig(folder.name, files.config)));
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
