/** Measures a load level: keeps up the load, and takes windows until they are stable. */

import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../../errors.js';
import type { Load } from '../load/load.js';
import { significant } from '../plot/numbers.js';
import { decidingLatencyMs, levelText, throughputOf, type Level, type LevelLoad } from './level.js';
import { mergeUse, ProcessWatch, type ProcessUse } from './process-usage.js';
import { Recording, type RecordedWindow, type SliceFigures } from './recording.js';
import { between, ServerSide, type Snapshot } from './server-side.js';
import { judge, stabilityWindows, type WindowFigures } from './stability.js';
import { Tally } from './tally.js';

/** How windows are taken. */
export interface WindowPlan {
  /** `count`: each window has at least so many requests, and lasts a second at least. */
  readonly mode: 'time' | 'count';
  readonly intervalMs: number;
  readonly requests: number;
  /** The most windows of a level. */
  readonly trials: number;
  readonly stabilityPercentage: number;
  /** The percentile of the latency that decides; undefined: the mean. */
  readonly percentile: number | undefined;
  /** Milliseconds; 0: none. */
  readonly latencyThresholdMs: number;
  /** So many requests in all, in one window; 0: windows until they are stable. */
  readonly requestCount: number;
  /** Requests before the first window. */
  readonly warmup: number;
  /** How long the load runs before the first window, in milliseconds (default 0). */
  readonly warmupMs?: number;
  /** So many requests of the load end before the first window (default 0). It needs `warmupMs`. */
  readonly warmupAnswers?: number;
  /**
   * How long the answers of `warmupAnswers`, and those under way at the end, may take, in milliseconds. Later ones fail the
   * level (default: only a long silence does).
   */
  readonly patienceMs?: number;
}

/** Hears of a measurement in progress. */
export interface Progress {
  /** The figures of the running window, some times a second. */
  running(load: LevelLoad, window: number, figures: WindowFigures): void;
  /** The figures of a window. */
  window(load: LevelLoad, window: number, figures: WindowFigures): void;
}

/** What a level is measured with. */
export interface Measured {
  readonly level: LevelLoad;
  readonly batch: number;
  readonly plan: WindowPlan;
  readonly progress: Progress;
  /** Ends the measurement. */
  readonly signal: AbortSignal;
  /**
   * Makes the load.
   *
   * @param failed - Called if a request fails.
   * @param most - How many requests it sends; undefined: any number.
   */
  load(recording: Recording, failed: (error: unknown) => void, most: number | undefined): Load;
  /** Statistics of the server now; undefined if it has none. */
  snapshot(): Promise<Snapshot | undefined>;
}

/** The outcome: figures as far as they go, and what ended them early. */
export interface ProfileOutcome {
  /** Undefined if no request has ended. */
  readonly level: Level | undefined;
  /** The error that ended the measurement; undefined: none did. */
  readonly failure: { readonly error: unknown } | undefined;
}

/** In count mode, the length of the pieces of a window. */
const countWindowMs = 1000;
/** Slices of a window that is measured by time. Each has a tenth of a second at least. */
const slicesOfWindow = 10;
const leastSliceMs = 100;
/** How often the live line changes. */
const progressMs = 250;
/** Pieces of a window of count mode without answers, but with refusals, that end it. */
const refusedPieces = 3;
/** How long requests may be under way without the end of any, where a number of requests is waited for. */
const silenceMs = 60_000;

interface TakenWindow extends RecordedWindow {
  readonly server: ReadonlyMap<string, ServerSide> | undefined;
  readonly use: ProcessUse;
}

/** Measures a level; see the head of this file. */
export async function profile(measured: Measured): Promise<ProfileOutcome> {
  return new Profiler(measured).run();
}

class Profiler {
  readonly #measured: Measured;
  readonly #recording: Recording = new Recording();
  readonly #watch: ProcessWatch = new ProcessWatch();
  readonly #stop: AbortController = new AbortController();
  /** The figures of all windows, and which of them were cut short. */
  readonly #figures: (WindowFigures & { readonly cut: boolean })[] = [];
  /** The last whole windows. Earlier ones are not needed, and take much memory. */
  readonly #whole: TakenWindow[] = [];
  /** The window that was cut short. */
  #cut: TakenWindow | undefined;
  #running: Load | undefined;
  #silence: { since: number; ended: number } = { since: 0, ended: 0 };
  #failure: { readonly error: unknown } | undefined;

  constructor(measured: Measured) {
    this.#measured = measured;
  }

  async run(): Promise<ProfileOutcome> {
    const { signal, plan } = this.#measured;
    const stop = (): void => {
      this.#stop.abort();
    };
    if (signal.aborted) return { level: undefined, failure: undefined };
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (plan.warmup > 0) await this.#warmUp(plan.warmup);
      if (this.#stop.signal.aborted) return { level: undefined, failure: this.#failure };
      const { requestCount } = plan;
      const load = this.#load(requestCount > 0 ? requestCount : undefined);
      const { warmupMs = 0, patienceMs } = plan;
      let result: Level | undefined;
      this.#watch.start();
      if (warmupMs > 0) load.start();
      try {
        if (warmupMs > 0) await this.#wait(warmupMs);
        await this.#warmUpAnswers();
        const before = await this.#measured.snapshot();
        this.#recording.restart();
        this.#watch.take();
        if (warmupMs === 0) load.start();
        const verdict = await this.#takeWindows(before);
        result = this.#levelOf(verdict);
        if (result === undefined) this.#unanswered();
      } finally {
        this.#watch.stop();
        const drained = await load.stop(patienceMs);
        if (!drained && patienceMs !== undefined) this.#late('requests had no answer', patienceMs);
      }
      return { level: result, failure: this.#failure };
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  #load(most: number | undefined): Load {
    const failed = (error: unknown): void => {
      this.#failure ??= { error };
      this.#stop.abort();
    };
    this.#running = this.#measured.load(this.#recording, failed, most);
    return this.#running;
  }

  /** A level without an answer has no figures, which must not look like success. */
  #unanswered(): void {
    if (this.#measured.signal.aborted) return;
    const [text] = this.#lastWindow()?.tally.refused.keys() ?? [];
    const why = text === undefined ? '' : `; the server refused them: ${text}`;
    this.#failure ??= {
      error: unavailable('TIMED_OUT', `${levelText(this.#measured.level)}: no request was answered${why}`),
    };
  }

  #lastWindow(): TakenWindow | undefined {
    return this.#cut ?? this.#whole.at(-1);
  }

  /** Ends the measurement if requests are under way, and none has ended for a long time. */
  #checkSilence(): void {
    const now = performance.now();
    const ended = this.#ended();
    if (ended !== this.#silence.ended || (this.#running?.underWay ?? 0) === 0)
      this.#silence = { since: now, ended };
    if (now - this.#silence.since < silenceMs) return;
    this.#failure ??= {
      error: unavailable(
        'TIMED_OUT',
        `${levelText(this.#measured.level)}: no request was answered for ${silenceMs / 1000} s`,
      ),
    };
    this.#stop.abort();
  }

  async #warmUp(count: number): Promise<void> {
    const load = this.#load(count);
    load.start();
    this.#silence.since = performance.now();
    while (this.#ended() < count && (await this.#wait(5))) this.#checkSilence();
    await load.stop();
  }

  /** Until then, the latencies are those of a queue that is still filling up. */
  async #warmUpAnswers(): Promise<void> {
    const { warmupAnswers = 0, patienceMs = Infinity } = this.#measured.plan;
    const began = performance.now();
    this.#silence = { since: began, ended: 0 };
    while (this.#ended() < warmupAnswers && (await this.#wait(5))) {
      this.#checkSilence();
      if (performance.now() - began < patienceMs) continue;
      this.#late(`${this.#ended()} of the first ${warmupAnswers} requests were answered`, patienceMs);
      this.#stop.abort();
    }
  }

  #late(what: string, ms: number): void {
    if (this.#measured.signal.aborted) return;
    const text = `${levelText(this.#measured.level)}: ${what} within ${significant(ms / 1000)} s`;
    this.#failure ??= { error: unavailable('TIMED_OUT', text) };
  }

  #ended(): number {
    return this.#recording.requests + this.#recording.refusals;
  }

  /** Waits; returns whether the measurement goes on. */
  async #wait(ms: number): Promise<boolean> {
    try {
      await sleep(ms, undefined, { signal: this.#stop.signal });
      return true;
    } catch {
      return false;
    }
  }

  async #takeWindows(first: Snapshot | undefined): Promise<ReturnType<typeof judge>> {
    const { plan, level, progress } = this.#measured;
    let before = first;
    let verdict = { stable: false, aboveThreshold: false };
    this.#silence = { since: performance.now(), ended: 0 };
    for (let trial = 1; trial <= plan.trials; trial++) {
      const whole = plan.requestCount > 0 ? await this.#requests(trial) : await this.#window(trial);
      const recorded = this.#recording.takeWindow();
      const use = this.#watch.take();
      const after = this.#failure === undefined ? await this.#measured.snapshot() : undefined;
      const { tally } = recorded;
      const figures = {
        throughput: throughputOf({ tally, batch: this.#measured.batch }),
        latencyMs: decidingLatencyMs(tally, plan.percentile),
      };
      const server = before && after && between(before, after);
      before = after;
      this.#figures.push({ ...figures, cut: !whole });
      const taken = { ...recorded, server, use };
      if (whole) {
        this.#whole.push(taken);
        if (this.#whole.length > stabilityWindows) this.#whole.shift();
        progress.window(level, trial, figures);
      } else this.#cut = taken;
      this.#checkRefused();
      const { latencyThresholdMs } = plan;
      if (plan.requestCount > 0)
        return {
          stable: whole,
          aboveThreshold: latencyThresholdMs > 0 && figures.latencyMs >= latencyThresholdMs,
        };
      const last = this.#figures
        .slice(-stabilityWindows - 1)
        .filter(({ cut }) => !cut)
        .slice(-stabilityWindows);
      verdict = judge(last, plan.stabilityPercentage, latencyThresholdMs);
      if (!whole || verdict.stable || verdict.aboveThreshold || this.#stop.signal.aborted) break;
    }
    return verdict;
  }

  /** A server that refuses all requests of several windows will go on to do so. */
  #checkRefused(): void {
    const last = this.#whole;
    const [text] = last.at(-1)?.tally.refused.keys() ?? [];
    const answered = last.some(({ tally }) => tally.requests > 0);
    if (answered || last.length < stabilityWindows || text === undefined || this.#failure !== undefined)
      return;
    this.#failure = {
      error: unavailable(
        'TOO_MUCH_IN_FLIGHT',
        `the server refused all requests of ${stabilityWindows} windows: ${text}`,
      ),
    };
    this.#stop.abort();
  }

  /** Lets a window pass. Returns whether it is complete. */
  async #window(trial: number): Promise<boolean> {
    const { plan } = this.#measured;
    const isTime = plan.mode === 'time';
    const length = isTime ? plan.intervalMs : countWindowMs;
    const slices = Math.max(1, Math.min(slicesOfWindow, Math.floor(length / leastSliceMs)));
    let refused = 0;
    do {
      const { requests, refusals } = this.#recording;
      for (let slice = 0; slice < slices; slice++) {
        if (!(await this.#slice(length / slices, trial))) return false;
      }
      if (isTime) return true;
      this.#checkSilence();
      const onlyRefused = this.#recording.requests === requests && this.#recording.refusals > refusals;
      refused = onlyRefused ? refused + 1 : 0;
      // A server that only refuses would never fill the window.
    } while (refused < refusedPieces && this.#recording.requests < plan.requests);
    return true;
  }

  async #slice(lengthMs: number, trial: number): Promise<boolean> {
    const end = performance.now() + lengthMs;
    let whole = true;
    for (let left = lengthMs; whole && left > 0; left = end - performance.now()) {
      whole = await this.#wait(Math.min(left, progressMs));
      if (whole) this.#tellRunning(trial);
    }
    this.#recording.cut();
    return whole;
  }

  /** Waits until the wanted number of requests has ended. */
  async #requests(trial: number): Promise<boolean> {
    const { plan } = this.#measured;
    let whole = true;
    let told = performance.now();
    while (whole && this.#ended() < plan.requestCount) {
      whole = await this.#wait(1);
      this.#checkSilence();
      if (performance.now() - told < progressMs) continue;
      told = performance.now();
      this.#tellRunning(trial);
    }
    this.#recording.cut();
    return whole;
  }

  #tellRunning(trial: number): void {
    const { level, batch, progress, plan } = this.#measured;
    const tally = this.#recording.soFar();
    const latencyMs = decidingLatencyMs(tally, plan.percentile);
    progress.running(level, trial, { throughput: throughputOf({ tally, batch }), latencyMs });
  }

  #levelOf({ stable, aboveThreshold }: ReturnType<typeof judge>): Level | undefined {
    // A window that was cut short counts only if there is no other.
    const taken = this.#whole.length > 0 || this.#cut === undefined ? this.#whole : [this.#cut];
    const tally = new Tally();
    const slices: SliceFigures[] = [];
    const models = new Map<string, ServerSide>();
    for (const window of taken) {
      tally.merge(window.tally);
      slices.push(...window.slices);
      for (const [name, side] of window.server ?? []) {
        const sum = models.get(name) ?? new ServerSide();
        sum.merge(side);
        models.set(name, sum);
      }
    }
    if (tally.requests === 0) return undefined;
    const { level, batch } = this.#measured;
    const [server, ...composing] = [...models];
    return {
      ...level,
      stable,
      aboveThreshold,
      cut: this.#stop.signal.aborted && !stable,
      batch,
      tally,
      windows: this.#figures.map(({ throughput, latencyMs }) => ({ throughput, latencyMs })),
      slices,
      server: server?.[1],
      composing: new Map(composing),
      use: mergeUse(taken.map(({ use, tally: { elapsedMs } }) => ({ ...use, elapsedMs }))),
    };
  }
}
