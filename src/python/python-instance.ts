/** One instance of a Python model: its process, which is restarted when it dies, and its channel. */

import { addon } from '../addon/load.js';
import type { NativeHostPolicy } from '../addon/native/version-config.js';
import type { NativePython } from '../addon/native/python.js';
import type { NativeServer } from '../addon/native/server.js';
import type { PythonSettings } from './settings.js';
import { type TritonError, unavailable } from '../errors.js';
import { finalizesWithin } from '../javascript/threads/finalize-limit.js';
import type { VersionHost } from '../javascript/model-server.js';
import type { Log } from '../logger.js';
import { endsWithin } from '../time-limit.js';
import type { Interpreter } from './interpreter.js';
import { Questions } from './questions.js';
import { StubProcess } from './stub-process.js';
import { thrownText } from '../thrown-text.js';
import { clearTimeout, setTimeout } from '../timers.js';

/** The pause before a restart: the first and the longest. Each pause is twice the previous one. */
const firstPauseMs = 50;
const mostPauseMs = 10_000;
/** A process that has lived this long resets the count of deaths. */
const longLifeMs = 60_000;
/** A model that does not answer within this time counts as not ready. Triton has the same limit. */
const readinessMs = 5000;

/** The data with which an instance is started. */
export interface InstanceSource {
  readonly model: string;
  readonly name: string;
  readonly index: number;
  /** What its process is bound to; undefined: nothing. */
  readonly hostPolicy?: NativeHostPolicy | undefined;
  /** The number of the version's inboxes. */
  readonly inboxes: number;
  readonly settings: PythonSettings;
  readonly cores: number;
  readonly native: NativeServer;
  readonly host: VersionHost;
  readonly log: Log;
  readonly onRestart: (instance: string, count: number, reason: string) => void;
}

/** The task that the stub gets before it imports the model. */
export type Task = Readonly<Record<string, unknown>>;

/** Starts a process without a channel, and returns its answer. The signal ends the process. */
export async function ask(
  source: InstanceSource,
  python: Interpreter,
  task: Task,
  signal: AbortSignal,
): Promise<unknown> {
  const { model, name, settings, log, native, host } = source;
  const questions = new Questions(model, native, host);
  const stub = new StubProcess({
    model,
    name,
    python,
    memory: undefined,
    inputs: undefined,
    startMs: settings.startMs,
    log,
    answer: questions.answer,
    env: process.env,
  });
  const end = (): void => {
    stub.kill();
  };
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await stub.start(task);
  } finally {
    signal.removeEventListener('abort', end);
    stub.kill();
    await stub.ended;
  }
}

/** See the head of this file. */
export class PythonInstance {
  readonly #source: InstanceSource;
  #python: Interpreter | undefined;
  #task: Task = {};
  #stub: StubProcess | undefined;
  #channel: NativePython | undefined;
  /** Whether its process takes batches. */
  #up = false;
  /** Whether its newest process has taken batches, so that it finalizes. */
  #hasServed = false;
  #ending = false;
  /** Whether its server closes. */
  #closing = false;
  #timer: NodeJS.Timeout | undefined;
  #deaths = 0;
  #restarts = 0;
  #starting: Promise<void> = Promise.resolve();

  constructor(source: InstanceSource) {
    this.#source = source;
  }

  /**
   * Starts the instance. Resolves when it serves.
   *
   * @throws {@link TritonError} The exception that the model raises; UNAVAILABLE without a Python that runs it, or
   *   without shared memory.
   */
  async start(python: Interpreter, task: Task): Promise<void> {
    this.#python = python;
    this.#task = task;
    await (this.#starting = this.#begin(python));
  }

  /** The id of its process; undefined: none runs. */
  get pid(): number | undefined {
    return this.#up ? this.#stub?.pid : undefined;
  }

  /** What its model tells of itself. */
  get info(): Readonly<Record<string, string>> {
    return this.#stub?.info ?? {};
  }

  async #begin(python: Interpreter): Promise<void> {
    const { model, name, hostPolicy, settings, native, host, log } = this.#source;
    const channel = this.#makeChannel();
    this.#channel = channel;
    const questions = new Questions(model, native, host);
    let stub: StubProcess;
    try {
      stub = new StubProcess({
        model,
        name,
        python,
        memory: channel.descriptor(),
        inputs: channel.inputsDescriptor(),
        startMs: settings.startMs,
        log,
        answer: questions.answer,
        env: process.env,
        hostPolicy,
      });
    } catch (error) {
      channel.closeDescriptor();
      channel.stop();
      throw error;
    }
    this.#stub = stub;
    this.#hasServed = false;
    channel.closeDescriptor();
    const began = performance.now();
    let broken: string | undefined;
    try {
      const started = channel.start((reason) => {
        broken = reason;
        stub.kill();
      });
      if (started === undefined) throw this.#unavailable('NOT_READY', `instance '${name}' is closed`);
      if (!started)
        throw this.#unavailable('NO_MEMORY', `the system has no thread left for instance '${name}'`);
      await stub.start(this.#task);
    } catch (error) {
      stub.kill();
      channel.stop();
      await stub.ended;
      throw error;
    }
    stub.release();
    channel.up();
    this.#up = this.#hasServed = true;
    void stub.ended.then((how) => {
      if (this.#stub === stub) this.#up = false;
      channel.stop();
      if (this.#ending || this.#stub !== stub) return;
      // The engine has closed the instance, and the process has ended normally.
      if (this.#closing && stub.endedByItself) return;
      if (performance.now() - began > longLifeMs) this.#deaths = 0;
      this.#died(broken ?? how);
    });
  }

  #makeChannel(): NativePython {
    const { inboxes, index, native, settings, cores, name } = this.#source;
    const { memoryName, queueSize, initialBytes, growthBytes } = settings;
    const made = addon().createPython(inboxes, index, native.id(), {
      memoryName,
      queueSize,
      initialBytes,
      growthBytes,
      cores,
      inFile: false,
    });
    if (typeof made === 'object') return made;
    if (made === undefined) throw this.#unavailable('NOT_READY', `instance '${name}' is closed`);
    throw this.#unavailable('NO_MEMORY', made);
  }

  #unavailable(reason: 'NOT_READY' | 'NO_MEMORY', text: string): TritonError {
    const { model } = this.#source;
    return unavailable(reason, `model '${model}': ${text}`, { model });
  }

  /** Restarts the process after a pause. */
  #died(reason: string): void {
    const { name, onRestart } = this.#source;
    const pause = Math.min(mostPauseMs, firstPauseMs * 2 ** this.#deaths++);
    this.#restarts++;
    onRestart(name, this.#restarts, reason);
    this.#timer = setTimeout(() => {
      const python = this.#python;
      if (this.#ending || python === undefined) return;
      this.#starting = this.#begin(python);
      this.#starting.catch((error: unknown) => {
        if (!this.#ending && !this.#closing) this.#died(thrownText(error));
      });
    }, pause).unref();
  }

  /** Whether the process takes batches, and the model's `is_ready`, if it has one, returns true within 5 s. */
  async isReady(): Promise<boolean> {
    const stub = this.#stub;
    const channel = this.#channel;
    if (!this.#up || this.#ending || stub === undefined || channel === undefined) return false;
    const ready = stub.isReady(() => {
      channel.askReady();
    });
    return (await endsWithin(ready, readinessMs)) && ready;
  }

  /**
   * Ends the process: it may end by itself within a time limit; then it is killed.
   *
   * @param finalizeMs - How long `finalize` may take, and threads of the model after it.
   * @returns Undefined if it ended in time. Otherwise the names of the threads that took longer; empty for
   *   `finalize`.
   */
  async end(finalizeMs: number): Promise<readonly string[] | undefined> {
    this.#ending = true;
    clearTimeout(this.#timer);
    const stub = this.#stub;
    if (stub === undefined) return undefined;
    if (!this.#hasServed) {
      await this.kill();
      return undefined;
    }
    stub.hold();
    this.#channel?.askToEnd();
    const inTime = await finalizesWithin(stub.finalizing, stub.ended, finalizeMs);
    await this.kill();
    return inTime ? undefined : stub.threads;
  }

  /**
   * Called when the server closes. The engine then closes the instance without requests, which ends its process.
   */
  serverCloses(): void {
    this.#closing = true;
  }

  /** Kills the process. */
  async kill(): Promise<void> {
    this.#ending = true;
    clearTimeout(this.#timer);
    const stub = this.#stub;
    stub?.kill();
    await stub?.ended;
    this.#channel?.stop();
    await this.#starting.catch(() => undefined);
  }
}
