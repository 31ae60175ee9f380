/** Finds what stands for the content of a version that is loaded, if the server has a cache outside of the process. */

import { join } from 'node:path';
import { customCode } from '../../backends/custom-backends.js';
import { backends } from '../../backends/index.js';
import { filesStamp, versionIdentity } from '../../cache/identity.js';
import { sourceText } from '../../cache/source-text.js';
import { printConfigJson, type ModelConfig } from '../../config/index.js';
import type { BackendConfig, ResolvedOptions } from '../../options.js';
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
 * configuration and the settings of its backend. It returns '' if there is no such cache, if the files have changed meanwhile
 * or cannot be read, or if code of the program has parts that no text stands for: then nothing of the version is stored.
 */
export async function identifier(
  options: ResolvedOptions,
  { prepared, local, code, namespace = '' }: IdentifiedModel,
  version: number,
): Promise<(config: ModelConfig, settings: BackendConfig) => Promise<string>> {
  const { remoteCache, log } = options;
  if (remoteCache === undefined) return () => Promise.resolve('');
  const model = prepared.context.modelName;
  const path = local.file ?? join(local.directory, String(version));
  const before = local.files ? '' : await filesStamp(path).catch(thrownText);
  // An object is read before its functions are called, which may change it.
  const given = code && textOf(code);
  return async (config, settings) => {
    const known = backends().has(config.backend) ? undefined : customCode(config.backend, options);
    const codes = [given, known && textOf(known)].filter((one) => one !== undefined);
    const texts = codes.filter((one) => one !== 'unknown');
    if (texts.length < codes.length) {
      const text = `model '${model}': parts of its code cannot be told apart by their text (bound functions, proxies, members that are not plain data), so its answers are not cached; give it by a file's URL`;
      log.warn(text, { model });
      return '';
    }
    try {
      const identity = await versionIdentity({
        ...{ namespace, model, version, path },
        config: printConfigJson(config, 0),
        files: local.files && versionFiles(local.files, version),
        settings,
        code: texts,
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

/** A file, or the text of a value of the program. */
function textOf(code: ModelCode): { readonly url: string } | { readonly text: string } | 'unknown' {
  if ('url' in code) return code;
  const text = sourceText(code.model);
  return text === undefined ? 'unknown' : { text };
}
