/**
 * Repository agents that are plug-ins of Triton, as agents of the program are: each call becomes one of the plug-in, on a
 * thread of the addon.
 */

import { addon } from '../../addon/load.js';
import type { NativeAgentModel } from '../../addon/native/agent.js';
import type { NativeStatus } from '../../addon/native/status.js';
import { statusError } from '../../addon/status.js';
import { tritonLibrary } from '../../addon/triton-library.js';
import { expandConfig, printConfigJson } from '../../config/index.js';
import { unavailable } from '../../errors.js';
import type { AgentContext, RepositoryAgent } from './repository-agent.js';

/** In the order of `TRITONREPOAGENT_ActionType`. */
const actions = ['load', 'complete', 'fail', 'unload', 'unloadComplete'] as const;
type Action = (typeof actions)[number];

/** A load of a model, and the calls of the plug-in for it. */
class PluginModel {
  readonly #native: NativeAgentModel;
  /** The plug-in is called once at a time, also when the server does not wait for a call any more. */
  #last: Promise<unknown> = Promise.resolve();
  /** What the plug-in has not begun has no other action and no end. */
  #hasBegun = false;

  constructor(native: NativeAgentModel) {
    this.#native = native;
  }

  /** @returns Where the plug-in has moved the model's files; undefined: nowhere. */
  async load(signal: AbortSignal): Promise<string | undefined> {
    await this.#next((done) => {
      this.#native.open((fault) => {
        done(fault, undefined);
      });
    });
    signal.throwIfAborted();
    this.#hasBegun = true;
    return await this.#act('load');
  }

  /** Any action but the first. It has its turn now, and is looked at in its turn: the calls keep their order. */
  async act(action: Action): Promise<void> {
    await this.#act(action);
  }

  async end(): Promise<void> {
    await this.#next<undefined>((done) => {
      this.#native.end(() => {
        done(null, undefined);
      });
    });
  }

  /** Nobody waits any more for the call that is under way. */
  leave(): void {
    this.#native.leave();
  }

  async #act(action: Action): Promise<string | undefined> {
    const moved = await this.#next<string>((done) => {
      if (this.#hasBegun) this.#native.act(actions.indexOf(action), done);
      else done(null, '');
    });
    return moved === '' ? undefined : moved;
  }

  #next<T>(call: (done: (fault: NativeStatus | null, result: T) => void) => void): Promise<T> {
    const made = this.#last.then(
      () =>
        new Promise<T>((resolve, reject) => {
          call((fault, result) => {
            if (fault === null) resolve(result);
            else reject(statusError(fault));
          });
        }),
    );
    this.#last = made.catch(() => undefined);
    return made;
  }
}

/** See the head of this file. Nothing of the library is read before a model is loaded with it. */
export class PluginAgent implements RepositoryAgent {
  readonly #library: string;
  readonly #limitMs: number;
  readonly #models = new WeakMap<AgentContext, PluginModel>();

  /**
   * @param library - The path of the plug-in.
   * @param limitMs - How long an agent of the library is waited for that ends, in milliseconds.
   */
  constructor(library: string, limitMs: number) {
    this.#library = library;
    this.#limitMs = limitMs;
  }

  async load(context: AgentContext): Promise<string | undefined> {
    const { path, isRemote, config, parameters, signal } = context;
    const native = addon().createAgentModel(this.#library, tritonLibrary(), {
      path,
      isRemote,
      config: printConfigJson(expandConfig(config), 0),
      parameters,
      folder: await context.temporaryFolder(),
      limitMs: this.#limitMs,
    });
    if (!native) throw unavailable('NO_MEMORY', `the environment ends, and '${this.#library}' is not called`);
    const model = new PluginModel(native);
    this.#models.set(context, model);
    return await model.load(signal);
  }

  async complete(context: AgentContext): Promise<void> {
    await this.#models.get(context)?.act('complete');
  }

  async fail(context: AgentContext): Promise<void> {
    await this.#models.get(context)?.act('fail');
  }

  async unload(context: AgentContext): Promise<void> {
    await this.#models.get(context)?.act('unload');
  }

  async unloadComplete(context: AgentContext): Promise<void> {
    await this.#models.get(context)?.act('unloadComplete');
  }

  /** A load has ended: its last call was made, and its temporary folder is about to be removed. */
  async end(context: AgentContext): Promise<void> {
    await this.#models.get(context)?.end();
  }

  /** Nobody waits any more for the call for a load that is under way: it keeps neither the process nor other loads. */
  leave(context: AgentContext): void {
    this.#models.get(context)?.leave();
  }
}
