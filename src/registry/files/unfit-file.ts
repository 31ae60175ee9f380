/** Explains why a model's file cannot be opened, if that can be told without its runtime. */

import { open, realpath, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import type { NativeBytes } from '../../addon/native.js';
import { contentText, listFolder, onnxFiles } from './listing.js';
import { outlineOf, type Content } from './onnx-outline.js';

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
  const pointer = lfsPointer(head);
  if (pointer !== undefined) return pointer;
  if (/^\s*<(?:!doctype|html|\?xml|head|body)/i.test(text)) {
    return 'is a web page, not a model: download the file itself (on Hugging Face, the address with /resolve/, not /blob/)';
  }
  if (text.startsWith('PK\u0003\u0004')) {
    return 'is a zip archive, such as PyTorch writes, not an ONNX model: unpack it, or export the model to ONNX';
  }
  if (head[0] === 0x80 && (head[1] ?? 0) >= 2 && (head[1] ?? 0) <= 5) {
    return "is a pickle of Python's, not an ONNX model: export the model to ONNX, such as with torch.onnx.export or skl2onnx";
  }
  // Eight bytes with the length of a JSON text, and the text.
  if (/^[^]{8}\{\s*"/.test(text) && head[7] === 0) {
    return 'is a file of safetensors, which has weights and no graph: export the model to ONNX, such as with optimum-cli export onnx';
  }
  if (/^\s*\{\s*"/.test(text)) return 'is JSON, not an ONNX model: download or export the model again';
  return undefined;
}

function lfsPointer(head: Uint8Array): string | undefined {
  const text = Buffer.from(head).toString('latin1');
  if (!text.startsWith('version https://git-lfs.github.com/spec/')) return undefined;
  const size = /^size (\d{1,15})$/m.exec(text)?.[1];
  const bytes = size === undefined ? '' : ` of ${size} bytes`;
  return `is a Git LFS pointer in place of the model${bytes}: run 'git lfs pull' in its repository`;
}

/** Files that were given as bytes, by their path in the version's folder. */
type BytesByPath = Readonly<Record<string, NativeBytes>>;

/**
 * What is wrong with the first of the files that something can be told of.
 *
 * @param given - The files, if they are bytes.
 */
export async function faultOfFiles(
  paths: Iterable<string>,
  given: BytesByPath | undefined,
): Promise<string | undefined> {
  for (const path of new Set(paths)) {
    const fault = given ? await faultOfBytes(path, given) : await fileFault(path);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

async function faultOfBytes(path: string, given: BytesByPath): Promise<string | undefined> {
  const content = given[path] && contentOfBytes(given[path]);
  if (!content) return undefined;
  return faultOfContent(path, content, (location) => {
    const bytes = given[join(dirname(path), location)];
    return Promise.resolve(bytes && contentOfBytes(bytes));
  });
}

function contentOfBytes(bytes: NativeBytes): Content {
  const copy = bytes.copy();
  return {
    size: copy.length,
    read: (offset, length) => Promise.resolve(copy.subarray(offset, offset + length)),
  };
}

/**
 * What is wrong with a file, or with the files that have its weights.
 *
 * @param beside - The content of a file beside it; undefined if there is none.
 */
async function faultOfContent(
  path: string,
  content: Content,
  beside: (location: string) => Promise<Content | undefined>,
): Promise<string | undefined> {
  const foreign = foreignContent(await content.read(0, headBytes));
  if (foreign !== undefined) return `'${path}' ${foreign}`;
  const outline = await outlineOf(content);
  if (outline === undefined) return undefined;
  if (outline.wholeSize !== undefined) {
    return `'${path}' is cut off: it has ${content.size} bytes, and its content goes on to byte ${outline.wholeSize} at least: copy or download the model again`;
  }
  const asked = new Map<string, number | undefined>();
  for (const { tensor, location, end } of outline.weights) {
    const what = `'${location}', which has the weights of '${path}' (such as '${tensor}'),`;
    if (!asked.has(location)) {
      const weights = await beside(location);
      const foreign = weights && lfsPointer(await weights.read(0, headBytes));
      if (foreign !== undefined) return `${what} ${foreign}`;
      asked.set(location, weights?.size);
    }
    const size = asked.get(location);
    if (size === undefined) return `${what} is not there: put it beside the model's file, under that name`;
    if (size < end) {
      return `${what} is cut off: it has ${size} bytes, and these weights end at byte ${end}: copy or download it again`;
    }
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
      const handles: FileHandle[] = [];
      try {
        return await faultOfContent(path, await contentOfFile(file), async (location) => {
          const weights = await open(join(dirname(path), location)).catch(() => undefined);
          if (weights === undefined) return undefined;
          handles.push(weights);
          return contentOfFile(weights);
        });
      } finally {
        for (const handle of handles) await handle.close();
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? missingFile(path) : undefined;
  }
}

async function contentOfFile(file: FileHandle): Promise<Content> {
  const { size } = await file.stat();
  return {
    size,
    read: async (offset, length) => {
      const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, offset);
      return buffer.subarray(0, bytesRead);
    },
  };
}

/**
 * The weights that a file has in others, if these lie behind links, or the file does. ONNX Runtime takes no weights that
 * lie outside of the model's folder, where a link may lead to.
 *
 * @returns The paths by the names that the file has for them; undefined if there are none, or none is behind a link.
 */
export async function linkedWeights(path: string): Promise<ReadonlyMap<string, string> | undefined> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const outline = await outlineOf(await contentOfFile(file));
    const found = new Map<string, string>();
    const folder = await realpath(dirname(path));
    let isLinked = false;
    for (const location of new Set(outline?.weights.map((one) => one.location))) {
      // A link is its owner's decision; a path out of the folder is that of the model's author.
      if (isAbsolute(location) || location.split(/[\\/]/).includes('..')) return undefined;
      const weights = join(folder, location);
      isLinked ||= (await realpath(weights)) !== weights;
      found.set(location, weights);
    }
    isLinked ||= (await realpath(path)) !== join(folder, basename(path));
    return found.size > 0 && isLinked ? found : undefined;
  } catch {
    return undefined; // Whoever looks for what is wrong with the files says more.
  } finally {
    await file.close();
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
