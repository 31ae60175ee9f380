/** The agents of one load of a model, in the order of its configuration. */

import { stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { maxConfigBytes, readModelConfig, type ModelConfigInput } from '../../config/index.js';
import { failedToPoll, invalidArgument, TritonError } from '../../errors.js';
import { tellIfLate } from '../../late.js';
import type { Log } from '../../logger.js';
import { keyText, type ModelKey } from '../../model-key.js';
import { printableLine } from '../../printable.js';
import { show } from '../../argument-checks.js';
import { thrownText } from '../../thrown-text.js';
import { endsWithin } from '../../time-limit.js';
import { readAtMost } from '../files/read-file.js';
import { configName } from '../sources/layout.js';
import { AgentModel, endsBefore, keptAlive, type AgentAction, type AgentCall } from './agent-model.js';
import { findAgent, type AgentOptions } from './find-agent.js';

/** What all chains of a server share. */
export interface ChainHost {
  readonly options: AgentOptions & { readonly log: Log };
  /** How long a call may take, in milliseconds. */
  readonly limitMs: number;
  /** Is told that nothing of a chain is left. */
  readonly ended: (chain: AgentChain) => void;
}

/** Runs a function of an agent, as {@link AgentCall.during}. */
export type During = AgentCall['during'];

/** Runs it for nobody who waits. */
export const alone: During = async (task) => task();

/** See the head of this file. */
export class AgentChain {
  readonly #host: ChainHost;
  readonly #key: ModelKey;
  readonly #models: AgentModel[] = [];
  /** Where the model's files are, by the last agent that moved them. */
  #path: string;
  #isMoved = false;
  #last: AgentAction | undefined;
  /** The last round. The end of the server waits for it. */
  #running: Promise<void> = Promise.resolve();
  #dropping: Promise<void> | undefined;

  /** @param path - Where the model's files are. */
  constructor(host: ChainHost, key: ModelKey, path: string) {
    this.#host = host;
    this.#key = key;
    this.#path = path;
  }

  /** The folder that the agents have chosen for the model's files; undefined if they stay where they were. */
  get movedTo(): string | undefined {
    return this.#isMoved ? this.#path : undefined;
  }

  /**
   * Calls LOAD of the agents, in their order. If one fails, those that were called are told so.
   *
   * @param config - What the model is loaded with.
   * @throws {@link TritonError} INTERNAL with Triton's words; its cause has those of the agent. CANCELLED if `stop` is aborted.
   */
  load(config: ModelConfigInput, stop: AbortSignal, during: During): Promise<void> {
    const load = this.#load(config, stop, during);
    this.#running = load.catch(() => undefined);
    return load;
  }

  async #load(config: ModelConfigInput, stop: AbortSignal, during: During): Promise<void> {
    const { options, limitMs } = this.#host;
    this.#last = 'LOAD';
    // No agent may change what the model is loaded with, nor which agents follow.
    let written = frozenCopy(config);
    for (const { name = '', parameters: given } of written.model_repository_agents?.agents ?? []) {
      try {
        stop.throwIfAborted();
        const finding = findAgent(name, options);
        // The module of an agent may wait for anything.
        if (
          !(await keptAlive(
            endsBefore(
              finding.catch(() => undefined),
              stop,
            ),
          ))
        )
          stop.throwIfAborted();
        const agent = await finding;
        // The reader of configurations writes no undefined values.
        const parameters = Object.freeze({ ...given }) as Readonly<Record<string, string>>;
        const facts = { key: this.#key, path: this.#path, isRemote: isRemote(this.#path) };
        const model = new AgentModel(name, agent, { ...facts, config: written, parameters });
        this.#models.push(model);
        const what = `model '${keyText(this.#key)}': repository agent '${name}' has not returned from LOAD`;
        const done = model.invoke('LOAD', { limitMs, stop, during });
        const moved = await placeOf(await tellIfLate(options.log, what, { model: this.#key.name }, done));
        if (moved === undefined) continue;
        this.#path = moved;
        this.#isMoved = true;
        written = frozenCopy(await configIn(moved));
      } catch (error) {
        if (!stop.aborted) this.#tell('error', name, 'LOAD', error);
        else if (this.#models.at(-1)?.hangs === true) this.#tell('warn', name, 'LOAD', error);
        await this.#drop(during);
        const { name: model } = this.#key;
        if (stop.aborted) {
          const text = `model '${keyText(this.#key)}': loading was cancelled`;
          throw new TritonError('CANCELLED', text, { model, cause: error });
        }
        throw new TritonError('INTERNAL', failedToPoll(model), { model, cause: error });
      }
    }
  }

  /** All versions are ready. */
  async complete(during: During): Promise<void> {
    await this.#round('LOAD_COMPLETE', during);
  }

  /** The load has failed. */
  async fail(during: During): Promise<void> {
    await this.#round('LOAD_FAIL', during);
    await this.#drop(during);
  }

  /** The versions are about to end. */
  async unload(during: During): Promise<void> {
    // As in Triton, a second one is for nobody.
    if (this.#last !== 'UNLOAD') await this.#round('UNLOAD', during);
  }

  /** The versions have ended. */
  async unloadComplete(during: During): Promise<void> {
    await this.#round('UNLOAD_COMPLETE', during);
    await this.#drop(during);
  }

  /** Makes all calls that are still owed, after those that are under way. */
  async end(): Promise<void> {
    await endsWithin(this.#running, this.#host.limitMs);
    await this.#drop(alone);
  }

  /** Calls the agents, UNLOAD in their order and others backwards. The first error ends it, and is logged. */
  #round(action: AgentAction, during: During): Promise<void> {
    return (this.#running = this.#call(action, during));
  }

  async #call(action: AgentAction, during: During): Promise<void> {
    if (this.#dropping) return;
    this.#last = action;
    const { limitMs } = this.#host;
    for (const model of action === 'UNLOAD' ? this.#models : [...this.#models].reverse()) {
      try {
        await model.invoke(action, { limitMs, during });
      } catch (error) {
        this.#tell('warn', model.name, action, error);
        return;
      }
    }
  }

  #drop(during: During): Promise<void> {
    const { limitMs, ended } = this.#host;
    return (this.#dropping ??= (async () => {
      for (const model of [...this.#models].reverse()) {
        try {
          const ended = await model.drop({ limitMs, during }, (action, error) => {
            this.#tell('warn', model.name, action, error);
          });
          if (!ended)
            this.#warn(
              `repository agent '${model.name}' did not end the model within ${limitMs} ms, so its thread was abandoned`,
            );
        } catch (error) {
          this.#warn(
            `files of repository agent '${model.name}' stay: ${printableLine(thrownText(error))}`,
            error,
          );
        }
      }
      ended(this);
    })());
  }

  #tell(level: 'error' | 'warn', agent: string, action: AgentAction, error: unknown): void {
    const text = `model '${keyText(this.#key)}': repository agent '${agent}' failed at ${action}: ${printableLine(thrownText(error))}`;
    this.#host.options.log[level](text, { model: this.#key.name, error });
  }

  #warn(what: string, error?: unknown): void {
    const text = `model '${keyText(this.#key)}': ${what}`;
    this.#host.options.log.warn(text, { model: this.#key.name, ...(error !== undefined && { error }) });
  }
}

/** A copy that cannot be changed. */
function frozenCopy(config: ModelConfigInput): ModelConfigInput {
  const copy = structuredClone(config);
  const freeze = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
    Object.freeze(value);
    for (const one of Object.values(value)) freeze(one);
  };
  freeze(copy);
  return copy;
}

/** Whether a place is in an object store. */
function isRemote(path: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(path);
}

/**
 * The folder that LOAD returned; undefined if it returned none.
 *
 * @throws {@link TritonError} INVALID_ARG for what is no absolute path of a folder.
 */
async function placeOf(returned: unknown): Promise<string | undefined> {
  if (returned === undefined || returned === null) return undefined;
  const isFile = returned instanceof URL && returned.protocol === 'file:';
  const path = isFile ? fileURLToPath(returned) : returned;
  if (typeof path !== 'string' || !isAbsolute(path))
    throw invalidArgument(
      `expected the absolute path or file: URL of a folder from load but received ${show(returned)}`,
    );
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return path;
  throw invalidArgument(`load returned '${path}', which is not a folder`);
}

/** The configuration in a folder. As in Triton, it is empty if it cannot be read. */
async function configIn(folder: string): Promise<ModelConfigInput> {
  const file = join(folder, configName);
  try {
    return readModelConfig({ file, text: await readAtMost(file, maxConfigBytes) }).value;
  } catch {
    return {};
  }
}
