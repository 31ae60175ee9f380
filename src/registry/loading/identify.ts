/** Finds what stands for the content of a version that is loaded, if the server has a cache outside of the process. */

import { join } from 'node:path';
import { customCode } from '../../backends/custom-backends.js';
import { backends } from '../../backends/index.js';
import { filesStamp, versionIdentity } from '../../cache/identity.js';
import { printConfigJson, type ModelConfig } from '../../config/index.js';
import type { ResolvedOptions } from '../../options.js';
import { thrownText } from '../../thrown-text.js';
import type { ModelCode } from '../../javascript/model-code.js';
import type { LocalFiles } from '../sources/model-source.js';
import { versionFiles } from './override.js';
import type { PreparedModel } from './prepare-model.js';

/** What is used of a model that is opened. */
interface IdentifiedModel extends Pick<PreparedModel, 'prepared'> {
  readonly local: LocalFiles;
  readonly code?: ModelCode | undefined;
  readonly namespace?: string;
}

/**
 * Called before a version is opened. The function that it returns is called when it is open, with the complete
 * configuration. It returns '' if there is no such cache, or if the files have changed meanwhile or cannot be read: then
 * nothing of the version is stored.
 */
export async function identifier(
  options: ResolvedOptions,
  { prepared, local, code, namespace = '' }: IdentifiedModel,
  version: number,
): Promise<(config: ModelConfig) => Promise<string>> {
  const { remoteCache, log } = options;
  if (remoteCache === undefined) return () => Promise.resolve('');
  const model = prepared.context.modelName;
  const path = local.file ?? join(local.directory, String(version));
  const before = local.files ? '' : await filesStamp(path).catch(thrownText);
  return async (config) => {
    const known = backends().has(config.backend) ? undefined : customCode(config.backend, options);
    try {
      const identity = await versionIdentity({
        ...{ namespace, model, version, path },
        config: printConfigJson(config, 0),
        files: local.files && versionFiles(local.files, version),
        code: [code, known].filter((one) => one !== undefined),
      });
      if (local.files || (await filesStamp(path)) === before) return identity;
      log.warn(`model '${model}': its files changed while they were loaded, so its answers are not cached`, {
        model,
      });
    } catch (error) {
      const text = `model '${model}': its files could not be read for the response cache, so its answers are not cached: ${thrownText(error)}`;
      log.warn(text, { model, error });
    }
    return '';
  };
}
