/** Checks the arguments of a server's methods. */

import type { UnloadModelOptions } from '../../api/load-options.js';
import type { ModelChoice } from '../../api/server.js';
import { expected, readOptions, show } from '../../argument-checks.js';
import { invalidArgument } from '../../errors.js';
import { printableLine } from '../../printable.js';

/**
 * Options of {@link InferenceServer.close}.
 *
 * @example
 * await server.close({ timeoutMs: 5000 });
 */
export interface CloseOptions {
  /**
   * How long accepted requests may still run, in milliseconds (default 30,000); 0 cancels them now. Triton:
   * `--exit-timeout-secs`.
   */
  readonly timeoutMs?: number | undefined;
}

/**
 * Checks the options of `unloadModel`.
 *
 * @throws {@link TritonError} INVALID_ARG for unknown keys and wrong values.
 */
export function checkUnloadOptions(options: unknown): { unloadDependents: boolean; parent: unknown } {
  const { unloadDependents = false, parent } = readOptions<UnloadModelOptions>(
    options,
    ['unloadDependents', 'parent'],
    'unload options',
  );
  if (typeof unloadDependents === 'boolean') return { unloadDependents, parent };
  throw expected('true or false', 'unload options.unloadDependents', unloadDependents);
}

/**
 * Checks the options of `index`. Returns whether only ready versions are asked for.
 *
 * @throws {@link TritonError} INVALID_ARG for unknown keys and wrong values.
 */
export function checkIndexOptions(options: unknown): boolean {
  const { ready = false } = readOptions<{ readonly ready?: boolean }>(options, ['ready'], 'index options');
  if (typeof ready === 'boolean') return ready;
  throw expected('true or false', 'index options.ready', ready);
}

const defaultCloseMs = 30_000;

/** Checks the options of `close`. Returns its time limit in milliseconds. */
export function checkCloseOptions(options: unknown): number {
  const { timeoutMs = defaultCloseMs } = readOptions<CloseOptions>(options, ['timeoutMs'], 'close options');
  if (typeof timeoutMs === 'number' && timeoutMs >= 0) return timeoutMs;
  throw expected('milliseconds, 0 or more,', 'close options.timeoutMs', timeoutMs);
}

/** Whether a text has no half of a surrogate pair, which no address can hold. */
function isText(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Checks a model's name as Triton does for a load, because the name becomes the name of a folder. */
export function checkModelName(name: unknown): void {
  if (typeof name === 'string' && name.trim() !== '' && name !== '..' && !/[/\0]/.test(name) && isText(name))
    return;
  throw invalidArgument(`expected a model's name, without '/', but received ${show(name)}`);
}

/**
 * Reads which model of a name is meant. The version is checked where its handle is made.
 *
 * @param path - What the error calls the options.
 * @throws {@link TritonError} INVALID_ARG for unknown keys, and for a namespace that is no text.
 */
export function readModelChoice(
  which: unknown,
  path: string = 'model options',
): {
  readonly version: unknown;
  readonly namespace: string | undefined;
} {
  const { version, namespace } = readOptions<ModelChoice>(which ?? {}, ['version', 'namespace'], path);
  return { version, namespace: checkNamespace(namespace, path) };
}

/** A namespace that may be left out; undefined if it is. */
export function checkNamespace(namespace: unknown, path: string): string | undefined {
  if (namespace === undefined || (typeof namespace === 'string' && isText(namespace))) return namespace;
  throw expected('the repository of the model, as it was given,', `${path}.namespace`, namespace);
}

/** A name that may be left out; undefined if it is. */
export function checkOptionalName(name: unknown): string | undefined {
  if (name === undefined || name === null) return undefined;
  if (typeof name === 'string' && isText(name)) return name;
  throw expected("a model's name", 'name', name);
}

/**
 * A version as text; undefined if none was asked for.
 *
 * @param model - The model's name.
 * @param without - What leaving the version out means.
 */
export function checkVersion(
  version: unknown,
  model: string | undefined,
  without = 'the newest',
): string | undefined {
  if (version === undefined || version === null) return undefined;
  if (typeof version === 'number' && Number.isSafeInteger(version) && version >= 0) return String(version);
  if (typeof version === 'string' && /^(0|[1-9]\d*)$/.test(version)) return version;
  const of = model === undefined ? '' : `model '${printableLine(model)}': `;
  throw invalidArgument(
    `${of}expected a version number, or nothing for ${without}, but received ${show(version)}`,
    { model },
  );
}
