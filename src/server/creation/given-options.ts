/** The options that `createServer` was called with, read at the call. Later changes have no effect. */

import { isKeyed } from '../../keyless.js';
import type { ServerOptions } from '../../options.js';

/** Copied options, and where relative paths in them start. */
export interface GivenOptions {
  readonly options: ServerOptions;
  /** Empty if the folder was removed: relative paths are refused then. */
  readonly workingDirectory: string;
}

/**
 * Copies options with all their content, except functions and signals. They are checked later, so values of a
 * wrong kind stay as they are.
 */
export function takeOptions(options: ServerOptions): GivenOptions {
  const given: unknown = options;
  if (typeof given !== 'object' || given === null) return { options, workingDirectory: '' };
  // The spread runs each of the caller's getters once.
  const own = { ...options };
  const copy: ServerOptions = {
    ...own,
    ...('modelRepository' in own && { modelRepository: listed(own.modelRepository) }),
    ...('models' in own && { models: members(own.models, givenModel) }),
    ...('loadModels' in own && { loadModels: listed(own.loadModels) }),
    ...('trustedFolders' in own && { trustedFolders: listed(own.trustedFolders) }),
    ...('backendDirectory' in own && { backendDirectory: location(own.backendDirectory) }),
    ...('repositoryAgentDirectory' in own && {
      repositoryAgentDirectory: location(own.repositoryAgentDirectory),
    }),
    ...('metricsConfig' in own && { metricsConfig: members(own.metricsConfig, quantiles) }),
    ...('traceConfig' in own && { traceConfig: members(own.traceConfig, traceMember) }),
    ...('cacheDirectory' in own && { cacheDirectory: location(own.cacheDirectory) }),
    ...('cacheConfig' in own && { cacheConfig: members(own.cacheConfig, members) }),
    ...('backendConfig' in own && { backendConfig: members(own.backendConfig, members) }),
  };
  return { options: copy, workingDirectory: workingDirectory() };
}

/** The most entries of a list that is copied. */
const mostListed = 2 ** 20;

/** The pairs of `summaryQuantiles`; all other members of `metricsConfig` are no objects. */
function quantiles<T>(given: T): T {
  // The copy of a list is a list of the same.
  return Array.isArray(given) && given.length <= mostListed
    ? (given.map((pair: unknown) => listed(pair)) as T)
    : given;
}

/** The list of levels, or the options of OpenTelemetry with their resource. */
function traceMember<T>(given: T): T {
  return Array.isArray(given) ? listed(given) : members(given, members);
}

/** A list with copies of its entries, or the copy of a single value. */
function listed<T>(given: T): T {
  // A list of holes may claim any length, and is refused unread.
  if (Array.isArray(given) && given.length > mostListed) return given;
  // A copy of a list has the same type.
  return Array.isArray(given) ? (given.map(location) as T) : location(given);
}

/** A copy of a URL, which can be changed in place; anything else unchanged. */
function location<T>(given: T): T {
  return given instanceof URL ? (new URL(given) as T) : given;
}

/** A given model with copies of its files. Bytes that others may write to are copied, too. */
function givenModel<T>(given: T): T {
  if (isModel(given)) return given;
  return members(given, (member) => (member instanceof URL ? location(member) : members(member, bytes)));
}

/** Whether it is a model with its functions, which is kept as it is. */
function isModel(given: unknown): boolean {
  return (
    typeof given === 'object' &&
    given !== null &&
    typeof (given as { readonly execute?: unknown }).execute === 'function'
  );
}

function bytes<T>(given: T): T {
  // The copy has the same class.
  return given instanceof Uint8Array ? (new Uint8Array(given) as T) : given;
}

/** An object with what `copy` returns for each member. */
function members<T>(given: T, copy: <M>(member: M) => M = (member) => member): T {
  if (!isKeyed(given)) return given;
  const copied = Object.entries(given).map(([key, member]): [string, unknown] => [key, copy(member)]);
  // The copy has the same keys, with members of the same types.
  return Object.fromEntries(copied) as T;
}

function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return ''; // The folder was removed.
  }
}
