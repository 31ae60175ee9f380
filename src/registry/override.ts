/** What `loadModel` may be given instead of the files of a repository. */

import { keepBytes } from '../addon/bytes.js';
import type { NativeBytes } from '../addon/native.js';
import { readModelConfigJson, type ModelConfigInput, type ParsedConfig } from '../config/index.js';
import { invalidArgument, TritonError } from '../errors.js';
import type { GivenModel } from '../options.js';
import { checkKeys, checkObject } from '../checks.js';
import { versionName } from './local-source.js';
import type { ModelFiles } from './model-folder.js';

/**
 * Options of {@link InferenceServer.loadModel}.
 *
 * @example
 * await server.loadModel('digits', { config: { max_batch_size: 16 } });
 * await server.loadModel('upper', { config: {}, files: { 'model.onnx': bytes } });
 */
export interface LoadModelOptions {
  /** The configuration, in place of config.pbtxt: an object in Triton's JSON shape, or its JSON text. Triton: `config`. */
  readonly config?: ModelConfigInput | string | undefined;
  /**
   * The model's files by path in its folder, such as `1/model.onnx`: the repository's are then ignored altogether, and
   * `config` is needed, too. Where no path begins with a version's folder, all are version 1's. Triton: `file:<path>`.
   */
  readonly files?: Readonly<Record<string, Uint8Array>> | undefined;
}

/** Files by path, with `/` between its parts. */
export type GivenFiles = ReadonlyMap<string, NativeBytes>;

/** The same, checked. */
export interface Override {
  readonly config: ParsedConfig;
  /** To be released ({@link releaseOverride}). */
  readonly files: GivenFiles | undefined;
}

/**
 * Checks and copies what was given.
 *
 * @returns Undefined where nothing was.
 * @throws {TritonError} INVALID_ARG for wrong options, a path out of the folder, files without a config, or whatever is
 *   wrong in the configuration; UNAVAILABLE without memory for the files.
 */
export function readOverride(model: string, options: LoadModelOptions): Override | undefined {
  checkObject(options, 'load options');
  checkKeys(options, ['config', 'files'], 'load options');
  const { config, files } = options;
  if (files === undefined && config === undefined) return undefined;
  if (config === undefined) {
    throw invalidArgument(`model '${model}': files need a configuration: give config, too, {} at least`, {
      model,
    });
  }
  return {
    config: readConfig(model, config, 'config of loadModel'),
    files: files === undefined ? undefined : readFiles(model, files),
  };
}

/**
 * Checks and copies a model that the program gives.
 *
 * @throws {TritonError} As {@link readOverride}.
 */
export function readGivenModel(model: string, { config = {}, files }: GivenModel): Override {
  return {
    config: readConfig(model, config, `options.models['${model}'].config`),
    files: readFiles(model, files),
  };
}

function readConfig(model: string, value: unknown, file: string): ParsedConfig {
  try {
    return readModelConfigJson({ file, value });
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    throw new TritonError(error.code, error.message, { model, location: error.location, cause: error.cause });
  }
}

function readFiles(model: string, files: unknown): GivenFiles {
  checkObject(files, `files of model '${model}'`);
  const given = Object.entries(files) as [string, unknown][];
  for (const [path] of given) {
    const parts = path.split('/');
    if (parts.some((part) => part === '' || part === '.' || part === '..') || path.includes('\\')) {
      throw invalidArgument(
        `model '${model}': expected a path inside of the model's folder, such as 1/model.onnx, but received '${path}'`,
        { model },
      );
    }
  }
  const hasVersions = given.some(([path]) => versionName.test(path.split('/')[0] ?? ''));
  const kept = new Map<string, NativeBytes>();
  try {
    for (const [path, content] of given) {
      if (!(content instanceof Uint8Array)) {
        throw invalidArgument(`model '${model}': expected a Uint8Array for file '${path}'`, { model });
      }
      // Others may write to what is shared meanwhile.
      const own = content.buffer instanceof ArrayBuffer ? content : new Uint8Array(content);
      const bytes = keepBytes(own, `model '${model}', file '${path}'`);
      kept.set(path, bytes);
      // The model's own files, such as labels, are looked for beside the versions.
      if (!hasVersions) kept.set(`1/${path}`, bytes);
    }
    return kept;
  } catch (error) {
    release(kept);
    throw error;
  }
}

function release(files: GivenFiles): void {
  for (const bytes of new Set(files.values())) bytes.release();
}

/** Frees what an override holds, when the load is over. */
export function releaseOverride(override: Override | undefined): void {
  if (override?.files) release(override.files);
}

/** The files as if they lay in a folder. */
export function filesOf(files: GivenFiles): ModelFiles {
  const folders = new Map<string, Map<string, boolean>>();
  for (const path of files.keys()) {
    const [folder = '', name, ...rest] = path.split('/');
    if (name === undefined) continue;
    const entries = folders.get(folder) ?? new Map<string, boolean>();
    folders.set(folder, entries.set(name, rest.length > 0));
  }
  const names = [...folders.keys()].sort();
  return {
    config: undefined,
    versions: names
      .filter((name) => versionName.test(name))
      .map(Number)
      .sort((a, b) => a - b),
    firstVersionEntries: [...(folders.get(names[0] ?? '') ?? [])].map(([name, isDirectory]) => ({
      name,
      isDirectory,
    })),
  };
}

/** A version's files, by path in its folder. */
export function versionFiles(files: GivenFiles, version: number): Record<string, NativeBytes> {
  const prefix = `${version}/`;
  return Object.fromEntries(
    [...files].flatMap(([path, content]) =>
      path.startsWith(prefix) ? [[path.slice(prefix.length), content]] : [],
    ),
  );
}
