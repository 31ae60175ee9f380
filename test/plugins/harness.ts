/** Triton's own plug-ins, which `npm test -- plugins` installs, and models that both they and our own backends run. */

import assert from 'node:assert/strict';
import { createServer, type InferenceServer, type ServerOptions } from '../../src/index.js';
import type { ConfigOptions, Context } from '../support/harness.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { script } from '../python/harness.js';

const {
  TRITONTS_PLUGIN_BACKENDS: backends,
  TRITONTS_PLUGIN_CACHES: caches,
  TRITONTS_PLUGIN_PYTHON: python,
} = process.env;

/** The reason to skip tests that need Triton's plug-ins; false: none. */
export const skip: string | false =
  backends === undefined || python === undefined
    ? "Triton's own plug-ins are missing: npm test -- plugins installs them"
    : false;
if (skip !== false) console.error(`skipped: ${skip}`);

/** The folders of Triton's backends and caches. */
export const folders: { readonly backends: string; readonly caches: string } = {
  backends: backends ?? '',
  caches: caches ?? '',
};

type Options = Omit<ServerOptions, 'modelRepository'>;
type Models = Readonly<Record<string, RepositoryModel>>;

/** Who runs Python models: this package's backend, or Triton's. */
export type Who = 'own' | 'plugin';

/** Options with which models run by Triton's backends, if their configurations ask for that. */
export function withPlugins(options: Options = {}): Options {
  return { ...options, backendDirectory: folders.backends };
}

/** A Python model that Triton's own backend runs, or, without a parameter, this package's. */
export function pythonModel(who: Who, text: string, options: ConfigOptions = {}): RepositoryModel {
  const { parameters, ...rest } = options;
  return script(text, {
    ...rest,
    parameters: { ...parameters, ...(who === 'plugin' && { plugin: 'true' }) },
  });
}

/** A server of these models. Its close waits for the processes of models, however slow they end. */
export async function servingBy(
  t: Context,
  who: Who,
  models: (who: Who) => Models,
  options: Options = {},
): Promise<InferenceServer> {
  const { backendConfig = {} } = options;
  const own = {
    ...options,
    backendConfig: { ...backendConfig, python: { executable: python ?? '', ...backendConfig['python'] } },
  };
  const repository = await writeRepository(await temporaryFolder(t), models(who));
  const server = await createServer(repository, who === 'own' ? own : withPlugins(options));
  t.after(() => server.close());
  return server;
}

/** Asks a server whose Python models Triton's backend runs, and one with this package's: both give the same answer. */
export async function both<T>(
  t: Context,
  models: (who: Who) => Models,
  ask: (server: InferenceServer, who: Who) => Promise<T>,
  options: Options = {},
): Promise<T> {
  const answers: T[] = [];
  for (const who of ['own', 'plugin'] as const) {
    const server = await servingBy(t, who, models, options);
    answers.push(await ask(server, who));
    await server.close();
  }
  const [own, plugin] = answers;
  assert.deepEqual(plugin, own);
  return plugin as T;
}
