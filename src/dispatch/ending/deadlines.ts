/**
 * Signals that abort when the `timeoutMs` of requests has passed. Requests whose time ends at about the same moment share a
 * signal, so what is kept does not grow with the number of requests. One timer waits for the earliest of all.
 */

import { show } from '../../argument-checks.js';
import { performance } from 'node:perf_hooks';
import { invalidArgument } from '../../errors.js';
import { clearTimeout, setTimeout } from './timers.js';

/** The longest time of a timer of Node's. */
export const longestMs: number = 2 ** 31 - 1;

/** A time ends at most this part of itself late, or 1 ms. */
const parts = 64;

/** What a signal of this file aborts with. */
const passed = Symbol('the time of a request has passed');

/** Whether `reason` is why a signal of {@link deadlineIn} has aborted. */
export function isDeadline(reason: unknown): boolean {
  return reason === passed;
}

/** Controllers by the moment of their end, in units of `grain` milliseconds. */
interface Grain {
  readonly grain: number;
  readonly controllers: Map<number, AbortController>;
}

/** By the logarithm of their grain. */
const grains: Grain[] = [];
let timer: NodeJS.Timeout | undefined;
/** When the timer fires. */
let next = Infinity;

/**
 * A signal that aborts in `timeoutMs`, or a little later. It does not keep the process alive.
 *
 * @param timeoutMs - Above 0.
 */
export function deadlineIn(timeoutMs: number): AbortSignal {
  const power = Math.max(0, Math.floor(Math.log2(timeoutMs / parts)));
  for (let missing = grains.length; missing <= power; missing++) {
    grains.push({ grain: 2 ** missing, controllers: new Map() });
  }
  const { grain, controllers } = grains[power] as Grain; // It was just made, if it was not there.
  const now = performance.now();
  const end = Math.ceil((now + timeoutMs) / grain);
  const known = controllers.get(end);
  if (known !== undefined && !known.signal.aborted) return known.signal;
  const controller = new AbortController();
  controllers.set(end, controller);
  if (end * grain < next) wait(end * grain, now);
  return controller.signal;
}

/** The signal of a request that has both, or either. */
export function withDeadline(
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): AbortSignal | undefined {
  if (timeoutMs === undefined || timeoutMs === 0) return signal;
  const deadline = deadlineIn(timeoutMs);
  return signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
}

/**
 * Checks a `timeoutMs`.
 *
 * @throws {@link TritonError} INVALID_ARG for what is no time.
 */
export function checkTimeoutMs(model: string, timeoutMs: number | undefined): void {
  if (timeoutMs === undefined) return;
  if (typeof (timeoutMs as unknown) === 'number' && timeoutMs >= 0 && timeoutMs <= longestMs) return;
  throw invalidArgument(
    `model '${model}': expected milliseconds from 0 (no limit) to ${longestMs} for options.timeoutMs but received ${show(timeoutMs)}`,
    { model },
  );
}

function wait(moment: number, now: number): void {
  clearTimeout(timer);
  next = moment;
  // A timer may be a fraction of a millisecond early.
  timer = setTimeout(fire, Math.min(longestMs, Math.max(1, Math.ceil(moment - now))));
  timer.unref();
}

/** Aborts what is due, and waits for the next one. */
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
  // Listeners may be the caller's, and ask for more.
  for (const controller of due) controller.abort(passed);
}
