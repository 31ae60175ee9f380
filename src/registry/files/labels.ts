/** Label files, which name the classes of an output. */

import { isUtf8 } from 'node:buffer';
import { isAbsolute, join, relative, sep } from 'node:path';
import { fieldError, fieldPath, indexPath, type ConfigSource, type ModelConfig } from '../../config/index.js';
import type { TritonError, TritonErrorCode } from '../../errors.js';
import { headBytes, misplacedContent } from '../../foreign-content.js';
import type { GivenFiles } from '../sources/model-source.js';
import { readAtMost, TooLargeError, whyUnread } from './read-file.js';

/** The most bytes of a label file: room for a million classes. */
const maxLabelBytes = 64 * 1024 * 1024;

/**
 * Reads the label files of a model's outputs: one label a line, unchanged but for the marks of other systems' editors,
 * CRLF, CR and a byte order mark. An empty line means no label.
 *
 * @param source - Where the configuration came from.
 * @param files - The model's files by path, if it was given without a folder.
 * @returns Labels by name of the output, for outputs with a `label_filename`.
 * @throws {@link TritonError} UNSUPPORTED for a file outside of the model's folder, INTERNAL for a file
 *   that cannot be read.
 */
export async function readLabels(
  config: ModelConfig,
  source: ConfigSource,
  folder: string,
  files?: GivenFiles,
): Promise<Record<string, string[]>> {
  const labels: [string, string[]][] = [];
  for (const [index, { name, label_filename: file }] of config.output.entries()) {
    if (file === '') continue;
    // As in Triton, `/x` is relative to the model's folder.
    const path = join(folder, file);
    const inside = relative(folder, path);
    const refused = (code: TritonErrorCode, text: string, cause?: unknown): TritonError =>
      fieldError(code, source, fieldPath(indexPath('output', index), 'label_filename'), text, {
        model: config.name,
        tensor: name,
        ...(cause === undefined ? {} : { cause }),
      });
    if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
      throw refused('UNSUPPORTED', `'${file}' leads out of the model's folder`);
    }
    let text: string;
    try {
      const given = files?.get(inside.replaceAll(sep, '/'));
      if (files && !given) throw new Error('it is not among the given files');
      if (given && given.size() > maxLabelBytes) throw new TooLargeError(given.size(), maxLabelBytes);
      text = textOf(given ? given.copy() : await readAtMost(path, maxLabelBytes));
    } catch (error) {
      throw refused('INTERNAL', `label file ${path} cannot be read: ${whyUnread(error)}`, error);
    }
    const lines = text.split(/\r\n|[\r\n]/);
    if (lines.at(-1) === '') lines.pop();
    labels.push([name, lines]);
  }
  return Object.fromEntries(labels);
}

/**
 * The text of a label file, which is UTF-8.
 *
 * @throws {Error} For another encoding, and for what came in its place: the labels would be garbage.
 */
function textOf(bytes: Uint8Array): string {
  const misplaced = misplacedContent(bytes.subarray(0, headBytes));
  if (misplaced !== undefined) throw new Error(`it ${misplaced}`);
  if (isUtf8(bytes) && !bytes.includes(0)) return new TextDecoder().decode(bytes);
  const isUtf16 =
    (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff) || bytes.includes(0);
  throw new Error(isUtf16 ? 'it seems to be UTF-16; save it as UTF-8' : 'it is not UTF-8; save it as UTF-8');
}
