/** Explains why a model's file cannot be opened, if that can be told without its runtime. */

import { open, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { contentText, listFolder, onnxFiles } from './listing.js';

/** This many bytes show what kind of file it is. */
const headBytes = 512;

/**
 * What kind of file it is instead of a model, and what to do; undefined if its beginning does not tell.
 *
 * @param head - Its first bytes.
 */
export function foreignContent(head: Uint8Array): string | undefined {
  if (head.byteLength === 0) return 'is empty: write or download the model again';
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, headBytes)).toString(
    'latin1',
  );
  if (text.startsWith('version https://git-lfs.github.com/spec/')) {
    const size = /^size (\d{1,15})$/m.exec(text)?.[1];
    const bytes = size === undefined ? '' : ` of ${size} bytes`;
    return `is a Git LFS pointer in place of the model${bytes}: run 'git lfs pull' in its repository`;
  }
  if (/^\s*<(?:!doctype|html|\?xml|head|body)/i.test(text)) {
    return 'is a web page, not a model: download the file itself (on Hugging Face, the address with /resolve/, not /blob/)';
  }
  if (text.startsWith('PK\u0003\u0004')) {
    return 'is a zip archive, such as PyTorch writes, not an ONNX model: unpack it, or export the model to ONNX';
  }
  if (/^\s*\{\s*"/.test(text)) return 'is JSON, not an ONNX model: download or export the model again';
  return undefined;
}

/** What is wrong with the first of the files that {@link fileFault} knows something of. */
export async function faultOfFiles(paths: Iterable<string>): Promise<string | undefined> {
  for (const path of new Set(paths)) {
    const fault = await fileFault(path);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/**
 * What is wrong with the file of a version that could not be opened, and what to do; undefined if nothing can
 * be seen from outside.
 *
 * @param path - Where the file should be.
 */
async function fileFault(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isFile()) return undefined;
    const file = await open(path);
    try {
      const { buffer, bytesRead } = await file.read(new Uint8Array(headBytes), 0, headBytes, 0);
      const fault = foreignContent(buffer.subarray(0, bytesRead));
      return fault && `'${path}' ${fault}`;
    } finally {
      await file.close();
    }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? missingFile(path) : undefined;
  }
}

async function missingFile(path: string): Promise<string> {
  const folder = dirname(path);
  const name = basename(path);
  const entries = await listFolder(folder);
  const fact = `its file ${name} is not there: '${folder}' ${contentText(entries)}`;
  const [onnx] = onnxFiles(entries);
  if (onnx !== undefined) {
    return `${fact}. Rename ${onnx} to ${name}, or write default_model_filename: ${JSON.stringify(onnx)} in config.pbtxt`;
  }
  const version = basename(folder);
  const other = await versionWith(name, dirname(folder), version);
  return other === undefined
    ? `${fact}. Put the model there`
    : `${fact}, and version ${other} has it. Put the model there, or remove the folder to have version ${other} served`;
}

/** The newest other version that has the file. */
async function versionWith(file: string, model: string, version: string): Promise<string | undefined> {
  const versions = (await listFolder(model))
    .filter(({ name, isDirectory }) => isDirectory && name !== version && /^\d+$/.test(name))
    .map(({ name }) => name)
    .sort((a, b) => Number(b) - Number(a));
  for (const one of versions) {
    const there = await stat(join(model, one, file)).catch(() => undefined);
    if (there) return one;
  }
  return undefined;
}
