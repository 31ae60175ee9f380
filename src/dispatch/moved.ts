/** Requests of a group that go on as requests of another group, because no version has taken them. */

import { EncodedInputs } from '../tensor/encoded.js';
import type { Group } from './group.js';

/** The inputs of a request that was sent, over its group's range in a slab. */
export function inputsOf(group: Group, position: number): EncodedInputs {
  const { shapes, views, lengths, byteLengths } = group;
  const inputs = new EncodedInputs(shapes.length);
  for (const [i, shape] of shapes.entries()) {
    const view = views[i];
    const length = lengths[i] ?? 0;
    if (shape === undefined || view === undefined) continue;
    inputs.set(i, shape, view.subarray(position * length, (position + 1) * length), byteLengths[i] ?? 0);
  }
  return inputs;
}
