/**
 * Explains why a model's file cannot be opened, if that can be told without its runtime. It looks at files that a source has
 * made local, where the runtime looks for them, too.
 */

import { closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { open, readFile, readlink, realpath, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join, normalize } from 'node:path';
import type { NativeBytes } from '../../addon/native/folder.js';
import { unavailable } from '../../errors.js';
import {
  foreignContent,
  foreignText,
  headBytes,
  misplacedContent,
  unreadableText,
} from '../../foreign-content.js';
import { contentText, listFolder } from './listing.js';
import { outlineOf, type Content } from './onnx-outline.js';
import { thrownText } from '../../thrown-text.js';

/** Files that were given as bytes, by their path in the version's folder. */
type BytesByPath = Readonly<Record<string, NativeBytes>>;

/**
 * What is wrong with the first of the files that something can be told of.
 *
 * @param given - The files, if they are bytes.
 * @param unparsed - Whether ONNX Runtime did not find a model in them.
 * @param backend - What is known of the files' backend.
 */
export async function faultOfFiles(
  paths: Iterable<string>,
  given: BytesByPath | undefined,
  unparsed = false,
  { explainsFiles = false }: { readonly explainsFiles?: boolean } = {},
): Promise<string | undefined> {
  const kind: FileKind = { unparsed, isExplained: explainsFiles };
  for (const path of new Set(paths)) {
    const fault = given ? await faultOfBytes(path, given, kind) : await fileFault(path, kind);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** What is known of a file before it is looked at. */
interface FileKind {
  /** Whether ONNX Runtime did not find a model in it. */
  readonly unparsed: boolean;
  /** Whether its backend says what is wrong with its content, except for what failed downloads leave. */
  readonly isExplained: boolean;
}

async function faultOfBytes(path: string, given: BytesByPath, kind: FileKind): Promise<string | undefined> {
  const graph = given[join(path, savedModel)];
  if (graph) return faultOfSavedModel(join(path, savedModel), contentOfBytes(graph));
  const content = given[path] && contentOfBytes(given[path]);
  if (!content) return undefined;
  return faultOfContent(path, content, kind, {
    areBytes: true,
    beside: (location) => {
      const bytes = given[join(dirname(path), location)];
      return Promise.resolve(bytes && contentOfBytes(bytes));
    },
    alike: (location) => {
      const wanted = join(dirname(path), location).toLowerCase();
      return Promise.resolve(Object.keys(given).find((name) => name.toLowerCase() === wanted));
    },
  });
}

function contentOfBytes(bytes: NativeBytes): Content {
  const copy = bytes.copy();
  return {
    size: copy.length,
    read: (offset, length) => Promise.resolve(copy.subarray(offset, offset + length)),
  };
}

/** The file of a model of TensorFlow that is a folder. */
const savedModel = 'saved_model.pb';

/** What a failed download has left in place of the file of a SavedModel. */
async function faultOfSavedModel(path: string, content: Content): Promise<string | undefined> {
  const head = await content.read(0, headBytes);
  const foreign = head.byteLength > 0 ? misplacedContent(head) : foreignContent(head);
  return foreign === undefined ? undefined : `'${path}' ${foreign}`;
}

/** Where the files lie that are named in another one. */
interface Places {
  /** Whether all were given as bytes. */
  readonly areBytes: boolean;
  /** The content of a file beside it; undefined if there is none. */
  readonly beside: (location: string) => Promise<Content | undefined>;
  /** The name of a file beside it that differs from this one in its case. */
  readonly alike: (location: string) => Promise<string | undefined>;
}

/**
 * What is wrong with a file, or with the files that have its weights.
 *
 */
async function faultOfContent(
  path: string,
  content: Content,
  { unparsed, isExplained }: FileKind,
  places: Places,
): Promise<string | undefined> {
  const head = await content.read(0, headBytes);
  const foreign = isExplained && head.byteLength > 0 ? misplacedContent(head) : foreignContent(head);
  if (foreign !== undefined) return `'${path}' ${foreign}`;
  if (isExplained) return undefined;
  const outline = await outlineOf(content);
  if (outline === undefined) {
    if (!unparsed) return undefined;
    const text = foreignText(head);
    if (text !== undefined) return `'${path}' ${text}`;
    return `'${path}' is not an ONNX model, or is damaged: its first bytes are not ONNX; download or export the model again`;
  }
  if (outline.wholeSize !== undefined) {
    return `'${path}' is cut off: it has ${content.size} bytes, and its content goes on to byte ${outline.wholeSize} at least: copy or download the model again`;
  }
  if (unparsed && !outline.hasGraph) {
    return `'${path}' has no graph: it is cut off or not an ONNX model; copy, download or export the model again`;
  }
  const asked = new Map<string, number | undefined>();
  for (const { tensor, location, end } of outline.weights) {
    const what = `'${location}', which has the weights of '${path}' (such as '${tensor}'),`;
    if (isOutside(location)) {
      return `${what} is outside of the version's folder, where weights are not read: put it beside the model's file, and save the model with its new place, such as with onnx.save(model, 'model.onnx', save_as_external_data=True, location='weights.bin')`;
    }
    if (!asked.has(location)) {
      const weights = await places.beside(location);
      const foreign = weights && misplacedContent(await weights.read(0, headBytes));
      if (foreign !== undefined) return `${what} ${foreign}`;
      asked.set(location, weights?.size);
    }
    const size = asked.get(location);
    if (size === undefined) {
      const other = await places.alike(location);
      return other === undefined
        ? `${what} is not there: put it beside the model's file, under that name`
        : `${what} is not there, but '${other}' is: rename it`;
    }
    // Among bytes, ONNX Runtime looks for the name as it is written.
    if (places.areBytes && normalize(location) !== location) {
      return `${what} is not found among files that are given as bytes, because of its name: save the model with the name '${normalize(location)}', or put both files into a model repository`;
    }
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
async function fileFault(path: string, kind: FileKind): Promise<string | undefined> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return await faultOfFolder(path);
    if (!found.isFile()) return undefined;
    const file = await open(path);
    try {
      const handles: FileHandle[] = [];
      try {
        return await faultOfContent(path, await contentOfFile(file), kind, {
          areBytes: false,
          beside: async (location) => {
            const weights = await open(join(dirname(path), location)).catch(noneUnlessDenied);
            if (weights === undefined) return undefined;
            handles.push(weights);
            return (await weights.stat()).isFile() ? contentOfFile(weights) : undefined;
          },
          alike: async (location) => {
            const weights = join(dirname(path), location);
            const name = basename(weights).toLowerCase();
            return (await listFolder(dirname(weights))).find(
              (entry) => !entry.isDirectory && entry.name.toLowerCase() === name,
            )?.name;
          },
        });
      } finally {
        for (const handle of handles) await handle.close();
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code, path: denied = path } = error as NodeJS.ErrnoException;
    if (code === 'EACCES')
      return `'${denied}' cannot be read: permission denied; allow the user of this process to read it`;
    return code === 'ENOENT' ? missingFile(path) : undefined;
  }
}

/** Undefined for a file that is not there. */
function noneUnlessDenied(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error;
  return undefined;
}

/** What is wrong with a model that is a folder; undefined if nothing can be seen from outside. */
async function faultOfFolder(folder: string): Promise<string | undefined> {
  const path = join(folder, savedModel);
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    return await faultOfSavedModel(path, await contentOfFile(file));
  } finally {
    await file.close();
  }
}

/** Whether weights of this name are outside of the folder of the model's file, where ONNX Runtime takes none. */
function isOutside(location: string): boolean {
  return isAbsolute(location) || location.split(/[\\/]/).includes('..');
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
      if (isOutside(location)) return undefined;
      const weights = join(folder, location);
      isLinked ||= (await realpath(weights)) !== weights;
      found.set(location, weights);
    }
    isLinked ||= (await realpath(path)) !== join(folder, basename(path));
    return found.size > 0 && isLinked ? found : undefined;
  } catch {
    return undefined; // The check of the files says more.
  } finally {
    await file.close();
  }
}

/**
 * The bytes of a file that is behind a link.
 *
 * @throws {@link TritonError} UNAVAILABLE if it cannot be read.
 */
export async function readLinkedFile(model: string, file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    // Node reads no more than 2 GiB at once.
    const reason = thrownText(error);
    const text = `'${file}' is behind a link and cannot be read: ${reason}. Put the file itself beside the model`;
    throw unavailable('SYSTEM_REFUSED', `model '${model}': ${text}`, { model, cause: error });
  }
}

/** Files that one backend takes for a model's, by the ends of their names. */
const families: readonly RegExp[] = [
  /\.onnx$/i,
  /\.(?:[mc]?js|ts)$/i,
  /\.py$/i,
  /\.(?:plan|engine)$/i,
  /\.json$/i,
  /\.ubj$/i,
  /\.tl$/i,
];

async function missingFile(path: string): Promise<string> {
  const folder = dirname(path);
  const name = basename(path);
  const target = await readlink(path).catch(() => undefined);
  if (target !== undefined) return `its file '${path}' is a link to '${target}', which does not exist`;
  const entries = await listFolder(folder);
  const fact = `its file ${name} is not there: '${folder}' ${contentText(entries)}`;
  if (/\.savedmodel$/i.test(name) && entries.some((entry) => entry.name === savedModel))
    return `${fact}. Make the folder ${name}, and move ${savedModel} and what belongs to it into that`;
  const family = families.find((end) => end.test(name));
  const other = entries.find((entry) => !entry.isDirectory && family?.test(entry.name) === true)?.name;
  if (other !== undefined) {
    // A name of another kind of module is known by itself only where it is `model`.
    const isKnown =
      extname(other).toLowerCase() === extname(name) || basename(name, extname(name)) === 'model';
    const written = `${isKnown ? 'or write' : 'Write'} default_model_filename: ${JSON.stringify(other)} in config.pbtxt`;
    const renamed = `${basename(name, extname(name))}${extname(other).toLowerCase()}`;
    return isKnown ? `${fact}. Rename ${other} to ${renamed}, ${written}` : `${fact}. ${written}`;
  }
  const version = basename(folder);
  const better = await versionWith(name, dirname(folder), version);
  return better === undefined
    ? `${fact}. Put the model there`
    : `${fact}, and version ${better} has it. Put the model there, or remove the folder to have version ${better} served`;
}

/**
 * Why a file of code cannot be run, and what to do; undefined if nothing can be seen from outside. A load that goes on
 * waits for nothing here, so that a server that closes meanwhile sees it.
 *
 * @param path - Where the file should be.
 */
export function faultOfCode(path: string): Promise<string> | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return missingFile(path);
  if (!found.isFile()) return undefined;
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const head = new Uint8Array(headBytes);
    const unreadable = unreadableText(head.subarray(0, readSync(file, head)));
    return unreadable === undefined ? undefined : Promise.resolve(`'${path}' ${unreadable}`);
  } finally {
    closeSync(file);
  }
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
