/** What polls remember of a model from one to the next. */

/** See the head of this file. */
export interface PollRecord {
  /** The stamp that the last poll saw, if it is not that of the served versions. */
  survey: string;
  /** How often the load of these files has failed in a row, and how many polls will not try it again. */
  failures: number;
  failedStamp: string;
  pause: number;
  /** Why the last poll could not look at it, '': it could; and whether the log has it. */
  fault: string;
  isTold: boolean;
  /** Whether the last poll did not find it, though it is served. */
  isGone: boolean;
}

/** The longest pause between two tries: about a quarter of an hour, but not many polls. */
const mostPauseMs = 15 * 60_000;
const mostPausePolls = 64;

/** See the head of this file. */
export class PollRecords {
  readonly #records: WeakMap<object, PollRecord> = new WeakMap();
  readonly #mostPause: number;

  /** @param periodMs - The time between two polls. */
  constructor(periodMs: number) {
    const polls = Math.ceil(mostPauseMs / Math.max(1, periodMs));
    this.#mostPause = Math.max(1, Math.min(mostPausePolls, polls));
  }

  /** @param entry - The model's entry. */
  of(entry: object): PollRecord {
    let record = this.#records.get(entry);
    if (!record) {
      record = {
        survey: '',
        failures: 0,
        failedStamp: '',
        pause: 0,
        fault: '',
        isTold: false,
        isGone: false,
      };
      this.#records.set(entry, record);
    }
    return record;
  }

  /** The load of files with this stamp has failed. The pauses are 1, 2, 4, … polls, which do not try it. */
  failed(record: PollRecord, stamp: string): void {
    if (record.failedStamp !== stamp) record.failures = 0;
    record.failedStamp = stamp;
    record.failures++;
    record.pause = Math.min(this.#mostPause, 2 ** Math.min(record.failures - 1, 30));
  }

  /** The model is served from its files. */
  succeeded(record: PollRecord): void {
    record.survey = '';
    record.failures = 0;
    record.failedStamp = '';
    record.pause = 0;
  }
}
