/** Finds what stands for the content of a version that is loaded, if the server has a cache outside of the process. */

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { customCode } from '../../backends/custom-backends.js';
import { backends } from '../../backends/index.js';
import type { NativeBytes } from '../../addon/native/folder.js';
import { filesStamp, versionIdentity } from '../../cache/identity.js';
import { sourceText } from '../../cache/source-text.js';
import { printConfigJson, type ModelConfig } from '../../config/index.js';
import type { BackendConfig, ResolvedOptions } from '../../options.js';
import { thrownText } from '../../thrown-text.js';
import type { ModelCode } from '../../javascript/model-code.js';
import { versionName } from '../sources/layout.js';
import type { GivenFiles, LocalFiles } from '../sources/model-source.js';
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
  const before = local.files ? '' : await stampOf(local, version).catch(thrownText);
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
        ...{ namespace, model, version },
        paths: local.files ? [] : await pathsOf(local, version),
        config: printConfigJson(config, 0),
        files: local.files && { ...sharedFiles(local.files), ...versionFiles(local.files, version) },
        settings,
        code: texts,
      });
      if (local.files || (await stampOf(local, version)) === before) return identity;
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

/** Where the content of a version is: its folder and all that lies beside the folders of versions, which it may open, too. */
async function pathsOf({ file, directory }: LocalFiles, version: number): Promise<readonly string[]> {
  if (file !== undefined) return [file];
  const own = join(directory, String(version));
  const paths: string[] = [];
  // The program may have given the code of a model, which has no folder.
  for (const name of (await readdir(directory).catch(noneIfAbsent)).sort()) {
    const path = join(directory, name);
    if (name === '__pycache__') continue;
    const isVersion = versionName.test(name) && (await stat(path)).isDirectory();
    if (!isVersion) paths.push(path);
  }
  return [own, ...paths];
}

function noneIfAbsent(error: unknown): string[] {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
  throw error;
}

async function stampOf(local: LocalFiles, version: number): Promise<string> {
  return filesStamp(await pathsOf(local, version));
}

/** Files in memory beside the folders of versions. */
function sharedFiles(files: GivenFiles): Readonly<Record<string, NativeBytes>> {
  const isShared = (path: string): boolean => {
    const [first = '', ...rest] = path.split('/');
    return rest.length === 0 || !versionName.test(first);
  };
  // A file of a version may have the same path in its folder.
  return Object.fromEntries(
    [...files].filter(([path]) => isShared(path)).map(([path, bytes]) => [`../${path}`, bytes]),
  );
}

/** A file, or the text of a value of the program. */
function textOf(code: ModelCode): { readonly url: string } | { readonly text: string } | 'unknown' {
  if ('url' in code) return code;
  const text = sourceText(code.model);
  return text === undefined ? 'unknown' : { text };
}
