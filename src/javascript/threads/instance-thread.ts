/**
 * The thread of one instance, on its owner's side: starts it, restarts it when it has died, and ends it.
 *
 * Each instance has a pool of one thread. Piscina keeps the owner's event loop alive while a task runs, and an idle
 * server must not. So the task that starts an instance ends when the instance serves. A pool of several threads
 * would then treat a serving thread as idle, and start the next instance on it.
 */

import { MessageChannel, receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { ownFile } from '../../addon/own-file.js';
import type { ModelConfig, ModelConfigInput } from '../../config/index.js';
import { isLack, unavailable } from '../../errors.js';
import type { Log } from '../../logger.js';
import { errorOf } from '../batches/failures.js';
import { finalizesWithin } from './finalize-limit.js';
import { levelsOf, logFinalize, LogReader } from '../model-logger.js';
import type { Connection } from '../model-server.js';
import { makePool, type Pool } from './piscina.js';
import type { WorkersOptions } from '../../api/javascript-model.js';
import type { InstanceSpec } from '../versions/version-spec.js';
import type { CompleteTask, InstanceMessage, ServeTask, TaskOutcome } from './worker.js';
import { thrownText } from '../../thrown-text.js';
import { clearTimeout, setTimeout } from '../../timers.js';

/** The pause before a restart: the first and the longest. Each pause is twice the previous one. */
const firstPauseMs = 50;
const mostPauseMs = 10_000;
/** A thread that has lived this long resets the count of deaths. */
const longLifeMs = 60_000;

/** See the head of this file. */
export class InstanceThread {
  readonly #model: string;
  readonly #url: string;
  readonly #options: WorkersOptions;
  readonly #log: Log;
  readonly #connection: Connection | undefined;
  readonly #onRestart: (instance: string, count: number, reason: string) => void;
  #pool: Pool | undefined;
  #port: MessagePort | undefined;
  #ended: Promise<void> = Promise.resolve();
  #finalizing: Promise<void> = Promise.resolve();
  #readRest: () => void = () => undefined;
  /** Whether the instance serves, so that its thread learns of its end and finalizes. */
  #serves = false;
  #ending = false;
  #timer: NodeJS.Timeout | undefined;
  #deaths = 0;
  #restarts = 0;

  constructor(
    model: string,
    url: string,
    options: WorkersOptions,
    log: Log,
    connection: Connection | undefined,
    onRestart: (instance: string, count: number, reason: string) => void,
  ) {
    this.#model = model;
    this.#url = url;
    this.#options = options;
    this.#log = log;
    this.#connection = connection;
    this.#onRestart = onRestart;
  }

  /**
   * Asks the model for its part of a configuration.
   *
   * @throws {@link TritonError} The error that the model throws; UNAVAILABLE if its thread ends.
   */
  async complete(config: ModelConfig): Promise<ModelConfigInput | undefined> {
    const outcome = await this.#do({ kind: 'complete', model: this.#model, url: this.#url, config }, []);
    return outcome.completed;
  }

  /**
   * Starts the instance. Resolves when it serves.
   *
   * @throws {@link TritonError} The error that the model throws; UNAVAILABLE if its thread ends.
   */
  async start(spec: InstanceSpec): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    let finalizing: () => void = () => undefined;
    this.#finalizing = new Promise((resolve) => (finalizing = resolve));
    this.#ended = new Promise((resolve) => {
      port1.on('message', this.#reader(port1, finalizing, resolve));
    });
    port1.unref();
    const levels = levelsOf(this.#log);
    const connection = this.#connection;
    await this.#do({ kind: 'serve', url: this.#url, spec, levels, port: port2, connection }, [port2]);
    // `end` or `kill` was called meanwhile.
    if (this.#ending) return;
    this.#serves = true;
    const began = performance.now();
    const [worker] = this.#pool?.threads ?? [];
    let reason = 'its thread has ended';
    this.#pool?.on('error', (error: unknown) => {
      reason = thrownText(error);
    });
    worker?.once('exit', (code) => {
      if (this.#ending) return;
      if (code !== 0 && reason === 'its thread has ended') reason += ` with code ${code}`;
      if (performance.now() - began > longLifeMs) this.#deaths = 0;
      this.#died(spec, reason);
    });
    if (worker === undefined) this.#died(spec, reason);
  }

  /** Makes the function that takes the thread's messages. */
  #reader(port: MessagePort, finalizing: () => void, ended: () => void): (message: InstanceMessage) => void {
    const log = new LogReader(this.#log, this.#model);
    let open = true;
    port.once('close', () => {
      open = false;
      ended();
    });
    this.#readRest = (): void => {
      // Node crashes when a port is read that is closed or just closing.
      if (!open) return;
      // Messages that a thread sent before it died are still in the port.
      for (let rest = receiveMessageOnPort(port); rest !== undefined; rest = receiveMessageOnPort(port))
        take(rest.message as InstanceMessage);
    };
    const take = (message: InstanceMessage): void => {
      if (message.logged !== undefined) {
        log.read(message.logged, port);
        return;
      }
      if (message.finalizing === true) {
        finalizing();
        return;
      }
      const { failure } = message;
      if (failure) logFinalize(this.#log, this.#model, errorOf(failure, this.#model));
      ended();
    };
    return take;
  }

  /**
   * Ends the thread: it may finish within a time limit; then it is terminated.
   *
   * @param finalizeMs - How long `finalize` may take. Returns false if it took longer.
   */
  async end(finalizeMs: number): Promise<boolean> {
    this.#ending = true;
    clearTimeout(this.#timer);
    if (this.#pool === undefined) return true;
    const inTime = !this.#serves || (await finalizesWithin(this.#finalizing, this.#ended, finalizeMs));
    await this.kill();
    return inTime;
  }

  /** Terminates the thread at once. */
  async kill(): Promise<void> {
    this.#ending = true;
    clearTimeout(this.#timer);
    const pool = this.#pool;
    this.#pool = undefined;
    this.#readRest();
    this.#port?.close();
    await pool?.destroy();
  }

  /** Restarts the instance after a pause. */
  #died(spec: InstanceSpec, reason: string): void {
    const pool = this.#pool;
    this.#pool = undefined;
    this.#serves = false;
    this.#readRest();
    this.#port?.close();
    pool?.destroy().catch(() => undefined);
    const pause = Math.min(mostPauseMs, firstPauseMs * 2 ** this.#deaths++);
    this.#restarts++;
    this.#onRestart(spec.instance.name, this.#restarts, reason);
    this.#timer = setTimeout(() => {
      this.start(spec).catch((error: unknown) => {
        if (this.#ending) return;
        this.#died(spec, thrownText(error));
      });
    }, pause).unref();
  }

  #makePool(): Pool {
    const { resourceLimits, env, execArgv } = this.#options;
    const pool = makePool({
      filename: ownFile('dist/src/server/creation/model-thread-entry.cjs', 'which JavaScript models need'),
      minThreads: 1,
      maxThreads: 1,
      // Otherwise an idle thread blocks in Atomics.wait, and its event loop stands still.
      atomics: 'disabled',
      ...(resourceLimits && { resourceLimits: definedOnly(resourceLimits) }),
      ...(env && { env: { ...env } }),
      ...(execArgv && { execArgv: [...execArgv] }),
    });
    // Without a listener an error of an idle thread would end the process.
    pool.on('error', () => undefined);
    return pool;
  }

  async #do(
    task: CompleteTask | ServeTask,
    transfer: MessagePort[],
  ): Promise<Exclude<TaskOutcome, { failure: object }>> {
    this.#pool ??= this.#makePool();
    let outcome: TaskOutcome;
    try {
      // `worker.ts` defines the outcome of a task.
      outcome = (await this.#pool.run(task, { transferList: transfer })) as TaskOutcome;
    } catch (cause) {
      const why = thrownText(cause);
      throw unavailable(
        isLack(cause) ? 'NO_MEMORY' : 'INSTANCE_ENDED',
        `model '${this.#model}': its thread has ended: ${why}`,
        {
          model: this.#model,
          cause,
        },
      );
    }
    if (outcome.failure !== undefined) throw errorOf(outcome.failure, this.#model);
    return outcome;
  }
}

/** The properties that are not undefined. */
function definedOnly(limits: NonNullable<WorkersOptions['resourceLimits']>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(limits).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );
}
