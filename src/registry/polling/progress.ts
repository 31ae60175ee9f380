/** What a poll waits for, so that the log can say it if one takes long: a folder or a load that hangs holds up all others. */

import { clearTimeout, setTimeout } from '../../timers.js';
import type { Log } from '../../logger.js';

/** How long a poll may take before the log says what it waits for. */
const longMs = 60_000;

/** How many of these a warning names. */
const mostNamed = 5;

/** See the head of this file. One is for one poll. */
export class Progress {
  readonly #steps: Set<{ readonly words: string }> = new Set();
  readonly #timer: NodeJS.Timeout;

  /** Begins. The log has one warning if {@link end} is not called in time. */
  constructor(log: Log, afterMs: number = longMs) {
    this.#timer = setTimeout(() => {
      log.warn(`a poll of the model repositories takes longer than ${afterMs / 1000} s: ${this.text()}`, {});
    }, afterMs);
    this.#timer.unref();
  }

  /** The poll has ended. */
  end(): void {
    clearTimeout(this.#timer);
  }

  /** Does a step of the poll. */
  async during<T>(words: string, step: () => Promise<T>): Promise<T> {
    const running = { words };
    this.#steps.add(running);
    try {
      return await step();
    } finally {
      this.#steps.delete(running);
    }
  }

  /** What the poll waits for. */
  text(): string {
    const words = [...this.#steps].map((step) => step.words).sort();
    const more = words.length > mostNamed ? `, and ${words.length - mostNamed} more` : '';
    return `it waits for ${words.slice(0, mostNamed).join(', ') || 'nothing that has a name'}${more}`;
  }
}
