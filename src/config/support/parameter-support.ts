/**
 * The support of known keys of `parameters`: the rows that every backend has. A backend's own keys are among its rules
 * (`backend-rules.ts`).
 */

import type { Support } from './support.js';

/** A row: a key of `parameters`. */
export interface ParameterSupport extends Support {
  /** Whether the value must be an integer. */
  readonly integer: boolean;
  /** Values that have no effect, because they ask for the normal behaviour. */
  readonly neutral: readonly string[];
  /** What `model.notes` says of the key although it has its effect, such as a newer name. */
  readonly note?: string;
}

type Options = Partial<Pick<ParameterSupport, 'integer' | 'neutral' | 'note' | 'onCpu'>>;
/** Makes a row. */
export const parameterRow = (
  kind: Support['class'],
  text: string,
  options: Options = {},
): ParameterSupport => ({
  class: kind,
  text,
  integer: false,
  neutral: [],
  ...options,
});

/** Keys that have a meaning for every backend. */
export const commonParameters: Readonly<Record<string, ParameterSupport>> = {
  inline: parameterRow(
    'acted',
    "which batches run on the JS thread: auto (50 µs or less), off, or microseconds; the server's option otherwise (not in Triton)",
  ),
  rerun_in_halves: parameterRow(
    'acted',
    'false: a batch that fails as a whole is not run again in halves; JavaScript and Python, whose code may do something outside of itself, need true (not in Triton, where it never is)',
  ),
  batch_across_shapes: parameterRow(
    'acted',
    "true or false: whether requests of a batch's shape join it from behind others; the server's option otherwise (not in Triton)",
  ),
  load: parameterRow(
    'acted',
    "lazy: the model is loaded at its first request; eager: at the start; the server's option otherwise (not in Triton)",
  ),
  pinned: parameterRow(
    'acted',
    'true: a lazy model stays loaded, also when the memory budget is full (not in Triton)',
  ),
  conditional: parameterRow(
    'acted',
    'ensembles: true lets several steps produce one tensor, and skips steps whose inputs never come (not in Triton)',
    { neutral: ['false'] },
  ),
  plugin: parameterRow(
    'acted',
    'true: a plug-in of Triton, runs the model, also where the package has a backend of that name (not in Triton)',
  ),
  TRITON_BATCH_STRATEGY_PATH: parameterRow('refused', 'libraries that decide about batches cannot be loaded'),
};
