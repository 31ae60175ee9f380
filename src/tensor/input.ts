/**
 * Checks and encodes the inputs of requests: the door to the hot path.
 *
 * A model version's inputs are compiled once; the function that comes back is called for every request.
 * Requests whose inputs are typed arrays of the right classes go a short way that allocates next to nothing;
 * gather.ts does the rest.
 */

import { gatherInputs, type EncodedInput } from './gather.js';
import { InputReader } from './names.js';
import { OnlyInput } from './only-input.js';
import { planInputs, type RequestSpec } from './plan.js';
import { ShortPath } from './short-path.js';
import type { Inputs } from './types.js';

/** The inputs of one model version. */
export interface InputEncoder {
  /**
   * Checks the inputs of one request and puts them in wire layout.
   *
   * What it returns is to be copied before any code of a caller runs and before the next call, see {@link
   * EncodedInput}.
   *
   * @returns one entry an input, in the order of the specification; undefined where an optional input is absent
   * @throws TritonError INVALID_ARG, with model and tensor, for whatever the model does not take
   */
  readonly encode: (inputs: Inputs) => readonly (EncodedInput | undefined)[];
  /** The only input, where it has a shorter way; for models with a batch dimension. */
  readonly only: OnlyInput | undefined;
}

/** Prepares the encoder of one model version. */
export function compileInputs(spec: RequestSpec): InputEncoder {
  const plans = planInputs(spec);
  const paths = plans.map((plan) => new ShortPath(plan));
  const [path] = paths;
  const [plan] = plans;
  if (plans.length === 1 && path !== undefined && plan !== undefined) {
    const only = new OnlyInput(spec.model, plan, path);
    return {
      encode: (inputs) => only.encode(only.read(inputs)),
      only: spec.maxBatchSize > 0 && !path.open ? only : undefined,
    };
  }
  const reader = new InputReader(spec.model, plans);
  return {
    encode: (inputs) => {
      const values = reader.readAll(inputs);
      return encodeShort(paths, values, spec.maxBatchSize > 0) ?? gatherInputs(plans, values);
    },
    only: undefined,
  };
}

/** All inputs by their short ways; undefined if one of them cannot go it, or if their batches differ. */
function encodeShort(
  paths: readonly ShortPath[],
  values: readonly unknown[],
  batched: boolean,
): (EncodedInput | undefined)[] | undefined {
  const encoded: (EncodedInput | undefined)[] = [];
  let batch = 0;
  let open = false;
  for (let i = 0; i < values.length; i++) {
    encoded.push(undefined);
    const path = paths[i];
    if (path === undefined || values[i] === undefined) continue;
    if (path.open) {
      open = true;
      continue;
    }
    const input = path.encode(values[i], 0);
    if (input === undefined) return undefined;
    encoded[i] = input;
    if (!batched) continue;
    if (batch === 0) batch = input.shape[0] ?? 0;
    else if (batch !== input.shape[0]) return undefined;
  }
  if (!open) return encoded;
  for (let i = 0; i < values.length; i++) {
    const path = paths[i];
    if (path?.open !== true || values[i] === undefined) continue;
    const input = path.encode(values[i], batch === 0 ? 1 : batch);
    if (input === undefined) return undefined;
    encoded[i] = input;
  }
  return encoded;
}
