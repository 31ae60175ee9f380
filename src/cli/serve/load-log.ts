/** Logs which models are being loaded, and which of them take long. */

import type { LoadEvent } from '../../options.js';
import { downloadText } from '../byte-text.js';

/** A load that takes longer than this is logged, and again each time this has passed. */
export const slowMs = 5000;

/** A load in progress. */
interface Load {
  readonly since: number;
  state: LoadEvent['state'];
  download?: LoadEvent['download'];
}

/** See the head of this file. */
export class LoadLog {
  readonly #write: (line: string) => void;
  readonly #slowMs: number;
  readonly #loads: Map<string, Load> = new Map();
  #timer: NodeJS.Timeout | undefined;

  /** @param slow - Replaces {@link slowMs} in tests. */
  constructor(write: (line: string) => void, slow: number = slowMs) {
    this.#write = write;
    this.#slowMs = slow;
  }

  /** Takes a step of a load, as a server's `onProgress` receives it. */
  step({ model, version, state, download, done, total }: LoadEvent): void {
    if (state === 'READY' || state === 'UNAVAILABLE') {
      this.#loads.delete(model);
      if (this.#loads.size === 0) this.end();
      return;
    }
    const known = this.#loads.get(model);
    if (known !== undefined) {
      known.state = state;
      known.download = download;
      if (download?.done === 0) this.#write(`model '${model}': downloading ${downloadText(download)}`);
      return;
    }
    if (version !== undefined) return;
    this.#loads.set(model, { since: performance.now(), state });
    this.#write(`model '${model}': loading (${done} of ${total} done)`);
    this.#timer ??= setInterval(() => {
      this.#tell();
    }, this.#slowMs).unref();
  }

  /** Stops logging until another load begins. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tell(): void {
    const now = performance.now();
    for (const [model, { since, state, download }] of this.#loads) {
      const ms = now - since;
      // A load that has just begun is logged at the next interval.
      if (ms < this.#slowMs / 2) continue;
      const doing =
        download !== undefined
          ? `downloaded ${downloadText(download)}`
          : state === 'WARMING_UP'
            ? 'still warming up'
            : 'still loading';
      this.#write(`model '${model}': ${doing} after ${Math.round(ms / 1000)} s`);
    }
  }
}
