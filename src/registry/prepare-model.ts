/** From a model's folder to a prepared configuration and the versions it chooses. */

import { gpuFinder } from '../backends/gpus.js';
import type { AlikeConfigs } from '../config/alike.js';
import { decodeConfig } from '../config/decode.js';
import { prepareConfig, type ConfigContext, type PreparedConfig } from '../config/prepare.js';
import type { ParsedConfig } from '../config/read.js';
import { readPlainConfig } from '../config/read-plain.js';
import { TritonError } from '../errors.js';
import { lazy } from '../lazy.js';
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
 * @param configs - The server's.
 * @param override - What takes the place of the configuration.
 * @throws {TritonError} With all that is wrong with the configuration, or the version policy's reason.
 */
export async function prepareModel(
  folder: ModelFolder,
  files: ModelFiles,
  options: ResolvedOptions,
  configs: AlikeConfigs,
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
  const prepared = override
    ? prepareConfig(override, context)
    : await prepareWritten(files.config, context, configs);
  return { prepared, versions: chooseVersions(prepared.config, prepared.source, files.versions) };
}

async function prepareWritten(
  config: ModelFiles['config'],
  context: ConfigContext,
  configs: AlikeConfigs,
): Promise<PreparedConfig> {
  if (!config) return configs.find(undefined, context) ?? configs.prepare(undefined, undefined, context);
  const decoded = decodeConfig(config.bytes);
  // The reader says the same.
  if ('problem' in decoded) return prepareConfig(await readConfig(context.modelName, config), context);
  const written = { file: config.file, text: decoded.text };
  const known = configs.find(written, context);
  if (known) return known;
  const parsed = readPlainConfig(written) ?? (await readConfig(context.modelName, config));
  return configs.prepare(written, parsed, context);
}

/** Most repositories have no use for it. */
const parser = lazy(() => import('../config/read.js'));

/** Reads what is not plain, or not right. */
async function readConfig(model: string, config: NonNullable<ModelFiles['config']>): Promise<ParsedConfig> {
  const { readModelConfig } = await parser();
  try {
    return readModelConfig({ file: config.file, text: config.bytes });
  } catch (error) {
    // The reader knows the file only.
    if (!(error instanceof TritonError) || error.model !== undefined) throw error;
    throw new TritonError(error.code, error.message, { model, location: error.location, cause: error.cause });
  }
}
