/** The main thread, as an endpoint thread sees it: it loads models, and owns the log and the trace settings. */

import type { MessagePort } from 'node:worker_threads';
import type { ServiceHost } from '../../../endpoints/service/host.js';
import type { LogSettings } from '../../../endpoints/service/log-settings.js';
import type { TraceSetting } from '../../../server/trace/server-trace.js';
import { TritonError, type TritonErrorJSON } from '../../../errors.js';
import type { ToMain, Wish } from './messages.js';

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** See the head of this file. */
export class MainThread {
  readonly #port: MessagePort;
  readonly #waiting: Map<number, Waiting> = new Map();
  #lastId = 0;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  say(message: ToMain): void {
    this.#port.postMessage(message);
  }

  /** The model control, log and trace settings that a service uses in this thread. */
  host(controlled: boolean): ServiceHost {
    return {
      // The main thread returns the same type as its own service.
      log: { change: (changes) => this.#wish({ does: 'change log', changes }) as Promise<LogSettings> },
      trace: {
        change: (changes, model) =>
          this.#wish({ does: 'change trace', changes, model }) as Promise<TraceSetting>,
      },
      control: controlled
        ? {
            load: async (model, request) => {
              await this.#wish({ does: 'load', model, request });
            },
            unload: async (model, dependents) => {
              await this.#wish({ does: 'unload', model, dependents });
            },
          }
        : undefined,
    };
  }

  granted(id: number, value: unknown): void {
    this.#take(id)?.resolve(value);
  }

  refused(id: number, error: TritonErrorJSON): void {
    this.#take(id)?.reject(TritonError.from(error));
  }

  #take(id: number): Waiting | undefined {
    const found = this.#waiting.get(id);
    this.#waiting.delete(id);
    return found;
  }

  #wish(wish: Wish): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.say({ says: 'wish', id, wish });
    });
  }
}
