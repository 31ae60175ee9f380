/** The requests that a test server has noted, within a limit of memory. */

import type { Recorded } from './records.js';

/** What a record counts besides the bytes of its tensors. */
const recordBytes = 1024;

/** See the head of this file. The oldest ones go first, and the last one stays in any case. */
export class RecordList {
  readonly #mostBytes: number;
  readonly #records: Set<Recorded> = new Set();
  #bytes = 0;
  #hasForgotten = false;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  add(record: Recorded): void {
    this.#records.add(record);
    this.#grow(recordBytes + record.bytes);
    record.onGrowth = (bytes) => {
      // It may have been forgotten while it ran.
      if (this.#records.has(record)) this.#grow(bytes);
    };
  }

  /** Those of a model, the oldest first; undefined: all. */
  of(model: string | undefined): readonly Recorded[] {
    return [...this.#records].filter((one) => model === undefined || one.model === model);
  }

  clear(): void {
    this.#records.clear();
    this.#bytes = 0;
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#mostBytes) return;
    if (!this.#hasForgotten && this.#records.size > 1) {
      this.#hasForgotten = true;
      process.emitWarning(
        `the test server forgets its oldest records: ${this.#records.size} requests have more than maxRecordedBytes (${this.#mostBytes}); call reset() between tests, or raise the option`,
      );
    }
    for (const oldest of this.#records) {
      if (this.#bytes <= this.#mostBytes || this.#records.size === 1) return;
      this.#records.delete(oldest);
      this.#bytes -= recordBytes + oldest.bytes;
    }
  }
}
