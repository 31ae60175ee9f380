/**
 * Finds the libraries of Triton's backends: plug-ins. A plug-in runs with the rights of the process, so it is opened only from
 * folders that the program trusts.
 */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelConfig } from '../../config/index.js';
import { isBackendName } from '../../javascript/versions/registered-backends.js';
import type { ResolvedOptions } from '../../options.js';
import type { BackendContext } from '../context.js';
import { confined } from '../trusted-places.js';

/** Parameter: whether a plug-in runs the model although the package has a backend of that name. */
const pluginKey = 'plugin';

/** The parts of a version's context that say where its plug-in may be. */
export type PluginContext = Pick<BackendContext, 'config' | 'modelDirectory' | 'versionDirectory' | 'fault'> &
  Pick<BackendContext, 'trustedFolders'> & {
    readonly backendDirectory: string | undefined;
  };

/**
 * Whether a configuration asks for a plug-in of Triton.
 *
 * @throws {@link TritonError} INVALID_ARG for a value that is neither true nor false.
 */
export function asksForPlugin({ config, fault }: Pick<BackendContext, 'config' | 'fault'>): boolean {
  const value = config.parameters[pluginKey]?.string_value ?? 'false';
  if (value === 'true' || value === 'false') return value === 'true';
  throw fault(`parameters["${pluginKey}"]`, `expected 'true' or 'false' but received '${value}'`);
}

/** Whether a configuration names a library as `runtime` that is not the usual one of its backend. */
export function namesLibrary({ backend, runtime }: Pick<ModelConfig, 'backend' | 'runtime'>): boolean {
  return runtime !== '' && runtime !== `libtriton_${backend}.so`;
}

/** The name of a plug-in's file. */
function fileOf({ backend, runtime }: Pick<ModelConfig, 'backend' | 'runtime'>): string {
  return runtime === '' ? `libtriton_${backend}.so` : runtime;
}

/** Where the plug-in of a model is looked for, in Triton's order. */
function placesOf({
  config,
  versionDirectory,
  modelDirectory,
  backendDirectory,
}: Omit<PluginContext, 'fault' | 'trustedFolders'>): string[] {
  const { backend } = config;
  return [
    ...(versionDirectory === undefined ? [] : [versionDirectory]),
    ...(modelDirectory === undefined ? [] : [modelDirectory]),
    // A configuration must not lead out of the directory.
    ...(backendDirectory === undefined || !isBackendName(backend) ? [] : [join(backendDirectory, backend)]),
  ];
}

/**
 * The real path of a model's plug-in; undefined if there is none.
 *
 * @throws {@link TritonError} INVALID_ARG for a plug-in outside of the trusted folders and the backend directory.
 */
export function findPlugin(context: PluginContext & BackendContext): string | undefined {
  const { config, trustedFolders, backendDirectory } = context;
  const path = placesOf(context)
    .map((folder) => join(folder, fileOf(config)))
    .find((one) => existsSync(one));
  if (path === undefined) return undefined;
  // To open a pipe, for example, would wait for ever.
  if (!statSync(path).isFile())
    throw context.fault(config.runtime === '' ? 'backend' : 'runtime', `'${path}' must be a regular file`);
  return confined(context, config.runtime === '' ? 'backend' : 'runtime', path, [
    ...trustedFolders.map((folder) => ({ folder, name: 'a trusted folder' })),
    ...(backendDirectory === undefined ? [] : [{ folder: backendDirectory, name: 'the backend directory' }]),
  ]);
}

/** Says that there is no plug-in, in Triton's words, and where it was looked for. */
export function noPlugin(context: Omit<PluginContext, 'fault' | 'trustedFolders'>): string {
  const { config, backendDirectory } = context;
  const places = placesOf(context);
  const looked =
    places.length === 0
      ? 'a model given as bytes has no folder'
      : `there is no '${fileOf(config)}' in ${places.map((folder) => `'${folder}'`).join(', ')}`;
  const advice =
    backendDirectory === undefined ? '; backendDirectory of createServer names a folder of backends' : '';
  return `unable to find backend library for backend '${config.backend}', try specifying runtime on the model configuration. Looked for: ${looked}${advice}`;
}

/** The plug-ins in the backend directory, by the names of their backends. */
export function listPlugins({
  backendDirectory,
}: Pick<ResolvedOptions, 'backendDirectory'>): { readonly name: string; readonly library: string }[] {
  if (backendDirectory === undefined) return [];
  return readdirSync(backendDirectory)
    .sort()
    .map((name) => ({ name, library: join(backendDirectory, name, `libtriton_${name}.so`) }))
    .filter(({ library }) => existsSync(library));
}

/** Whether a server may have plug-ins of names that are not known in advance. */
export function mayHavePlugins({
  backendDirectory,
  trustedFolders,
}: Pick<ResolvedOptions, 'backendDirectory' | 'trustedFolders'>): boolean {
  return backendDirectory !== undefined || trustedFolders.length > 0;
}
