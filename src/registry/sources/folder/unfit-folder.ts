/**
 * Errors for folders that are no repository, or no model: what was expected, what there is, and what to do.
 */

import { basename, dirname, join } from 'node:path';
import { TritonError } from '../../../errors.js';
import { contentText, listFolder, onnxFiles } from '../../files/listing.js';
import type { ListedModel, NoModels } from '../model-source.js';

const isVersion = (name: string): boolean => /^\d+$/.test(name);

/** The error for a model without a version folder. */
export async function noVersionError({ name, path }: ListedModel): Promise<TritonError> {
  const entries = await listFolder(path);
  const fact =
    `model '${name}': there is no version folder (a version is a folder with a number as its name, ` +
    `such as ${name}/1): '${path}' ${contentText(entries)}`;
  const [onnx] = onnxFiles(entries);
  const folders = entries.filter(({ isDirectory }) => isDirectory).map((entry) => entry.name);
  const named =
    folders.find((folder) => numberIn(folder) !== undefined) ?? (await versionAlike(path, folders));
  const file = onnx ?? 'model.onnx';
  const advice =
    onnx !== undefined
      ? `Move ${file} to ${join(path, '1', 'model.onnx')}`
      : named !== undefined
        ? `Rename ${/^[\w.-]+$/.test(named) ? named : `'${named}'`} to ${numberIn(named) ?? 1}`
        : `Put the model at ${join(path, '1', 'model.onnx')}, or remove the folder from the repository if it is not a model`;
  return new TritonError('INVALID_ARG', `${fact}. ${advice}`, { model: name });
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
    `model repository '${repository}' is the folder of one model, with its versions (${first.name} ` +
      `${contentText(entries)}), but a repository is a folder of models: give '${dirname(repository)}'`,
  );
}

/** Why a repository has no models. */
export async function whyNoModels(repository: string): Promise<NoModels> {
  return {
    fact: await noModelsText(repository),
    example: join(repository, 'digits', '1', 'model.onnx'),
  };
}

async function noModelsText(repository: string): Promise<string> {
  const entries = await listFolder(repository);
  const fact = `model repository '${repository}' has no models: it ${contentText(entries)}`;
  const [onnx] = onnxFiles(entries);
  if (onnx === undefined) return fact;
  return isVersion(basename(repository))
    ? `${fact}, as a version of a model does: give '${dirname(dirname(repository))}'`
    : `${fact}: give the file itself, '${join(repository, onnx)}', to serve it alone`;
}
