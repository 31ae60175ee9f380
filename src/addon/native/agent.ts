/** Repository agents that are plug-ins of Triton. */

import type { NativeStatus } from './status.js';

/** What the agent is told of a load; see `native/plugins/agent.h`. */
export interface NativeAgentFacts {
  /** Where the model's files are. */
  readonly path: string;
  readonly isRemote: boolean;
  /** The configuration as JSON. */
  readonly config: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** A folder in which the agent may have one of its own. */
  readonly folder: string;
  /** How long an agent of the library that ends, or that nobody waits for, is waited for, in milliseconds. */
  readonly limitMs: number;
}

/**
 * A model of an agent; see `native/binding/agent_wrap.h`. The agent is called on threads. One call at a time: each begins when
 * the one before it has called `done`. None keeps the event loop alive.
 */
export interface NativeAgentModel {
  /** Opens the plug-in, and tells it of the model. Called once, first. */
  open(done: (fault: NativeStatus | null) => void): void;
  /**
   * Calls the agent.
   *
   * @param action - In the order of `TRITONREPOAGENT_ActionType`.
   * @param done - Gets where the agent has moved the model's files; '': nowhere.
   */
  act(action: number, done: (fault: NativeStatus | null, movedTo: string) => void): void;
  /** Tells the agent of the model's end. Called once, last. */
  end(done: () => void): void;
  /** Nobody waits any more for the call that is under way. `done` is called if it returns after all. */
  leave(): void;
}
