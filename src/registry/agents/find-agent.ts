/** Finds the agent that a configuration names: the package's, one of the program, or one of the agents' folder. */

import { existsSync, realpathSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { invalidArgument, TritonError } from '../../errors.js';
import type { ResolvedOptions } from '../../options.js';
import { importFile } from '../../import-file.js';
import { didYouMean } from '../../suggest.js';
import { thrownText } from '../../thrown-text.js';
import { checksum } from './checksum.js';
import { PluginAgent } from './plugin-agent.js';
import { agentExpected, checksumName, isAgent, isAgentName } from './registered-agents.js';
import type { RepositoryAgent } from './repository-agent.js';

/** An agent's file, in the order in which they are looked for. */
const files = ['agent.js', 'agent.mjs', 'agent.cjs', 'agent.ts'] as const;

/** What says which agents there are. */
export type AgentOptions = Pick<
  ResolvedOptions,
  'registeredAgents' | 'repositoryAgentDirectory' | 'finalizeTimeoutMs'
>;

/**
 * The agent of a name.
 *
 * @throws {@link TritonError} INVALID_ARG if there is none, or its module cannot be used.
 */
export async function findAgent(name: string, options: AgentOptions): Promise<RepositoryAgent> {
  if (name === checksumName) return checksum;
  const { registeredAgents, repositoryAgentDirectory: directory } = options;
  const registered = registeredAgents.get(name);
  if (registered) return registered;
  // A configuration must not lead out of the directory.
  const found =
    directory !== undefined && isAgentName(name)
      ? files.map((file) => join(directory, name, file)).find((file) => existsSync(file))
      : undefined;
  if (found !== undefined) return await agentIn(found);
  const library =
    directory !== undefined && isAgentName(name)
      ? join(directory, name, `libtritonrepoagent_${name}.so`)
      : undefined;
  if (library !== undefined && existsSync(library))
    return new PluginAgent(library, options.finalizeTimeoutMs);
  const known = [checksumName, ...registeredAgents.keys()];
  const looked =
    directory === undefined
      ? ''
      : `, and searched: ${join(directory, '<name>', '{')}${[...files, 'libtritonrepoagent_<name>.so'].join(',')}}`;
  throw invalidArgument(
    `unable to find repo agent '${name}'${didYouMean(name, known)}; there are ${known.join(', ')}${looked}`,
  );
}

/** A module that was imported. */
interface Imported {
  /** Of the file when it was imported. */
  readonly stamp: string;
  /** How many modules this process has of the file. */
  readonly count: number;
  /** Whether it could not be imported: a file that it needs may have been repaired since. */
  hasFailed: boolean;
}

const imported = new Map<string, Imported>();

/** The default export of a module. A file that has changed since its last import is read again, as another module. */
async function agentIn(file: string): Promise<RepositoryAgent> {
  const stamp = await stampOf(file);
  // Not earlier: another load may have imported it meanwhile.
  const before = imported.get(file);
  const isSame = before?.stamp === stamp && !before.hasFailed;
  const count = before === undefined ? 1 : isSame ? before.count : before.count + 1;
  // Node keeps what it has imported by the address, and what is required by the file.
  if (before !== undefined && !isSame) forgetRequired(file);
  const own: Imported = { stamp, count, hasFailed: false };
  imported.set(file, own);
  const url = `${pathToFileURL(file).href}${count === 1 ? '' : `?${count}`}`;
  const module = await importFile(url).catch((cause: unknown) => {
    own.hasFailed = true;
    throw invalidArgument(
      `${file} cannot be imported: ${thrownText(cause)} (the next load reads this file again, and what it requires; a repair of an ES module that it imports needs a restart)`,
      { cause },
    );
  });
  // An ES module that was compiled to CommonJS has a default export in its own.
  const agent = [defaultOf(module), defaultOf(defaultOf(module))].find(isAgent);
  if (agent) return agent;
  throw invalidArgument(`${file}: ${agentExpected} as its default export`);
}

/** A text that changes with a file; '' if it cannot be looked at. */
async function stampOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch {
    // The import tells why.
    return '';
  }
}

/** The next import of a CommonJS module reads its file again, and those of its folder that it requires. */
function forgetRequired(file: string): void {
  try {
    const { cache } = createRequire(file);
    // Under its real path, wherever links lead.
    const real = realpathSync(file);
    const folder = dirname(real) + sep;
    for (const path of Object.keys(cache))
      if (path === real || path.startsWith(folder)) Reflect.deleteProperty(cache, path);
  } catch {
    // The import tells what is wrong with the file.
  }
}

function defaultOf(module: unknown): unknown {
  return typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined;
}

/**
 * Checks the agents' folder.
 *
 * @throws {@link TritonError} NOT_FOUND if there is no such folder.
 */
export async function checkAgentDirectory({ repositoryAgentDirectory }: AgentOptions): Promise<void> {
  if (repositoryAgentDirectory === undefined) return;
  const found = await stat(repositoryAgentDirectory).catch(() => undefined);
  if (found?.isDirectory() === true) return;
  throw new TritonError(
    'NOT_FOUND',
    `options.repositoryAgentDirectory: there is no folder '${repositoryAgentDirectory}'`,
  );
}
