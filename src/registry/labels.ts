/** Label files: the name of each class of an output. */

import { isAbsolute, join, relative, sep } from 'node:path';
import type { ModelConfig } from '../config/types.js';
import { TritonError } from '../errors.js';
import { readAtMost, TooLargeError } from './read-file.js';

/** Largest label file that is read, in bytes: room for a million classes. */
const maxLabelBytes = 64 * 1024 * 1024;

/**
 * Reads the label files of a model's outputs: one label a line, taken as it is; an empty line is no label.
 *
 * @param files - The model's files by path, in place of the folder's.
 * @returns By output name; outputs without a `label_filename` are absent.
 * @throws {TritonError} UNSUPPORTED for a file outside of the model's folder, INTERNAL for one that cannot be read.
 */
export async function readLabels(
  config: ModelConfig,
  folder: string,
  files?: ReadonlyMap<string, Uint8Array>,
): Promise<Record<string, string[]>> {
  const labels: [string, string[]][] = [];
  for (const { name, label_filename: file } of config.output) {
    if (file === '') continue;
    // Like Triton, `/x` is taken relative to the model's folder.
    const path = join(folder, file);
    const inside = relative(folder, path);
    const options = { model: config.name, tensor: name };
    if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
      throw new TritonError(
        'UNSUPPORTED',
        `model '${config.name}', output '${name}': label_filename '${file}' leads out of the model's folder`,
        options,
      );
    }
    let text: string;
    try {
      const given = files?.get(inside.replaceAll(sep, '/'));
      if (files && !given) throw new Error('it is not among the files given');
      if (given && given.length > maxLabelBytes) throw new TooLargeError(given.length, maxLabelBytes);
      text = given
        ? new TextDecoder().decode(given)
        : (await readAtMost(path, maxLabelBytes)).toString('utf8');
    } catch (error) {
      throw new TritonError(
        'INTERNAL',
        `model '${config.name}', output '${name}': label file ${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
        { ...options, cause: error },
      );
    }
    const lines = text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    labels.push([name, lines]);
  }
  return Object.fromEntries(labels);
}
