/** Checks of what the methods of a server are given. */

import { checkKeys, checkObject, expected } from '../checks.js';
import { invalidArgument } from '../errors.js';

/** Options of {@link InferenceServer.close}. */
export interface CloseOptions {
  /** How long accepted requests may still run, in milliseconds (default 30,000); 0: cancel them now. */
  readonly timeoutMs?: number | undefined;
}

/** Options of {@link InferenceServer.unloadModel}. */
export interface UnloadModelOptions {
  /**
   * Whether the models that this one is composed of are unloaded, too (default false). Only an ensemble is composed of
   * others, and ensembles are not served yet: so far it unloads nothing more. Triton: `unload_dependents`.
   */
  readonly unloadDependents?: boolean | undefined;
}

/** @throws {TritonError} INVALID_ARG. */
export function checkUnloadOptions(options: UnloadModelOptions): void {
  checkObject(options, 'unload options');
  checkKeys(options, ['unloadDependents'], 'unload options');
  const given: unknown = options.unloadDependents ?? false;
  if (typeof given !== 'boolean') throw expected('true or false', 'unload options.unloadDependents', given);
}

const defaultCloseMs = 30_000;

/** The time limit of `close`, in milliseconds. */
export function checkCloseOptions(options: CloseOptions): number {
  checkObject(options, 'close options');
  checkKeys(options, ['timeoutMs'], 'close options');
  const { timeoutMs = defaultCloseMs } = options;
  if (typeof (timeoutMs as unknown) === 'number' && timeoutMs >= 0) return timeoutMs;
  throw invalidArgument(
    `expected milliseconds, 0 or more, for close options.timeoutMs but received ${String(timeoutMs)}`,
  );
}

/** As Triton checks the name of a load: it becomes a folder's name. */
export function checkModelName(name: unknown): void {
  if (typeof name === 'string' && name.trim() !== '' && name !== '..' && !name.includes('/')) return;
  throw invalidArgument(
    `expected a model's name, without '/', but received ${typeof name === 'string' ? `'${name}'` : typeof name}`,
  );
}

/** A version as text; undefined where none was asked for. */
export function checkVersion(version: unknown): string | undefined {
  if (version === undefined) return undefined;
  if (typeof version === 'number' && Number.isSafeInteger(version) && version >= 0) return String(version);
  if (typeof version === 'string' && /^(0|[1-9]\d*)$/.test(version)) return version;
  throw invalidArgument(
    `expected a version number but received ${typeof version === 'string' || typeof version === 'number' ? `'${version}'` : typeof version}`,
  );
}
