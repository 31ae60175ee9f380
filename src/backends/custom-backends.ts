/**
 * Backends in JavaScript that are not the package's: registered by the program, or in the backend directory. That one is a
 * folder of this machine and no repository, because its code runs without being loaded as a model.
 */

import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { invalidArgument, TritonError } from '../errors.js';
import type { ModelCode } from '../javascript/model-code.js';
import { isBackendName } from '../javascript/versions/registered-backends.js';
import type { ResolvedOptions } from '../options.js';
import type { Backend } from './backend.js';
import { backends } from './index.js';
import { backend as javascript } from './javascript/index.js';
import { backend as plugins } from './plugin/index.js';

/** A backend's file, in the order in which they are looked for. */
const files = ['model.js', 'model.mjs', 'model.cjs', 'model.ts'] as const;

/** What says which backends there are. */
export type CustomOptions = Pick<ResolvedOptions, 'registeredBackends' | 'backendDirectory'>;

/** A backend's file in the backend directory. */
function fileOf(directory: string | undefined, name: string): string | undefined {
  // A configuration must not lead out of the directory.
  if (directory === undefined || !isBackendName(name)) return undefined;
  return files.map((file) => join(directory, name, file)).find((path) => existsSync(path));
}

/** The code of a backend; undefined if there is none of this name. */
export function customCode(name: string, options: CustomOptions): ModelCode | undefined {
  const registered = options.registeredBackends.get(name);
  if (registered !== undefined) return registered;
  const file = fileOf(options.backendDirectory, name);
  return file === undefined ? undefined : { url: pathToFileURL(file).href };
}

/** The backends in JavaScript besides the package's, and where their code is. */
export async function listCustomBackends({
  registeredBackends,
  backendDirectory,
}: CustomOptions): Promise<{ readonly name: string; readonly place: string }[]> {
  const registered = [...registeredBackends.keys()].map((name) => ({ name, place: 'registered' }));
  const folders = backendDirectory === undefined ? [] : (await readdir(backendDirectory)).sort();
  const found = folders.flatMap((name) => {
    const place = fileOf(backendDirectory, name);
    return place === undefined ? [] : [{ name, place }];
  });
  return [...registered, ...found];
}

/** What the server has to know of such a backend. */
export function customBackend(name: string): Backend {
  return { ...javascript, name, native: javascript.name, takesCode: false };
}

/** Which backends there are and where others were looked for, for the error about an unknown one. */
export function knownBackends({ registeredBackends, backendDirectory }: CustomOptions): string {
  const own = [...registeredBackends.keys()];
  // What runs plug-ins is no name that a configuration gives.
  const builtIn = [...backends().keys()].filter((name) => name !== plugins.name).join(', ');
  const named = own.length === 0 ? '' : `, and registered ones: ${own.join(', ')}`;
  const [first, ...others] = files;
  const looked =
    backendDirectory === undefined
      ? ''
      : `; '${join(backendDirectory, '<name>', first)}' was looked for, and ${others.join(', ')}`;
  return builtIn + named + looked;
}

/**
 * Checks the backend directory.
 *
 * @throws {@link TritonError} NOT_FOUND if there is no such folder; INVALID_ARG if a backend in it has the
 *   name of a backend of the package, or of a registered one.
 */
export async function checkBackendDirectory(options: CustomOptions): Promise<void> {
  const { backendDirectory: directory, registeredBackends } = options;
  if (directory === undefined) return;
  const found = await stat(directory).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    const what = found === undefined ? 'does not exist' : 'is not a folder';
    throw new TritonError('NOT_FOUND', `options.backendDirectory: '${directory}' ${what}`);
  }
  for (const [names, whose] of [
    [[...backends().keys(), 'ensemble'], 'built in'],
    [[...registeredBackends.keys()], 'registered by the program'],
  ] as const) {
    for (const name of names) {
      const file = fileOf(directory, name);
      if (file === undefined) continue;
      throw invalidArgument(`backend '${name}' is ${whose}, but there is '${file}', too: rename that folder`);
    }
  }
}
