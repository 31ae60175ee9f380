/** Helpers of the tests of polls: servers of a repository that is polled, and what a poll has changed in short. */

import assert from 'node:assert/strict';
import type { InferenceServer, RescanResult, ServerOptions } from '../../../src/index.js';
import { floats, row, start, type Context } from '../../support/harness.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../../support/repository.js';

/** A server in mode 'poll' that looks only when it is told to. */
export async function polled(
  context: Context,
  models: Readonly<Record<string, RepositoryModel>>,
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<{ readonly server: InferenceServer; readonly folder: string }> {
  const folder = await writeRepository(await temporaryFolder(context), models);
  const mode = { modelControlMode: 'poll', repositoryPollMs: 0 } as const;
  return { server: await start(context, folder, { ...mode, ...options }), folder };
}

/** What a poll has changed: `+name:loaded`, `~name:loaded-ended`, `-name`, `!name`, `?name`. */
export function short({ loaded, reloaded, unloaded, failed, changing }: RescanResult): string {
  return [
    ...loaded.map(({ name, loaded: versions }) => `+${name}:${versions.join(',')}`),
    ...reloaded.map((one) => `~${one.name}:${one.loaded.join(',')}-${one.ended.join(',')}`),
    ...unloaded.map(({ name }) => `-${name}`),
    ...failed.map(({ name }) => `!${name}`),
    ...changing.map((name) => `?${name}`),
  ].join(' ');
}

/** The second of two looks, which loads what the first one saw. */
export async function settle(server: InferenceServer): Promise<string> {
  await server.rescan();
  return short(await server.rescan());
}

/** The number that a model y = x + n adds. */
export async function addend(server: InferenceServer, name = 'add', version?: number): Promise<number> {
  return floats(await server.infer(name, { x: row(0) }, { version }))[0] ?? NaN;
}

/** The index in short: `name version state`. */
export function states(server: InferenceServer): string[] {
  return server.index().map(({ name, version, state }) => [name, version, state].join(' ').trim());
}

/** The reason in the index of a model's version. */
export function reasonOf(server: InferenceServer, name: string, version?: string): string | undefined {
  const found = server.index().find((one) => one.name === name && (version ?? one.version) === one.version);
  assert.ok(found, `${name} is not in the index`);
  return found.reason;
}
