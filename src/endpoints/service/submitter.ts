/**
 * Submits requests to the engine once per turn of the event loop.
 *
 * Node runs the callbacks of sockets one by one, with `process.nextTick` queues in between. So requests that arrive
 * together on several connections would be flushed one by one. Here they wait until all sockets of the turn were
 * read (`setImmediate`), and are then submitted in one tick, so that they can run in one batch. No timer delays
 * them.
 */

import { setImmediate } from '../../timers.js';
import { TritonError } from '../../errors.js';
import type { Waiter } from '../../dispatch/types.js';
import type { CheckedOptions } from '../../server/requests/infer-options.js';
import type { ModelHandle } from '../../server/models/model-handle.js';
import type { InferResult } from '../../api/results.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { Client } from './client.js';

/** A request to be submitted, with its waiter. */
export class Job implements Waiter<InferResult>, Sendable {
  readonly #client: Client;
  readonly #handle: ModelHandle;
  readonly #inputs: Inputs;
  readonly #options: CheckedOptions;
  readonly #waiter: Waiter<InferResult>;

  constructor(
    client: Client,
    handle: ModelHandle,
    inputs: Inputs,
    options: CheckedOptions,
    waiter: Waiter<InferResult>,
  ) {
    this.#client = client;
    this.#handle = handle;
    this.#inputs = inputs;
    this.#options = { ...options, request: { ...options.request, owner: client } };
    this.#waiter = waiter;
  }

  send(): void {
    const { behind } = this.#client;
    if (behind === undefined || this.#options.request.sequence === undefined) {
      this.sendNow();
      return;
    }
    void behind.then(() => {
      this.send();
    });
  }

  /** Sends it also before others of its sequence that wait. */
  sendNow(): void {
    const client = this.#client;
    client.inFlight++;
    if (client.gone) {
      this.reject(new TritonError('CANCELLED', 'the client has closed the connection'));
      return;
    }
    client.sentBy(this.#handle);
    try {
      this.#handle.sendChecked(this.#inputs, this.#options, this, origin);
    } catch (error) {
      this.reject(error);
    }
  }

  resolve(result: InferResult): void {
    this.#client.inFlight--;
    this.#waiter.resolve(result);
  }

  reject(error: unknown): void {
    this.#client.inFlight--;
    this.#waiter.reject(error);
  }
}

/** Errors sent to clients need no stack frames of the program. */
const origin = '';

/** What is sent in the next turn. */
export interface Sendable {
  send(): void;
}

/** See the head of this file. Each service has one submitter. */
export class Submitter {
  #jobs: Sendable[] = [];

  add(job: Sendable): void {
    if (this.#jobs.push(job) === 1) setImmediate(this.#sendAll);
  }

  readonly #sendAll = (): void => {
    const jobs = this.#jobs;
    this.#jobs = [];
    for (const job of jobs) job.send();
  };
}
