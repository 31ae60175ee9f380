/** Logs traces that are lost, and files of traces that cannot be written. */

import type { NativeTracing } from '../../addon/native/trace.js';
import type { Log } from '../../logger.js';
import { clearInterval, setInterval } from '../../timers.js';

/** How often it looks, in milliseconds. */
const intervalMs = 5000;

/** See the head of this file. It does not keep the process, nor a server that the program has dropped. */
export class FaultWatch {
  readonly #owner: WeakRef<object>;
  readonly #native: NativeTracing;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #fault = '';
  #dropped = 0;

  /** @param server - The server; when it is gone, nothing is looked at any more. */
  constructor(server: object, native: NativeTracing, log: Log) {
    this.#owner = new WeakRef(server);
    this.#native = native;
    this.#log = log;
  }

  /** Begins to look. Idempotent. */
  start(): void {
    this.#timer ??= setInterval(() => {
      if (this.#owner.deref() === undefined) clearInterval(this.#timer);
      else this.#look();
    }, intervalMs).unref();
  }

  /** Looks for the last time. */
  close(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#look();
  }

  #look(): void {
    const { dropped, fault } = this.#native.traceCounts();
    if (fault !== '' && fault !== this.#fault) this.#log.warn(`traces cannot be written: ${fault}`, {});
    if (dropped > this.#dropped) this.#log.warn(`${dropped - this.#dropped} traces were lost`, {});
    this.#fault = fault;
    this.#dropped = dropped;
  }
}
