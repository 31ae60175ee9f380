/**
 * A histogram of durations in constant memory. Durations below 2 µs are exact to the nanosecond, and longer ones to
 * one part in 1,024. So windows with any number of requests have the same size, and can be merged.
 */

/** Buckets of each power of two. */
const resolution = 1024;
/** Bits of the values that have a bucket of their own. */
const exactBits = 11;
/** Longer durations count as this one: some nine hours. */
const mostNs: number = 2 ** 45 - 1;
const buckets: number = (45 - exactBits + 2) * resolution;

/** How many bits a value is shifted to the right to get its bucket. */
function shiftOf(ns: number): number {
  const bits = ns < 2 ** 32 ? 32 - Math.clz32(ns) : 64 - Math.clz32(ns / 2 ** 32);
  return bits <= exactBits ? 0 : bits - exactBits;
}

const none = new Uint32Array(0);

/** See the head of this file. */
export class DurationHistogram {
  /** Empty until the first duration comes: most histograms of a run stay empty. */
  #counts: Uint32Array = none;
  #count = 0;
  #sum = 0;
  #squares = 0;
  #least = Infinity;
  #greatest = 0;
  /** The range of buckets with counts. */
  #first: number = buckets;
  #last = -1;

  /** How many durations were added. */
  get count(): number {
    return this.#count;
  }

  /** The mean, in milliseconds; 0 without durations. */
  get meanMs(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }

  /** The standard deviation (of a sample, as in perf_analyzer), in milliseconds; 0 for fewer than two durations. */
  get deviationMs(): number {
    if (this.#count < 2) return 0;
    const variance = (this.#squares - (this.#sum * this.#sum) / this.#count) / (this.#count - 1);
    return Math.sqrt(Math.max(0, variance));
  }

  /** The shortest duration, in milliseconds; 0 without durations. */
  get leastMs(): number {
    return this.#count === 0 ? 0 : this.#least;
  }

  /** The longest duration, in milliseconds; 0 without durations. */
  get greatestMs(): number {
    return this.#greatest;
  }

  /** Adds a duration in milliseconds. Negative ones, as of a clock that was set back, count as 0. */
  add(ms: number): void {
    const own = ms > 0 ? ms : 0;
    const ns = Math.min(mostNs, Math.round(own * 1e6));
    const shift = shiftOf(ns);
    const bucket = shift === 0 ? ns : shift * resolution + Math.floor(ns / 2 ** shift);
    if (this.#counts === none) this.#counts = new Uint32Array(buckets);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    if (bucket < this.#first) this.#first = bucket;
    if (bucket > this.#last) this.#last = bucket;
    this.#count++;
    this.#sum += own;
    this.#squares += own * own;
    if (own < this.#least) this.#least = own;
    if (own > this.#greatest) this.#greatest = own;
  }

  /** Adds all durations of another histogram. */
  merge(other: DurationHistogram): void {
    if (other.#count === 0) return;
    if (this.#counts === none) this.#counts = new Uint32Array(buckets);
    for (let bucket = other.#first; bucket <= other.#last; bucket++) {
      const more = other.#counts[bucket] ?? 0;
      if (more > 0) this.#counts[bucket] = (this.#counts[bucket] ?? 0) + more;
    }
    this.#first = Math.min(this.#first, other.#first);
    this.#last = Math.max(this.#last, other.#last);
    this.#count += other.#count;
    this.#sum += other.#sum;
    this.#squares += other.#squares;
    this.#least = Math.min(this.#least, other.#least);
    this.#greatest = Math.max(this.#greatest, other.#greatest);
  }

  /**
   * A percentile in milliseconds; 0 without durations. As in perf_analyzer it is one of the durations: that at the
   * place `percent / 100 * (count - 1)`, rounded, in ascending order.
   *
   * @param percent - 0 to 100.
   */
  percentileMs(percent: number): number {
    if (this.#count === 0) return 0;
    let before = Math.floor((percent / 100) * (this.#count - 1) + 0.5);
    for (let bucket = this.#first; bucket <= this.#last; bucket++) {
      before -= this.#counts[bucket] ?? 0;
      if (before < 0) return Math.min(this.#greatest, Math.max(this.#least, middleNs(bucket) / 1e6));
    }
    return this.#greatest;
  }
}

/** The middle of a bucket, in nanoseconds. */
function middleNs(bucket: number): number {
  if (bucket < 2 * resolution) return bucket;
  const shift = Math.floor(bucket / resolution) - 1;
  return (bucket - shift * resolution + 0.5) * 2 ** shift;
}
