/** The configurations of models as they are written in their folders. */

import { lstat, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readModelConfig, type ModelConfigInput } from '../../config/index.js';
import { invalidArgument, TritonError } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import { configName } from '../../registry/sources/layout.js';

/** A model's configuration as it is written. */
export interface WrittenModel {
  readonly name: string;
  /** The path of its config.pbtxt. */
  readonly file: string;
  /** The file's content; undefined: there is no such file, and the configuration comes from the model's files. */
  readonly text: string | undefined;
  readonly config: ModelConfigInput;
}

/**
 * Reads a model's configuration.
 *
 * @param repositories - Folders of this machine. The first one with the model counts.
 * @throws {@link TritonError} NOT_FOUND if no repository has a folder of that name; INVALID_ARG for a repository elsewhere, and
 *   for an invalid configuration.
 */
export async function writtenModel(
  repositories: readonly (string | URL)[],
  name: string,
): Promise<WrittenModel> {
  for (const repository of repositories) {
    const place = String(repository);
    if (/^(s3|gs|as):\/\//.test(place))
      throw invalidArgument(`analyze changes models in folders of this machine, and ${place} is elsewhere`);
    const folder = join(repository instanceof URL ? fileURLToPath(repository) : place, name);
    const found = await stat(folder).catch((): undefined => undefined);
    if (found?.isDirectory() !== true) continue;
    const file = join(folder, configName);
    const text = await textOf(file);
    if (text === undefined) return { name, file, text, config: {} };
    return { name, file, text, config: readModelConfig({ file, text }).value };
  }
  const places = repositories.map(String).join(', ');
  throw new TritonError('NOT_FOUND', `there is no folder '${name}' of a model in ${places}`, { model: name });
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    // A link to nothing would be replaced by a file.
    if (isMissing && !(await isLink(file))) return undefined;
    throw invalidArgument(`${file} cannot be read: ${thrownText(cause)}`, { cause });
  }
}

async function isLink(file: string): Promise<boolean> {
  const found = await lstat(file).catch((): undefined => undefined);
  return found?.isSymbolicLink() === true;
}
