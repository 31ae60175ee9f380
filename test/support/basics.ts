/** Helpers without the package, for programs and workers that tests start often: the imports of the harness take a third of their start. */

import assert from 'node:assert/strict';

/** Sixteen floats that count up from `first`. */
export function row(first = 0, width = 16): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: width }, (_, i) => first + i);
}

/** The FP32 output `name` as numbers. */
export function floats(
  result: { readonly outputs: Readonly<Record<string, { toArray(): unknown; readonly data: unknown }>> },
  name = 'y',
): number[] {
  const data = result.outputs[name]?.data;
  assert.ok(data instanceof Float32Array, `${name} is not FP32`);
  return [...data];
}

/** Lets the requests of this turn of the event loop reach the engine. An idle instance has taken them by then. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
