/** The models of a repository in a folder. */

import { lstat, opendir, readlink, stat } from 'node:fs/promises';
import { basename, dirname, sep } from 'node:path';
import { isLack, TritonError, unavailable } from '../../../errors.js';
import { didYouMean } from '../../../suggest.js';
import { listFolder } from '../../files/listing.js';
import { modelOfFile } from './single-file.js';
import type { ListedModel } from '../model-source.js';
import { refuseModelAsRepository } from './unfit-folder.js';
import { thrownText } from '../../../thrown-text.js';

/** What helps to find a folder that is not there. */
async function whereToLook(repository: string): Promise<string> {
  const target = await readlink(repository).catch(() => undefined);
  if (target !== undefined) return `: it is a link to '${target}', which does not exist`;
  const beside = (await listFolder(dirname(repository))).map(({ name }) => name);
  const near = didYouMean(basename(repository), beside);
  try {
    return `${near} (working directory: ${process.cwd()})`;
  } catch {
    return near; // The working directory was removed.
  }
}

async function leadsToFolder(link: string): Promise<boolean> {
  try {
    return (await stat(link)).isDirectory();
  } catch {
    return false; // A dangling link is not a folder.
  }
}

/**
 * Whether a model that a listing does not have is gone. A link whose target cannot be reached is still there.
 *
 * @throws {@link TritonError} NOT_FOUND for such a link, and for what cannot be looked at.
 */
export async function isModelGone({ name, path }: ListedModel): Promise<boolean> {
  try {
    await lstat(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return true;
    throw unreachable(name, path, error);
  }
  try {
    return !(await stat(path)).isDirectory();
  } catch (error) {
    throw unreachable(name, path, error);
  }
}

function unreachable(model: string, path: string, error: unknown): TritonError {
  const text = `model '${model}': ${path} cannot be followed to a folder: ${thrownText(error)}`;
  return new TritonError('NOT_FOUND', text, { model, cause: error });
}

/** No repository has as many entries. The path probably names another folder. */
const mostEntries = 131_072;

/**
 * The models of a repository. Every sub-folder is a model. A model file may be given instead of a repository.
 *
 * @param isCancelled - Returns whether loading was cancelled; called at each entry.
 * @param most - How many entries a repository may have.
 * @throws {@link TritonError} NOT_FOUND if the folder does not exist; INVALID_ARG if it is not a folder, has
 *   too many entries, or is a model's own folder; CANCELLED if loading was cancelled.
 */
export async function listModels(
  repository: string,
  isCancelled: () => boolean = () => false,
  most: number = mostEntries,
): Promise<ListedModel[]> {
  const models: ListedModel[] = [];
  const inside = repository.endsWith(sep) ? repository : repository + sep;
  let count = 0;
  try {
    for await (const entry of await opendir(repository, { bufferSize: 1024 })) {
      if (isCancelled()) {
        throw new TritonError('CANCELLED', `model repository '${repository}': reading it was cancelled`);
      }
      if (++count > most) {
        throw new TritonError(
          'INVALID_ARG',
          `model repository '${repository}' has more than ${most} files and folders`,
        );
      }
      const { name } = entry;
      if (name.startsWith('.')) continue;
      // There may be thousands of entries: this avoids `join`, and a promise for an entry whose kind is
      // known.
      const path = inside + name;
      if (entry.isDirectory() || (entry.isSymbolicLink() && (await leadsToFolder(path)))) {
        models.push({ name, path });
      }
    }
  } catch (error) {
    if (error instanceof TritonError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return [await modelOfFile(repository)];
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const text = isAbsent
      ? `model repository '${repository}': there is no such folder${await whereToLook(repository)}`
      : `model repository '${repository}' cannot be read: ${thrownText(error)}`;
    // It is there, and can be read when the system has what is lacking.
    if (isLack(error)) throw unavailable('NO_MEMORY', text, { cause: error });
    throw new TritonError('NOT_FOUND', text, { cause: error });
  }
  models.sort((a, b) => (a.name < b.name ? -1 : 1));
  await refuseModelAsRepository(repository, models);
  return models;
}
