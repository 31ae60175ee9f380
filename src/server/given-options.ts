/** What `createServer` was given, read at the call: nothing that changes afterwards counts. */

import type { ServerOptions } from '../options.js';

/** Options as they were, and where relative paths in them begin. */
export interface GivenOptions {
  readonly options: ServerOptions;
  /** Empty where it is gone: relative paths are refused then. */
  readonly workingDirectory: string;
}

/**
 * Copies options, and all that is in them but functions and signals. Their checks come later: what is of the wrong kind
 * is left as it is.
 */
export function takeOptions(options: ServerOptions): GivenOptions {
  const given: unknown = options;
  if (typeof given !== 'object' || given === null) return { options, workingDirectory: '' };
  // Each getter of the caller's runs once.
  const own = { ...options };
  const copy: ServerOptions = {
    ...own,
    ...('modelRepository' in own && { modelRepository: listed(own.modelRepository) }),
    ...('models' in own && { models: members(own.models, givenModel) }),
    ...('loadModels' in own && { loadModels: listed(own.loadModels) }),
    ...('trustedFolders' in own && { trustedFolders: listed(own.trustedFolders) }),
    ...('backendConfig' in own && { backendConfig: members(own.backendConfig, members) }),
  };
  return { options: copy, workingDirectory: workingDirectory() };
}

/** A list with its entries, or what is given in place of a list. */
function listed<T>(given: T): T {
  // The copy of a list is a list of the same.
  return Array.isArray(given) ? (given.map(location) as T) : location(given);
}

/** A URL can be changed in place. */
function location<T>(given: T): T {
  return given instanceof URL ? (new URL(given) as T) : given;
}

/** A given model with copies of its files; bytes that others may write to meanwhile are copied, too. */
function givenModel<T>(given: T): T {
  return members(given, (member) => members(member, bytes));
}

function bytes<T>(given: T): T {
  // A copy is of the same class.
  return given instanceof Uint8Array ? (new Uint8Array(given) as T) : given;
}

/** An object with what `copy` makes of its members. */
function members<T>(given: T, copy: <M>(member: M) => M = (member) => member): T {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given;
  const copied = Object.entries(given).map(([key, member]): [string, unknown] => [key, copy(member)]);
  // The same keys with members of the same types.
  return Object.fromEntries(copied) as T;
}

function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return ''; // It was removed.
  }
}
