/** Made-up models: figures by a formula, on a clock of their own. */

import type { Figures, LevelFigures } from '../../src/analyze/search/objective.js';
import type { Measured, SearchProgress, SearchWorld } from '../../src/analyze/search/world.js';
import {
  valueOf,
  type Axis,
  type Candidate,
  type SettingName,
  type SettingValue,
  type Space,
} from '../../src/analyze/space/space.js';

/** An axis of model 'm'. */
export function axis(setting: SettingName, values: readonly SettingValue[], present: SettingValue): Axis {
  return { model: 'm', setting, values, present: values.indexOf(present) };
}

/** Figures of a level: in a closed loop, latency is callers by throughput. */
export function level(throughput: number, concurrency: number = 64, p99Ms?: number): LevelFigures {
  const mean = (1000 * concurrency) / throughput;
  return {
    concurrency,
    throughput,
    latencyMs: { mean, p50: mean, p90: mean, p95: mean, p99: p99Ms ?? 2 * mean },
    refused: 0,
  };
}

export function figures(...levels: readonly LevelFigures[]): Figures {
  return { levels, memoryBytes: undefined };
}

/** A world in which a candidate has a throughput, with noise that shrinks as windows get longer. */
export class MadeUpWorld implements SearchWorld {
  readonly #space: Space;
  readonly #throughput: (of: (setting: SettingName) => SettingValue | undefined) => number | string;
  readonly #noise: number;
  readonly #overheadMs: number;
  readonly #stopAfter: number;
  #now = 1000;
  #random = 1;
  readonly phases: SearchProgress[] = [];

  /** @param throughput - Of a candidate; a text is the reason why it fails. */
  constructor(
    space: Space,
    throughput: (of: (setting: SettingName) => SettingValue | undefined) => number | string,
    {
      noise = 0.03,
      overheadMs = 40,
      stopAfter = Infinity,
    }: { readonly noise?: number; readonly overheadMs?: number; readonly stopAfter?: number } = {},
  ) {
    this.#space = space;
    this.#throughput = throughput;
    this.#noise = noise;
    this.#overheadMs = overheadMs;
    this.#stopAfter = stopAfter;
  }

  exact(candidate: Candidate): number {
    const found = this.#throughput((setting) => valueOf(this.#space, candidate, 'm', setting));
    return typeof found === 'number' ? found : 0;
  }

  measure(candidate: Candidate, windowMs: number): Promise<Measured> {
    this.#now += this.#overheadMs;
    const found = this.#throughput((setting) => valueOf(this.#space, candidate, 'm', setting));
    if (typeof found === 'string') return Promise.resolve({ failure: found });
    this.#now += windowMs;
    const noise = this.#noise * Math.sqrt(120 / windowMs) * this.#normal();
    return Promise.resolve({ figures: figures(level(found * Math.exp(noise))) });
  }

  now(): number {
    return this.#now;
  }

  stopped(): boolean {
    return this.phases.length > this.#stopAfter;
  }

  told(progress: SearchProgress): void {
    this.phases.push(progress);
  }

  /** A number of a normal distribution, from the sum of twelve uniform ones. */
  #normal(): number {
    let sum = -6;
    for (let i = 0; i < 12; i++) {
      this.#random = (this.#random * 48_271) % 2_147_483_647;
      sum += this.#random / 2_147_483_647;
    }
    return sum;
  }
}
