/** The options of `loadModel`, which replace files of a repository. */

import { keepBytes } from '../../addon/native-bytes.js';
import type { NativeBytes } from '../../addon/native/folder.js';
import { takerOfCode } from '../../backends/index.js';
import { readModelConfig, readModelConfigJson, type ParsedConfig } from '../../config/index.js';
import { invalidArgument, TritonError, withModel } from '../../errors.js';
import type { ModelCode } from '../../javascript/model-code.js';
import { isModelExport } from '../../javascript/threads/load-module.js';
import type { GivenModel } from '../../options.js';
import { checkKeys, checkObject } from '../../argument-checks.js';
import { loadOptionKeys } from './load-options.js';
import type { LoadModelOptions } from '../../api/load-options.js';
import { configName, misnamedConfig, versionName } from '../sources/layout.js';
import type { GivenFiles } from '../sources/model-source.js';

/** Checked options. */
export interface Override {
  readonly config: ParsedConfig;
  /** They have to be released ({@link releaseOverride}). */
  readonly files: GivenFiles | undefined;
  /** The model's code, if the program gave it. There is not a folder then. */
  readonly code?: ModelCode | undefined;
}

/**
 * Checks and copies options.
 *
 * @returns Undefined for options that replace nothing.
 * @throws {@link TritonError} INVALID_ARG for wrong options, a path out of the folder, files without a
 *   config, or a wrong configuration; UNAVAILABLE without memory for the files.
 */
export function readOverride(model: string, options: LoadModelOptions): Override | undefined {
  checkObject(options, 'load options');
  const code = codeOf(model, options, 'load options');
  if (code === undefined || 'url' in code) checkKeys(options, loadOptionKeys, 'load options');
  const config = options.config ?? undefined;
  const files = options.files ?? undefined;
  if (code !== undefined) {
    return {
      config: asCode(readConfig(model, config ?? {}, 'config of loadModel')),
      files: undefined,
      code,
    };
  }
  if (files === undefined && config === undefined) return undefined;
  if (config === undefined && !hasConfig(files)) {
    const misnamed = isRecord(files)
      ? Object.keys(files).find((path) => misnamedConfig.test(path))
      : undefined;
    const unread = misnamed === undefined ? '' : `; '${misnamed}' is not read`;
    throw invalidArgument(
      `model '${model}': files need a configuration: give config, too, {} at least, or the file config.pbtxt${unread}`,
      { model },
    );
  }
  return {
    config:
      config === undefined ? writtenConfig(model, files) : readConfig(model, config, 'config of loadModel'),
    files: files === undefined ? undefined : readFiles(model, files),
  };
}

/**
 * Checks and copies a model that the program gives.
 *
 * @throws {@link TritonError} INVALID_ARG and UNAVAILABLE as {@link readOverride}.
 */
export function readGivenModel(model: string, given: GivenModel): Override {
  const { config, files }: { readonly config?: unknown; readonly files?: unknown } = given;
  const read =
    (config ?? undefined) === undefined && hasConfig(files)
      ? writtenConfig(model, files)
      : readConfig(model, config ?? {}, `options.models['${model}'].config`);
  const code = codeOf(model, given, `options.models['${model}']`);
  if (code !== undefined) return { config: asCode(read), files: undefined, code };
  if ((files ?? undefined) === undefined) {
    throw invalidArgument(
      `model '${model}': expected one of files, module and execute in options.models['${model}']`,
      { model },
    );
  }
  return { config: read, files: readFiles(model, files) };
}

/** The code that a program gives; undefined if it gives files. */
function codeOf(model: string, given: object, path: string): ModelCode | undefined {
  const read: { module?: unknown; execute?: unknown; files?: unknown } = given;
  const [module, execute, files] = [read.module, read.execute, read.files].map((one) => one ?? undefined);
  if ([module, execute, files].filter((one) => one !== undefined).length > 1) {
    throw invalidArgument(`model '${model}': expected one of files, module and execute in ${path}`, {
      model,
    });
  }
  if (module !== undefined) {
    if (module instanceof URL && module.protocol === 'file:') return { url: module.href };
    throw invalidArgument(`model '${model}': expected a file: URL for ${path}.module`, { model });
  }
  if (execute === undefined) return undefined;
  if (isModelExport(given)) return { model: given };
  throw invalidArgument(`model '${model}': expected a function for ${path}.execute`, { model });
}

/** A configuration of code: its backend is the one that takes code, unless another is written. */
function asCode(config: ParsedConfig): ParsedConfig {
  const { value } = config;
  if (value.backend !== undefined || value.platform !== undefined) return config;
  return { ...config, value: { ...value, backend: takerOfCode() } };
}

/** Whether there is a configuration among files. */
function hasConfig(files: unknown): files is Readonly<Record<string, unknown>> {
  return isRecord(files) && Object.hasOwn(files, configName);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The configuration among files. */
function writtenConfig(model: string, files: Readonly<Record<string, unknown>> | undefined): ParsedConfig {
  const text = files?.[configName];
  if (!(text instanceof Uint8Array)) {
    throw invalidArgument(`model '${model}': expected a Uint8Array for file '${configName}'`, { model });
  }
  return inModel(model, () => readModelConfig({ file: configName, text: text.slice() }));
}

function readConfig(model: string, value: unknown, file: string): ParsedConfig {
  return inModel(model, () => readModelConfigJson({ file, value }));
}

/** Reads a configuration. Its reader does not know the model. */
function inModel(model: string, read: () => ParsedConfig): ParsedConfig {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    throw withModel(error, model);
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
      // Other threads may write to shared memory during the copy.
      const own = content.buffer instanceof ArrayBuffer ? content : new Uint8Array(content);
      const bytes = keepBytes(own, `model '${model}', file '${path}'`);
      kept.set(path, bytes);
      // The model's own files, such as labels, are looked for beside the version folders.
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

/** Frees what an override holds. Called when the load has ended. */
export function releaseOverride(override: Override | undefined): void {
  if (override?.files) release(override.files);
}

/** The files of each version's folder. They are grouped once, because a model may have many versions. */
const folders = new WeakMap<GivenFiles, ReadonlyMap<string, (readonly [string, NativeBytes])[]>>();

/** A version's files by their path in its folder. */
export function versionFiles(files: GivenFiles, version: number): Record<string, NativeBytes> {
  let known = folders.get(files);
  if (!known) folders.set(files, (known = filesByFolder(files)));
  return Object.fromEntries(known.get(String(version)) ?? []);
}

function filesByFolder(files: GivenFiles): Map<string, (readonly [string, NativeBytes])[]> {
  const grouped = new Map<string, (readonly [string, NativeBytes])[]>();
  for (const [path, content] of files) {
    const end = path.indexOf('/');
    if (end < 0) continue;
    const folder = path.slice(0, end);
    const file = [path.slice(end + 1), content] as const;
    const known = grouped.get(folder);
    if (known) known.push(file);
    else grouped.set(folder, [file]);
  }
  return grouped;
}
