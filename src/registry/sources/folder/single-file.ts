/** A single model file instead of a repository: a model with the file's name and version 1. */

import { lstat, stat } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import { TritonError } from '../../../errors.js';
import type { ListedModel, StampedFiles } from '../model-source.js';
import { thrownText } from '../../../thrown-text.js';

/** The file's name in a version, by its extension. The name decides the backend. */
const versionFiles: Readonly<Record<string, string>> = { '.onnx': 'model.onnx' };

/**
 * The model of a file. Its name is the file's, without the extension.
 *
 * @throws {@link TritonError} INVALID_ARG for something that is no model file.
 */
export async function modelOfFile(file: string): Promise<ListedModel> {
  const extension = extname(file).toLowerCase();
  const known = Object.hasOwn(versionFiles, extension);
  if (!known || !(await stat(file)).isFile()) {
    throw new TritonError(
      'INVALID_ARG',
      `expected a folder of models, or a model file (${Object.keys(versionFiles).join(', ')}), but '${file}' is neither`,
    );
  }
  return { name: basename(file, extname(file)), path: dirname(file), file };
}

/** The content that the model's folder would have. */
export async function filesOfFile(name: string, file: string): Promise<StampedFiles> {
  try {
    const stamp = [await stat(file, { bigint: true }), await lstat(file, { bigint: true })];
    return {
      config: undefined,
      versions: [1],
      firstVersionEntries: [{ name: versionFiles[extname(file).toLowerCase()] ?? '', isDirectory: false }],
      // As that of a folder: a program may set the time of a write, but not that of a change. A link may lead elsewhere.
      stamp: stamp
        .map(({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(' '))
        .join(', '),
    };
  } catch (error) {
    const reason = thrownText(error);
    throw new TritonError('NOT_FOUND', `model '${name}': ${file} cannot be read: ${reason}`, {
      model: name,
      cause: error,
    });
  }
}
