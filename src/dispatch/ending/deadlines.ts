/**
 * SignalListeners that abort when the `timeoutMs` of requests has passed. Requests with about the same deadline share a
 * signal, so memory does not grow with the number of requests. One timer waits for the earliest deadline.
 */

import { CallSignal, joinSignals, type StopSignal } from '../../call-signal.js';
import { show } from '../../argument-checks.js';
import { performance } from 'node:perf_hooks';
import { invalidArgument } from '../../errors.js';
import { longestTimerMs } from '../../time-limit.js';
import { clearTimeout, setTimeout } from '../../timers.js';

/** A deadline fires late by at most 1/64 of its time, or 1 ms. */
const parts = 64;

/** The abort reason of these signals. */
const passed = Symbol('the time of a request has passed');

/** Whether `reason` is the abort reason of a signal from {@link deadlineIn}. */
export function isDeadline(reason: unknown): boolean {
  return reason === passed;
}

/** Controllers by their deadline, in units of `grain` milliseconds. */
interface Grain {
  readonly grain: number;
  readonly controllers: Map<number, AbortController>;
}

/** Indexed by the logarithm of `grain`. */
const grains: Grain[] = [];
let timer: NodeJS.Timeout | undefined;
/** When the timer fires. */
let next = Infinity;

/**
 * Returns a signal that aborts in `timeoutMs`, or a little later. It does not keep the process alive.
 *
 * @param timeoutMs - Must be greater than 0.
 */
export function deadlineIn(timeoutMs: number): AbortSignal {
  const power = Math.max(0, Math.floor(Math.log2(timeoutMs / parts)));
  for (let missing = grains.length; missing <= power; missing++) {
    grains.push({ grain: 2 ** missing, controllers: new Map() });
  }
  const { grain, controllers } = grains[power] as Grain; // Created above if it was missing.
  const now = performance.now();
  const end = Math.ceil((now + timeoutMs) / grain);
  const known = controllers.get(end);
  if (known !== undefined && !known.signal.aborted) return known.signal;
  const controller = new AbortController();
  controllers.set(end, controller);
  if (end * grain < next) wait(end * grain, now);
  return controller.signal;
}

/** Combines a request's own signal and its deadline; either may be absent. */
export function withDeadline(
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): AbortSignal | undefined;
export function withDeadline(
  signal: StopSignal | undefined,
  timeoutMs: number | undefined,
): StopSignal | undefined;
export function withDeadline(
  signal: StopSignal | undefined,
  timeoutMs: number | undefined,
): StopSignal | undefined {
  if (timeoutMs === undefined || timeoutMs === 0) return signal;
  const deadline = deadlineIn(timeoutMs);
  if (signal === undefined) return deadline;
  return signal instanceof CallSignal ? joinSignals(signal, deadline) : AbortSignal.any([signal, deadline]);
}

/**
 * Checks a `timeoutMs`.
 *
 * @throws {@link TritonError} INVALID_ARG if it is not a valid time.
 */
export function checkTimeoutMs(model: string, timeoutMs: number | undefined): void {
  if (timeoutMs === undefined) return;
  if (typeof (timeoutMs as unknown) === 'number' && timeoutMs >= 0 && timeoutMs <= longestTimerMs) return;
  throw invalidArgument(
    `model '${model}': expected milliseconds from 0 (no limit) to ${longestTimerMs} for options.timeoutMs but received ${show(timeoutMs)}`,
    { model },
  );
}

function wait(moment: number, now: number): void {
  clearTimeout(timer);
  next = moment;
  // A timer may fire a fraction of a millisecond early.
  timer = setTimeout(fire, Math.min(longestTimerMs, Math.max(1, Math.ceil(moment - now))));
  timer.unref();
}

/** Aborts the signals that are due, and waits for the next deadline. */
function fire(): void {
  timer = undefined;
  const now = performance.now();
  const due: AbortController[] = [];
  let earliest = Infinity;
  for (const { grain, controllers } of grains) {
    for (const [end, controller] of controllers) {
      if (end * grain > now) {
        earliest = Math.min(earliest, end * grain);
        continue;
      }
      controllers.delete(end);
      due.push(controller);
    }
  }
  next = earliest;
  if (earliest < Infinity) wait(earliest, now);
  // Listeners may be the caller's, and may create further deadlines.
  for (const controller of due) controller.abort(passed);
}
