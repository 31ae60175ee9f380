/** What was measured in a stretch of time: a slice of a window, a window, or the windows of a load level. */

import { DurationHistogram } from './histogram.js';

/** So many different texts of refusals are kept: some servers put a number of their own into each. */
const mostTexts = 8;
/** What further texts are counted as. */
const otherTexts = 'other texts';
const mostTextLength = 300;

/** See the head of this file. Times are in milliseconds. */
export class Tally {
  /** How long it lasted. */
  elapsedMs = 0;
  /** Requests that succeeded. */
  requests = 0;
  /** Responses to them; more or fewer than requests if the model is decoupled. */
  responses = 0;
  /** Sequences whose last request succeeded. */
  sequences = 0;
  /** The time that writing the requests took, in all. */
  sendMs = 0;
  /** The time between the first and the last byte of the responses, in all. */
  receiveMs = 0;
  /** Requests that the server refused because it was busy, by the text of the error: the first few, and all others. */
  readonly refused: Map<string, number> = new Map();
  /** From sending a request to its last response. */
  readonly latency: DurationHistogram = new DurationHistogram();
  /** From sending a request to its first response, of streams. */
  readonly first: DurationHistogram = new DurationHistogram();
  /** Between two responses to a request, of streams. */
  readonly gaps: DurationHistogram = new DurationHistogram();
  /** How much later than scheduled requests were sent, of request rates. */
  readonly lateness: DurationHistogram = new DurationHistogram();

  /** Requests that the server refused. */
  get refusals(): number {
    let sum = 0;
    for (const count of this.refused.values()) sum += count;
    return sum;
  }

  /** Successful requests a second. */
  get requestRate(): number {
    return this.elapsedMs > 0 ? this.requests / (this.elapsedMs / 1000) : 0;
  }

  /** Notes a refused request. */
  refuse(text: string, times: number = 1): void {
    const short = text.length > mostTextLength ? `${text.slice(0, mostTextLength)}…` : text;
    const key = this.refused.has(short) || this.refused.size < mostTexts ? short : otherTexts;
    this.refused.set(key, (this.refused.get(key) ?? 0) + times);
  }

  /** Adds another stretch of time. */
  merge(other: Tally): void {
    this.elapsedMs += other.elapsedMs;
    this.requests += other.requests;
    this.responses += other.responses;
    this.sequences += other.sequences;
    this.sendMs += other.sendMs;
    this.receiveMs += other.receiveMs;
    for (const [text, count] of other.refused) this.refuse(text, count);
    this.latency.merge(other.latency);
    this.first.merge(other.first);
    this.gaps.merge(other.gaps);
    this.lateness.merge(other.lateness);
  }
}
