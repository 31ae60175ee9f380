/** The plug-ins of `native/test/plugins/backends`, which are built with the fakes, and models of them. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { InferenceServer, ServerOptions } from '../../../src/index.js';
import { configText, serve, type ConfigOptions, type Context } from '../../support/harness.js';
import { root } from '../../support/project.js';
import type { RepositoryModel } from '../../support/repository.js';

/** The folder with a folder for each plug-in. */
export const pluginFolder: string = join(root, 'build', 'fakes', 'plugins');

/** The reason to skip tests that need them; false: none. */
export const skip: string | false =
  process.platform !== 'linux'
    ? 'plug-ins of Triton run on Linux alone'
    : existsSync(pluginFolder)
      ? false
      : 'the plug-ins of the tests are missing: npm run build makes them';
if (skip !== false) console.error(`skipped: ${skip}`);

/** The plug-ins. */
export type Plugin = 'batcher' | 'breaker' | 'decoupled' | 'every' | 'hooked' | 'identity' | 'stateful';

/** What models of `breaker` have. */
export const breakerOptions: ConfigOptions = {
  maxBatchSize: 8,
  inputs: [{ name: 'x', dims: [-1] }],
  outputs: [
    { name: 'y', dims: [-1] },
    { name: 'told', datatype: 'BYTES', dims: [1] },
  ],
};

/** A model of a plug-in, which has no file. */
export function pluginModel(plugin: Plugin, options: Omit<ConfigOptions, 'backend'> = {}): RepositoryModel {
  return {
    config: configText(options).replace(/^backend: .*$/m, `backend: "${plugin}"`),
    versions: { '1': {} },
  };
}

/** A server of these models that finds the plug-ins. */
export function serving(
  t: Context,
  models: Readonly<Record<string, RepositoryModel>>,
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<InferenceServer> {
  return serve(t, models, { backendDirectory: pluginFolder, ...options });
}
