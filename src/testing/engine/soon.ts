/** Calls functions after the code that runs now, without the timers and ticks that test runners replace. */

const resolved = Promise.resolve();

/** See the head of this file. The function must not throw. */
export function soon(call: () => void): void {
  void resolved.then(call);
}
