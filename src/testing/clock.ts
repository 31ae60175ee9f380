/** The timers of a test, which its test runner may replace. */

/**
 * The functions that delays use.
 *
 * @example
 * const clock: TestClock = { setTimeout: (call, ms) => later.push({ call, ms }) };
 */
export interface TestClock {
  /** Calls a function when some milliseconds have passed. */
  setTimeout(callback: () => void, ms: number): unknown;
}

/** The global functions, as they are at the call: those of a runner's fake timers, while they are installed. */
export const globalClock: TestClock = {
  setTimeout: (callback, ms) => globalThis.setTimeout(callback, ms),
};
