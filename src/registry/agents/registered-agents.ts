/** Repository agents that the program registers. They belong to this environment, and each new server takes them. */

import { expected, show } from '../../argument-checks.js';
import { invalidArgument, TritonError } from '../../errors.js';
import type { RepositoryAgent } from './repository-agent.js';

/** The name of the agent that the package has. */
export const checksumName = 'checksum';

const functions = [
  'load',
  'complete',
  'fail',
  'unload',
  'unloadComplete',
] as const satisfies readonly (keyof RepositoryAgent)[];

const registered = new Map<string, RepositoryAgent>();

/** Whether an agent may have this name, which appears in `config.pbtxt` and as a folder. */
export function isAgentName(name: string): boolean {
  return /^[\w.-]+$/.test(name) && !/^\.+$/.test(name);
}

/** Whether a value has the functions of an agent: at least one, and nothing else under their names. */
export function isAgent(value: unknown): value is RepositoryAgent {
  if (typeof value !== 'object' || value === null) return false;
  // Checked before they are called.
  const given: Partial<Record<keyof RepositoryAgent, unknown>> = value;
  const present = functions.map((name) => given[name]).filter((one) => one !== undefined);
  return present.length > 0 && present.every((one) => typeof one === 'function');
}

/** The same for a value whose members may throw when they are read. */
function isReadable(value: unknown): boolean {
  try {
    return isAgent(value);
  } catch {
    return false;
  }
}

/** What an agent has to be, for the error about something else. */
export const agentExpected: string = `expected an object with some of the functions ${functions.join(', ')}`;

/**
 * Adds a repository agent, which models name in their configuration:
 * `model_repository_agents { agents [ { name: "<name>" } ] }`. It can decrypt a model's files, fetch them or verify them
 * before they are loaded. Triton: a library `libtritonrepoagent_<name>.so`.
 *
 * Servers that are created later have the agent; existing servers do not. The registration belongs to this environment and
 * lasts until it ends. A folder `<repositoryAgentDirectory>/<name>/agent.js` does the same without code in the program
 * ({@link ServerOptions.repositoryAgentDirectory}).
 *
 * @param name - Letters, digits, `_`, `-` and `.`. Not `checksum`, which the package has.
 * @param agent - The agent. All servers and models share it.
 * @throws {@link TritonError} INVALID_ARG for an invalid name or agent; ALREADY_EXISTS for a name that is registered.
 *
 * @example
 * registerRepositoryAgent('decrypt', {
 *   async load({ path, parameters, temporaryFolder }) {
 *     const folder = await temporaryFolder();
 *     await decryptAll(path, folder, keys.get(parameters.key));
 *     return folder;
 *   },
 * });
 */
export function registerRepositoryAgent(name: string, agent: RepositoryAgent): void {
  const given: unknown = name;
  if (typeof given !== 'string' || !isAgentName(given))
    throw expected('letters, digits, _, - and . for the name of an agent', 'registerRepositoryAgent', given);
  if (name === checksumName)
    throw invalidArgument(`registerRepositoryAgent: '${name}' is a built-in agent; choose another name`);
  if (registered.has(name)) {
    throw new TritonError(
      'ALREADY_EXISTS',
      `registerRepositoryAgent: an agent '${name}' is registered already`,
    );
  }
  const value: unknown = agent;
  if (!isReadable(value)) {
    // What cannot be read is not looked at any closer.
    const received = typeof value === 'object' && value !== null ? 'an object' : show(value);
    throw invalidArgument(
      `registerRepositoryAgent: agent '${name}': ${agentExpected}, but received ${received}`,
    );
  }
  registered.set(name, agent);
}

/** The registered agents. */
export function registeredAgents(): ReadonlyMap<string, RepositoryAgent> {
  return new Map(registered);
}
