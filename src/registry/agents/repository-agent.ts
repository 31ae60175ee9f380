/** The interface of repository agents: what prepares the folder of a model before it is loaded. */

import type { ModelConfigInput } from '../../config/index.js';

/**
 * What an agent is told of a model. Each agent of each load has its own, which all calls for this load get.
 *
 * @example
 * async load(context: AgentContext): Promise<string> {
 *   const folder = await context.temporaryFolder();
 *   await decrypt(context.path, folder, context.parameters['key'], context.signal);
 *   return folder;
 * }
 */
export interface AgentContext {
  /** The model's name. */
  readonly model: string;
  /** The model's namespace; empty on a server without namespaces. */
  readonly namespace: string;
  /**
   * The place of the model's files: its folder, or the one that the agent before this one has chosen. Triton:
   * `TRITONREPOAGENT_ModelRepositoryLocation`.
   */
  readonly path: string;
  /** Whether the place is in an object store, so that its files are not on this machine. Triton: the artifact type. */
  readonly isRemote: boolean;
  /**
   * The configuration as it is written at this place; empty if it cannot be read there. For the first agent it is the one
   * that the model is loaded with. Triton: `TRITONREPOAGENT_ModelConfig`.
   */
  readonly config: ModelConfigInput;
  /** The agent's `parameters` in the configuration that the model is loaded with. Triton: `TRITONREPOAGENT_ModelParameter`. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Aborted when the server does not wait for the present call any more: it closes, or the call has taken too long. */
  readonly signal: AbortSignal;
  /** For the agent's own use in later calls for this load (default: undefined). Triton: `TRITONREPOAGENT_ModelSetState`. */
  state: unknown;
  /**
   * An empty folder for the agent's files, the same one at each call. Only this user may open it. It is removed after the last
   * call for this load; from then on this rejects with INVALID_ARG. Triton:
   * `TRITONREPOAGENT_ModelRepositoryLocationAcquire`.
   */
  readonly temporaryFolder: () => Promise<string>;
}

/**
 * What {@link RepositoryAgent.load} returns: the absolute path or file URL of another folder to load the model from, or
 * nothing.
 *
 * @example
 * const place: AgentPlace = new URL('./decrypted/digits/', import.meta.url);
 */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- A function without `return` moves nothing.
export type AgentPlace = string | URL | undefined | null | void;

/**
 * An agent: it is called when a model whose `model_repository_agents` names it is loaded and unloaded
 * ({@link registerRepositoryAgent}). Each function may be left out. They run on the event loop of the environment that
 * created the server, and may return a promise. An error of `load` refuses the model; errors of the others are logged.
 * All but `load` are waited for as long as `finalizeTimeoutMs` says.
 *
 * @example
 * const agent: RepositoryAgent = {
 *   load: ({ path }) => verify(path),
 *   fail: ({ model }) => console.warn(`${model} was not loaded`),
 * };
 */
export interface RepositoryAgent {
  /**
   * The model is about to be loaded. Of its files only the configuration has been read. Triton: `LOAD`.
   *
   * @returns The absolute path or file URL of another folder to load the model from; undefined or null: it stays where it
   *   is. The configuration stays the one that was read.
   */
  load?(context: AgentContext): AgentPlace | Promise<AgentPlace>;
  /** All versions are ready. Triton: `LOAD_COMPLETE`. */
  complete?(context: AgentContext): unknown;
  /** The model could not be loaded. Triton: `LOAD_FAIL`. */
  fail?(context: AgentContext): unknown;
  /** The versions of this load are about to end, because the model is unloaded or was loaded again. Triton: `UNLOAD`. */
  unload?(context: AgentContext): unknown;
  /** They have ended, and need the model's files no more. Triton: `UNLOAD_COMPLETE`. */
  unloadComplete?(context: AgentContext): unknown;
}
