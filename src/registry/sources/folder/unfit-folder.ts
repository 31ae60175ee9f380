/**
 * Errors for folders that are no repository, or no model: what was expected, what there is, and what to do.
 */

import { basename, dirname, extname, join } from 'node:path';
import { TritonError } from '../../../errors.js';
import { contentText, listFolder, onnxFiles, type ListedEntry } from '../../files/listing.js';
import type { ListedModel, NoModels } from '../model-source.js';

const isVersion = (name: string): boolean => /^\d+$/.test(name);

/**
 * The error for a model without a version folder.
 *
 * @param file - The name of the model's file, if the configuration tells; empty for a model without a file.
 */
export async function noVersionError(
  { name, path }: ListedModel,
  file: string | undefined,
): Promise<TritonError> {
  const entries = await listFolder(path);
  const fact =
    `model '${name}': there is no version folder (a version is a folder with a number as its name, ` +
    `such as ${name}/1): '${path}' ${contentText(entries)}`;
  const found = modelFileAmong(entries, file);
  const folders = entries.filter(({ isDirectory }) => isDirectory).map((entry) => entry.name);
  const named =
    folders.find((folder) => numberIn(folder) !== undefined) ?? (await versionAlike(path, folders));
  const advice =
    found !== undefined
      ? `Move ${found} to ${join(path, '1', nameInVersion(found, file))}`
      : named !== undefined
        ? `Rename ${/^[\w.-]+$/.test(named) ? named : `'${named}'`} to ${numberIn(named) ?? 1}`
        : file === ''
          ? `This model has no file, but it needs an empty version folder: mkdir ${join(path, '1')}`
          : `Put the model at ${join(path, '1', file ?? 'model.onnx')}, or remove the folder from the repository if it is not a model`;
  return new TritonError('INVALID_ARG', `${fact}. ${advice}`, { model: name });
}

const isScript = (name: string): boolean => /\.[mc]?js$/i.test(name);

/** The model's file where it lies beside the version folders by mistake. */
function modelFileAmong(entries: readonly ListedEntry[], file: string | undefined): string | undefined {
  if (file === undefined) return onnxFiles(entries)[0];
  return entries.find(
    ({ name, isDirectory }) =>
      !isDirectory &&
      extname(file) !== '' &&
      (extname(name).toLowerCase() === extname(file).toLowerCase() || (isScript(file) && isScript(name))),
  )?.name;
}

/** The name that the file should have in a version. A script keeps its kind, which Node knows by the extension. */
function nameInVersion(found: string, file = 'model.onnx'): string {
  return isScript(file) ? `${basename(file, extname(file))}${extname(found)}` : file;
}

/** The number that a folder was probably meant to have; undefined if it has none. */
function numberIn(folder: string): number | undefined {
  const [, digits] = /^(?:v|version)?[\s._-]*(\d{1,15})(?:[.\s]0*)*$/i.exec(folder.normalize('NFKC')) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** How many folders are looked into. */
const mostLooked = 16;

/** A folder that has a model's file, as a version has. */
async function versionAlike(path: string, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders.slice(0, mostLooked)) {
    const inside = await listFolder(join(path, folder));
    if (inside.some(({ name }) => /^model\.\w+$|\.onnx$/i.test(name))) return folder;
  }
  return undefined;
}

/**
 * Refuses a model's own folder that was given as a repository. Otherwise its versions would be taken for
 * models.
 *
 * @param models - The models that were found in it.
 * @throws {@link TritonError} INVALID_ARG that names the folder to give instead.
 */
export async function refuseModelAsRepository(
  repository: string,
  models: readonly ListedModel[],
): Promise<void> {
  const [first] = models;
  if (!first || !models.every(({ name }) => isVersion(name))) return;
  // A model may be called 1. It then has versions or a configuration.
  const entries = await listFolder(first.path);
  if (entries.some(({ name, isDirectory }) => (isDirectory ? isVersion(name) : name === 'config.pbtxt')))
    return;
  throw new TritonError(
    'INVALID_ARG',
    `'${repository}' is a model's folder (${first.name} ${contentText(entries)}). ` +
      `Pass its parent '${dirname(repository)}'`,
  );
}

/** Why a repository has no models. */
export async function whyNoModels(repository: string): Promise<NoModels> {
  const entries = await listFolder(repository);
  const fact = `model repository '${repository}' has no models: it ${contentText(entries)}`;
  if (await isVersionFolder(repository, entries)) {
    const advice = `as a version of a model does: give '${dirname(dirname(repository))}'`;
    return { fact: `${fact}, ${advice}`, example: undefined };
  }
  const [onnx] = onnxFiles(entries);
  if (onnx !== undefined) {
    const advice = `give the file itself, '${join(repository, onnx)}', to serve it alone`;
    return { fact: `${fact}: ${advice}`, example: undefined };
  }
  return { fact, example: join(repository, 'digits', '1', 'model.onnx') };
}

/** Whether a folder with a number as its name is a version, and not a repository of that name. */
async function isVersionFolder(folder: string, entries: readonly ListedEntry[]): Promise<boolean> {
  if (!isVersion(basename(folder)) || entries.length === 0) return false;
  if (entries.some(({ name, isDirectory }) => !isDirectory && /^model\.\w+$/.test(name))) return true;
  const beside = await listFolder(dirname(folder));
  return beside.some(({ name }) => name === 'config.pbtxt');
}
