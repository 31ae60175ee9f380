/** A version of a JavaScript model on its owner's side: its instances, from its load to its end. */

import type { ModelCode } from '../model-code.js';
import type { EngineFunctions } from '../../addon/engine-functions.js';
import type { ModelConfig, ModelConfigInput } from '../../config/index.js';
import { TritonError } from '../../errors.js';
import type { Log } from '../../logger.js';
import type { Asker } from '../asker.js';
import { errorOf, failureOf } from '../batches/failures.js';
import { defaultUnloadTimeoutMs, endsWithin } from '../../time-limit.js';
import { busyMs, logLateFinalize } from '../threads/finalize-limit.js';
import { InstanceLoop } from '../threads/instance-loop.js';
import type { InstanceThread } from '../threads/instance-thread.js';
import { initializeModel, makeModel } from '../threads/load-module.js';
import type { ModelExport } from '../model-code.js';
import { logFinalize, ownLogger } from '../model-logger.js';
import type { ModelServer } from '../../api/server.js';
import type { Connection } from '../model-server.js';
import type { JavaScriptModel, WorkersOptions } from '../../api/javascript-model.js';
import type { InstanceSpec } from './version-spec.js';
import type { PlacedInstance } from '../../scheduling/placed-instance.js';
import { clearTimeout, setTimeout } from '../../timers.js';
import type { RunningVersion } from './versions.js';

/** The data with which a version is opened. */
export interface VersionSource {
  /** The functions of the server's engine. */
  readonly functions: EngineFunctions;
  readonly model: string;
  readonly version: number;
  readonly code: ModelCode;
  /** Path of the version's folder; empty if there is none. */
  readonly directory: string;
  readonly instances: readonly PlacedInstance[];
  readonly concurrency: number;
  /** The number of cores on which threads may spin. */
  readonly cores: number;
  readonly workers: WorkersOptions;
  readonly finalizeTimeoutMs: number;
  readonly log: Log;
  /** How the version's threads connect to the server; undefined if no models are served. */
  readonly connection: Connection | undefined;
  /** The server, for a model that runs in this environment. */
  readonly server: () => ModelServer;
  /** The model as a requester of loads and unloads. Models on threads cannot request them. */
  readonly asker: Asker;
}

/** See the head of this file. */
export class JavaScriptVersion implements RunningVersion {
  /** The number of the version's inboxes. */
  readonly inboxes: number;
  readonly #source: VersionSource;
  readonly #threads: InstanceThread[] = [];
  /** The model in this environment, if it runs here. */
  #here: { readonly loop: InstanceLoop; readonly model: JavaScriptModel } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #cancel: (error: TritonError) => void = () => undefined;
  readonly #cancelled: Promise<never>;
  /** Whether the version has ended, or its load was cancelled. */
  #over = false;
  readonly #restarts: Map<string, string> = new Map();
  /** Called when an instance was restarted, with the reason for the repository index. */
  onRestart: (reason: string) => void = () => undefined;

  constructor(source: VersionSource) {
    this.#source = source;
    const names = source.instances.map(({ name }) => name);
    this.inboxes = source.functions.reserveInstances(source.model, names, source.concurrency, 'thread');
    this.#cancelled = new Promise((_, reject) => (this.#cancel = reject));
    this.#cancelled.catch(() => undefined);
  }

  /** Asks the model for its part of the configuration; undefined if it has none. */
  async complete(config: ModelConfig): Promise<ModelConfigInput | undefined> {
    const { code, model, asker } = this.#source;
    if ('url' in code) return this.#unlessCancelled((await this.#thread(0)).complete(config));
    const exported = code.model;
    if (!('completeConfig' in exported) || typeof exported.completeConfig !== 'function') return undefined;
    const completeConfig = exported.completeConfig.bind(exported);
    try {
      return await this.#unlessCancelled(asker.during(() => completeConfig(config)));
    } catch (error) {
      throw errorOf(failureOf(model, error, { step: 'completeConfig', url: undefined }), model);
    }
  }

  /**
   * Starts all instances. Resolves when they can take batches.
   *
   * @throws {@link TritonError} The error that the model throws, UNAVAILABLE if a thread ends, CANCELLED if loading
   *   is cancelled.
   */
  async start(config: ModelConfig): Promise<void> {
    const { instances, model, version, directory, concurrency, cores, code } = this.#source;
    const specs = instances.map(({ hostPolicy, ...instance }, index) => ({
      hostPolicy,
      model,
      version,
      config,
      directory,
      instance: { ...instance, index },
      inboxes: this.inboxes,
      concurrency,
      // No spinning in this environment: its event loop belongs to the program.
      cores: 'url' in code ? cores : 0,
    }));
    if ('url' in code) {
      const threads = await Promise.all(specs.map((_, i) => this.#thread(i)));
      await this.#unlessCancelled(
        Promise.all(threads.map((thread, i) => thread.start(specs[i] ?? neverSpec()))),
      );
    } else {
      for (const spec of specs.slice(0, 1)) await this.#unlessCancelled(this.#startHere(spec, code.model));
    }
  }

  async #startHere(spec: InstanceSpec, exported: ModelExport): Promise<void> {
    let step = 'the constructor';
    try {
      const model = makeModel(exported);
      step = 'initialize';
      const { log, server, asker } = this.#source;
      if (this.#over) throw this.#wasCancelled();
      await asker.during(() => initializeModel(model, spec, ownLogger(log, spec.model), server));
      if (this.#isOver()) {
        await this.#finalize(model);
        throw this.#wasCancelled();
      }
      // Loads that the model requests after `execute` has returned count as the program's, unless they name a
      // parent.
      const asking: JavaScriptModel = {
        execute: (requests) => asker.now(() => model.execute(requests)),
      };
      this.#here = { loop: new InstanceLoop(spec, asking, false, this.#source.functions), model };
      asker.runs(this.#here.loop.instance);
    } catch (error) {
      throw errorOf(failureOf(spec.model, error, { step, url: undefined }), spec.model);
    }
    this.#here.loop.start();
  }

  /** Called when the version takes no more requests. Instances that do not end in time are terminated. */
  settle(): void {
    this.#source.functions.settleInstances(this.inboxes, false);
    this.#timer ??= setTimeout(() => {
      this.#terminate();
    }, this.#source.workers.unloadTimeoutMs ?? defaultUnloadTimeoutMs).unref();
  }

  /** Cancels the load. */
  cancel(): void {
    this.#over = true;
    this.#cancel(this.#wasCancelled());
  }

  /** Ends the instances, which get no more batches. */
  async end(): Promise<void> {
    this.#over = true;
    clearTimeout(this.#timer);
    const here = this.#here;
    this.#here = undefined;
    this.#source.functions.releaseInstances(this.inboxes);
    const { log, model, finalizeTimeoutMs } = this.#source;
    if (here) {
      await endsWithin(here.loop.ended, busyMs);
      here.loop.detach();
      if (!(await endsWithin(this.#finalize(here.model), finalizeTimeoutMs)))
        logLateFinalize(log, model, finalizeTimeoutMs, 'the server no longer waits for it');
    }
    const ends = await Promise.all(this.#threads.splice(0).map((thread) => thread.end(finalizeTimeoutMs)));
    if (ends.includes(false)) logLateFinalize(log, model, finalizeTimeoutMs, 'its thread was terminated');
  }

  /** For the compiler, which does not see that `#over` changes while something is awaited. */
  #isOver(): boolean {
    return this.#over;
  }

  #wasCancelled(): TritonError {
    const { model } = this.#source;
    return new TritonError('CANCELLED', `model '${model}': loading was cancelled`, { model });
  }

  /** Calls `finalize`. Never rejects. */
  async #finalize(model: JavaScriptModel): Promise<void> {
    try {
      await this.#source.asker.during(() => model.finalize?.());
    } catch (error) {
      logFinalize(this.#source.log, this.#source.model, error);
    }
  }

  #terminate(): void {
    this.#source.functions.settleInstances(this.inboxes, true);
    for (const thread of this.#threads) thread.kill().catch(() => undefined);
  }

  async #thread(index: number): Promise<InstanceThread> {
    // Piscina is loaded only if a model needs it.
    const { InstanceThread: Thread } = await import('../threads/instance-thread.js');
    const { code, model, workers, log, connection } = this.#source;
    return (this.#threads[index] ??= new Thread(
      model,
      'url' in code ? code.url : '',
      workers,
      log,
      connection,
      (name, count, reason) => {
        const times = count === 1 ? 'once' : `${count} times`;
        this.#restarts.set(
          name,
          `instance '${name}' was restarted ${times}, most recently because ${reason}`,
        );
        this.onRestart([...this.#restarts.values()].join('; '));
      },
    ));
  }

  #unlessCancelled<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#cancelled]);
  }
}

function neverSpec(): never {
  throw new Error('an instance without a specification');
}
