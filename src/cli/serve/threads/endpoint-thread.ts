/** A thread of endpoints, as the main thread sees it. */

import { Worker } from 'node:worker_threads';
import { ownFile } from '../../../addon/own-file.js';
import { loadOptionsOf } from '../../../endpoints/service/load-request.js';
import type { LogControl } from '../../../endpoints/service/log-settings.js';
import { controlOf } from '../../../endpoints/service/trace-settings.js';
import { TritonError } from '../../../errors.js';
import type { InferenceServer } from '../../../server/inference-server.js';
import type { Endpoint } from '../endpoint.js';
import type { Log } from '../log.js';
import { sentError, type ThreadData, type ToMain, type ToThread, type Wish } from './messages.js';

/** How long a thread may take to end after its endpoints have closed, in milliseconds. */
const endMs = 1000;

/** Does for a thread what only the main thread can do. */
async function grant(server: InferenceServer, log: LogControl, wish: Wish): Promise<unknown> {
  switch (wish.does) {
    case 'load':
      await server.loadModel(wish.model, loadOptionsOf(wish.request));
      return undefined;
    case 'unload':
      await server.unloadModel(wish.model, { unloadDependents: wish.dependents });
      return undefined;
    case 'change log':
      return log.change(wish.changes);
    case 'change trace':
      return controlOf(server.trace).change(wish.changes, wish.model);
  }
}

/** See the head of this file. */
export class EndpointThread implements Endpoint {
  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #closing = false;
  #listening = false;
  /** Why the thread ended by itself. */
  #failure: unknown;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.once('error', (error) => {
      this.#failure = error;
    });
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        resolve();
        // The thread's port would stay open: some connections would continue, and others would wait for ever.
        if (!this.#closing) throw this.#endedByItself();
      });
    });
  }

  /**
   * Starts a thread. Resolves when its endpoints listen.
   *
   * @throws {@link TritonError} UNAVAILABLE if they cannot listen, INTERNAL if the thread ends before.
   */
  static async start(server: InferenceServer, data: ThreadData, log: Log): Promise<EndpointThread> {
    const program = ownFile('dist/src/cli/serve/threads/thread.js', 'which endpoint threads need');
    const worker = new Worker(program, { workerData: data });
    const thread = new EndpointThread(worker);
    log.onChange(() => {
      thread.#send({ says: 'verbose', on: log.isVerbose });
    });
    await new Promise<void>((resolve, reject) => {
      // This listener comes before the one that throws.
      worker.prependOnceListener('exit', () => {
        if (thread.#listening) return;
        thread.#closing = true;
        reject(thread.#endedByItself());
      });
      worker.on('message', (message: ToMain) => {
        switch (message.says) {
          case 'listening':
            thread.#listening = true;
            resolve();
            break;
          case 'failed':
            thread.#closing = true;
            reject(TritonError.from(message.error));
            break;
          case 'line':
            log.verbose(message.line);
            break;
          case 'wish': {
            const { id, wish } = message;
            grant(server, log, wish).then(
              (value) => {
                thread.#send({ says: 'granted', id, value });
              },
              (error: unknown) => {
                thread.#send({ says: 'refused', id, error: sentError(error) });
              },
            );
          }
        }
      });
    });
    return thread;
  }

  async close(timeoutMs: number): Promise<void> {
    this.#closing = true;
    this.#send({ says: 'close', timeoutMs });
    const timer = setTimeout(() => void this.#worker.terminate(), timeoutMs + endMs);
    await this.#ended;
    clearTimeout(timer);
  }

  #endedByItself(): TritonError {
    const cause = this.#failure;
    const why = cause === undefined ? '' : `: ${TritonError.from(cause).message}`;
    return new TritonError('INTERNAL', `an endpoint thread ended unexpectedly${why}`, { cause });
  }

  #send(message: ToThread): void {
    this.#worker.postMessage(message);
  }
}
