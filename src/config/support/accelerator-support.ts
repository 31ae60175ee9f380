/**
 * The support of execution accelerators: the shape of a backend's rows for `optimization.execution_accelerators`
 * (`backend-rules.ts`).
 */

import type { ParameterSupport } from './parameter-support.js';
import type { Support } from './support.js';

/** The two lists of accelerators that a configuration may have. */
export const acceleratorLists = ['gpu_execution_accelerator', 'cpu_execution_accelerator'] as const;

/** One of {@link acceleratorLists}. */
export type AcceleratorList = (typeof acceleratorLists)[number];

/** A row: an accelerator. */
export interface AcceleratorSupport extends Support {
  /** The keys of its `parameters` that are not simply passed on. */
  readonly parameters: Readonly<Record<string, ParameterSupport>>;
}

/** The accelerators of a backend, by list and name. */
export type Accelerators = Readonly<Record<AcceleratorList, Readonly<Record<string, AcceleratorSupport>>>>;
