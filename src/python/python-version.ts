/** A version of a Python model: its instances, from its load to its end. */

import { addon } from '../addon/load.js';
import type { NativeServer } from '../addon/native/server.js';
import type { Environment, PythonSettings } from './settings.js';
import type { PlacedInstance } from '../scheduling/placed-instance.js';
import { sequenceTensorsOf, type HiddenTensor, type ModelConfig } from '../config/index.js';
import { TritonError } from '../errors.js';
import { codeRerunsInHalves } from '../scheduling/policy.js';
import type { VersionHost } from '../javascript/model-server.js';
import { logLateFinalize } from '../javascript/threads/finalize-limit.js';
import { levelsOf } from '../javascript/model-logger.js';
import type { RunningVersion } from '../javascript/versions/versions.js';
import type { Log } from '../logger.js';
import { clearTimeout, setTimeout } from '../timers.js';
import { defaultUnloadTimeoutMs } from '../time-limit.js';
import { stubLibrary } from './files.js';
import { findInterpreter, type Interpreter } from './interpreter.js';
import { ask, PythonInstance, type InstanceSource, type Task } from './python-instance.js';
import { stubTensors, type StubTensor } from './questions.js';

/** The data with which a version is opened. */
export interface VersionSource {
  readonly model: string;
  readonly version: number;
  /** The model's file. */
  readonly path: string;
  readonly modelDirectory: string;
  readonly instances: readonly PlacedInstance[];
  readonly settings: PythonSettings;
  /** The model's own environment; undefined: it has none. */
  readonly environment: Environment | undefined;
  /** More arguments of the model's `initialize`, for models of the package (default: none). */
  readonly args?: Readonly<Record<string, string>>;
  readonly cores: number;
  readonly unloadTimeoutMs: number | undefined;
  readonly finalizeTimeoutMs: number;
  readonly log: Log;
  readonly native: NativeServer;
  readonly host: VersionHost;
}

/** See the head of this file. */
export class PythonVersion implements RunningVersion {
  readonly inboxes: number;
  readonly #source: VersionSource;
  readonly #instances: PythonInstance[] = [];
  #python: Promise<Interpreter> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Aborted when the version ends or its load is cancelled. Then no process is started any more. */
  readonly #over = new AbortController();
  #cancel: (error: TritonError) => void = () => undefined;
  readonly #cancelled: Promise<never>;
  #isCancelled = false;
  readonly #restarts: Map<string, string> = new Map();
  onRestart: (reason: string) => void = () => undefined;

  constructor(source: VersionSource) {
    this.#source = source;
    const names = source.instances.map(({ name }) => name);
    this.inboxes = addon().reserveInstances(source.model, names, 1, 'process');
    this.#cancelled = new Promise((_, reject) => (this.#cancel = reject));
    this.#cancelled.catch(() => undefined);
  }

  /**
   * Asks the model for its part of the configuration, in a process of its own; undefined if it has none.
   *
   * @throws {@link TritonError} The exception that the model raises; UNAVAILABLE without a Python that runs it.
   */
  async complete(config: ModelConfig): Promise<Readonly<Record<string, unknown>> | undefined> {
    const python = await this.#unlessCancelled(this.#interpreter());
    const source = this.#instanceSource(0, `${this.#source.model}_complete`);
    const task = { ...this.#task('complete'), config: configText(config) };
    const completed = await this.#unlessCancelled(ask(source, python, task, this.#over.signal));
    // An object from JSON. Its fields are checked later, as those of a configuration.
    return typeof completed === 'object' && completed !== null
      ? (completed as Readonly<Record<string, unknown>>)
      : undefined;
  }

  /**
   * Starts all instances, in parallel. Resolves when they can take batches.
   *
   * @throws {@link TritonError} The exception that the model raises; UNAVAILABLE without a Python that runs it,
   *   CANCELLED if loading is cancelled.
   */
  async start(config: ModelConfig): Promise<void> {
    const python = await this.#unlessCancelled(this.#interpreter());
    const { model, version, instances, modelDirectory, settings, args } = this.#source;
    const text = configText(config);
    const hidden = sequenceTensorsOf(config);
    const starts = instances.map(({ name, kind, device, hostPolicy }, index) => {
      const instance = new PythonInstance({ ...this.#instanceSource(index, name), hostPolicy });
      this.#instances.push(instance);
      return instance.start(python, {
        ...this.#task('serve'),
        decoupled: config.model_transaction_policy?.decoupled === true,
        iterative: config.sequence_batching?.iterative_sequence === true,
        batching: config.max_batch_size > 0,
        reruns: codeRerunsInHalves(config),
        threads: settings.threads,
        inputs: [...stubTensors(config.input), ...hiddenTensors(hidden.inputs)],
        outputs: [...stubTensors(config.output), ...hiddenTensors(hidden.outputs)],
        instance: name,
        args: {
          model_config: text,
          model_instance_kind: kind.replace(/^KIND_/, ''),
          model_instance_name: name,
          model_instance_device_id: String(device),
          model_repository: modelDirectory,
          model_version: String(version),
          model_name: model,
          ...args,
        },
      });
    });
    // Wait for all starts, so that no process is left behind when one of them fails.
    const all = Promise.allSettled(starts).then((outcomes) => {
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    });
    await this.#unlessCancelled(all);
  }

  /** What the model of the first instance tells of itself. */
  get info(): Readonly<Record<string, string>> {
    return this.#instances[0]?.info ?? {};
  }

  async isReady(): Promise<boolean> {
    const all = await Promise.all(this.#instances.map((instance) => instance.isReady()));
    return all.every(Boolean);
  }

  processes(): readonly number[] {
    return this.#instances.flatMap(({ pid }) => pid ?? []);
  }

  settle(): void {
    addon().settleInstances(this.inboxes, false);
    this.#timer ??= setTimeout(() => {
      addon().settleInstances(this.inboxes, true);
      for (const instance of this.#instances) void instance.kill();
    }, this.#source.unloadTimeoutMs ?? defaultUnloadTimeoutMs).unref();
  }

  serverCloses(): void {
    for (const instance of this.#instances) instance.serverCloses();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#cancel(this.#wasCancelled());
    this.#over.abort();
    for (const instance of this.#instances) void instance.kill();
  }

  async end(): Promise<void> {
    clearTimeout(this.#timer);
    this.#over.abort();
    addon().releaseInstances(this.inboxes);
    const { log, model, finalizeTimeoutMs } = this.#source;
    const ends = await Promise.all(this.#instances.splice(0).map((one) => one.end(finalizeTimeoutMs)));
    const late = ends.filter((one) => one !== undefined);
    const threads = [...new Set(late.flat())].map((name) => `thread '${name}'`);
    if (threads.length > 0) {
      const still = `${threads.join(', ')} of it still ${threads.length === 1 ? 'runs' : 'run'}`;
      const within = `did not end within ${finalizeTimeoutMs / 1000} s (finalizeTimeoutMs)`;
      log.warn(
        `model '${model}': its process ${within}, as ${still}, and was ended; a thread that may be left is made with daemon=True`,
        { model },
      );
    } else if (late.length > 0) {
      logLateFinalize(log, model, finalizeTimeoutMs, 'its process was terminated');
    }
    const released = this.#python?.then(
      (python) => python.release(),
      () => undefined,
    );
    // A cancelled load does not wait until an archive is unpacked.
    if (!this.#isCancelled) await released;
    else released?.catch(() => undefined);
  }

  #wasCancelled(): TritonError {
    const { model } = this.#source;
    return new TritonError('CANCELLED', `model '${model}': loading was cancelled`, { model });
  }

  #interpreter(): Promise<Interpreter> {
    const { model, settings, environment } = this.#source;
    return (this.#python ??= findInterpreter(model, settings, environment));
  }

  #task(task: 'complete' | 'serve'): Task {
    const { model, version, path, modelDirectory, log } = this.#source;
    return {
      task,
      library: stubLibrary(),
      server: process.pid,
      levels: levelsOf(log),
      model,
      version,
      path,
      modelDirectory,
    };
  }

  #instanceSource(index: number, name: string): InstanceSource {
    const { model, settings, cores, native, host, log } = this.#source;
    return {
      model,
      name,
      index,
      inboxes: this.inboxes,
      settings,
      cores,
      native,
      host,
      log,
      onRestart: (instance, count, reason) => {
        const times = count === 1 ? 'once' : `${count} times`;
        this.#restarts.set(
          instance,
          `instance '${instance}' was restarted ${times}, most recently because ${reason}`,
        );
        log.warn(`model '${model}': instance '${instance}' is restarted, because ${reason}`, { model });
        this.onRestart([...this.#restarts.values()].join('; '));
      },
    };
  }

  #unlessCancelled<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#cancelled]);
  }
}

/** A configuration in the form that Triton passes to models: JSON, with 64-bit integers as numbers. */
function configText(config: ModelConfig): string {
  return JSON.stringify(config, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
}

/** The stub's descriptions of states and control tensors. */
function hiddenTensors(tensors: readonly HiddenTensor[]): StubTensor[] {
  return stubTensors(tensors.map((tensor) => ({ ...tensor, dims: tensor.laterDims })));
}
