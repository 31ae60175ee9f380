/** One agent and one load of a model: the states between its calls, its context, and how long a call may take. */

import { invalidArgument, TritonError } from '../../errors.js';
import type { ModelKey } from '../../model-key.js';
import { orAborted } from '../../signals.js';
import { endsWithin, longestTimerMs } from '../../time-limit.js';
import type { ModelConfigInput } from '../../config/index.js';
import { clearInterval, setInterval } from '../../timers.js';
import { PluginAgent } from './plugin-agent.js';
import type { AgentContext, RepositoryAgent } from './repository-agent.js';
import { makeFolder, removeFolder } from './temporary-folders.js';

/** Triton's actions. */
export type AgentAction = 'LOAD' | 'LOAD_COMPLETE' | 'LOAD_FAIL' | 'UNLOAD' | 'UNLOAD_COMPLETE';

const functions: Readonly<Record<AgentAction, keyof RepositoryAgent>> = {
  LOAD: 'load',
  LOAD_COMPLETE: 'complete',
  LOAD_FAIL: 'fail',
  UNLOAD: 'unload',
  UNLOAD_COMPLETE: 'unloadComplete',
};

/** The action that has to come before each. */
const before: Readonly<Record<AgentAction, AgentAction | undefined>> = {
  LOAD: undefined,
  LOAD_COMPLETE: 'LOAD',
  LOAD_FAIL: 'LOAD',
  UNLOAD: 'LOAD_COMPLETE',
  UNLOAD_COMPLETE: 'UNLOAD',
};

/** What is owed to an agent whose model is dropped in a state. */
const owed: Readonly<Partial<Record<AgentAction, readonly AgentAction[]>>> = {
  LOAD: ['LOAD_FAIL'],
  LOAD_COMPLETE: ['UNLOAD', 'UNLOAD_COMPLETE'],
  UNLOAD: ['UNLOAD_COMPLETE'],
};

/** The facts of a context. */
export interface AgentFacts {
  readonly key: ModelKey;
  readonly path: string;
  readonly isRemote: boolean;
  readonly config: ModelConfigInput;
  readonly parameters: Readonly<Record<string, string>>;
}

/** How an agent is called. */
export interface AgentCall {
  /** How long the server waits for a call, in milliseconds. A call of LOAD has this limit once `stop` is aborted. */
  readonly limitMs: number;
  /** Ends LOAD. */
  readonly stop?: AbortSignal | undefined;
  /** Runs the agent's function: calls of the server that it makes count as its load's or unload's. */
  readonly during: <T>(task: () => T | Promise<T>) => Promise<T>;
}

/** See the head of this file. */
export class AgentModel {
  readonly name: string;
  readonly #agent: RepositoryAgent;
  readonly #context: Context;
  #state: AgentAction | undefined;
  #hangs = false;

  constructor(name: string, agent: RepositoryAgent, facts: AgentFacts) {
    this.name = name;
    this.#agent = agent;
    this.#context = new Context(facts);
  }

  /** Whether a call was not waited for to its end. */
  get hangs(): boolean {
    return this.#hangs;
  }

  /**
   * Calls the agent.
   *
   * @returns What its function returned.
   * @throws INTERNAL if the action may not follow the last one, CANCELLED if LOAD was stopped; what the agent throws; an
   *   error if it does not return in time.
   */
  async invoke(action: AgentAction, { limitMs, stop, during }: AgentCall): Promise<unknown> {
    if (this.#state !== before[action]) {
      throw new TritonError(
        'INTERNAL',
        `unexpected lifecycle state transition of repo agent '${this.name}' from ${this.#state ?? 'none'} to ${action}`,
      );
    }
    this.#state = action;
    const call = this.#agent[functions[action]];
    if (call === undefined) return undefined;
    const controller = this.#context.begin();
    const run = during((): unknown => call.call(this.#agent, this.#context));
    const ended = run.catch(() => undefined);
    const isDone = stop ? await keptAlive(endsBefore(ended, stop)) : await endsWithin(ended, limitMs);
    if (isDone) return await run;
    controller.abort(stop?.reason);
    // It may clean up, and may not have noticed the signal.
    const returned = stop ? await endsWithin(ended, limitMs) : false;
    // It may have written something since the folder was removed.
    if (!returned) {
      this.#leave();
      void ended.then(() => this.#context.end()).catch(() => undefined);
    }
    if (stop && returned) throw new TritonError('CANCELLED', 'loading was cancelled');
    throw new TritonError(
      stop ? 'CANCELLED' : 'INTERNAL',
      `it did not return within ${limitMs} ms${stop ? ' after loading was cancelled' : ''}`,
    );
  }

  /**
   * Makes the calls that are still owed, and removes the agent's files. `failed` is told of errors.
   *
   * @returns Whether a plug-in's end of the model came in time.
   * @throws The error of the system if files stay.
   */
  async drop(call: AgentCall, failed: (action: AgentAction, error: unknown) => void): Promise<boolean> {
    for (const action of owed[this.#state ?? 'LOAD_FAIL'] ?? []) {
      try {
        await this.invoke(action, call);
      } catch (error) {
        failed(action, error);
      }
    }
    const hung = this.#hangs;
    const ended =
      !(this.#agent instanceof PluginAgent) ||
      (await endsWithin(this.#agent.end(this.#context), call.limitMs));
    if (!ended) this.#leave();
    await this.#context.end();
    // One call that hangs is told of once.
    return ended || hung;
  }

  #leave(): void {
    this.#hangs = true;
    if (this.#agent instanceof PluginAgent) this.#agent.leave(this.#context);
  }
}

/** Waits for something that the process must not end without, as a load does. */
export async function keptAlive<T>(waited: Promise<T>): Promise<T> {
  // It refers to what waits, too: a server that waits for a promise that nobody else has would be collected as dropped.
  const timer = setInterval(() => void waited, longestTimerMs);
  try {
    return await waited;
  } finally {
    clearInterval(timer);
  }
}

/** Whether a promise, which does not reject, resolves before a signal is aborted. */
export async function endsBefore(ended: Promise<unknown>, stop: AbortSignal): Promise<boolean> {
  return orAborted(ended, stop).then(
    () => true,
    () => false,
  );
}

/** What the agent gets. Its functions do not need `this`, so that an agent may take the context apart. */
class Context implements AgentContext {
  readonly model: string;
  readonly namespace: string;
  readonly path: string;
  readonly isRemote: boolean;
  readonly config: ModelConfigInput;
  readonly parameters: Readonly<Record<string, string>>;
  state: unknown;
  #controller: AbortController = new AbortController();
  #folder: Promise<string> | undefined;
  #hasEnded = false;

  constructor({ key, path, isRemote, config, parameters }: AgentFacts) {
    this.model = key.name;
    this.namespace = key.namespace;
    this.path = path;
    this.isRemote = isRemote;
    this.config = config;
    this.parameters = parameters;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly temporaryFolder = async (): Promise<string> => {
    if (this.#hasEnded) {
      const text = `model '${this.model}': the load of this context has ended, and its temporary folder with it`;
      throw invalidArgument(text, { model: this.model });
    }
    return await (this.#folder ??= makeFolder());
  };

  /** The signal is for another call from now on. */
  begin(): AbortController {
    return (this.#controller = new AbortController());
  }

  /**
   * Removes the folder, if there is one. No other one is made.
   *
   * @throws The error of the system if something of it stays.
   */
  async end(): Promise<void> {
    this.#hasEnded = true;
    const folder = await this.#folder?.catch(() => undefined);
    if (folder !== undefined) await removeFolder(folder);
  }
}
