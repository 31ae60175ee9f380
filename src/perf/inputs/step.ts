/** The data of one request, and where requests get it from. */

import type { RemoteInputs, RemoteInto } from '../../client/shared-memory.js';
import type { ExpectedOutput } from './expected.js';

/** The data of one request. */
export interface Step {
  /** Its place among all steps of the run. */
  readonly index: number;
  /** In this process all are values. */
  readonly inputs: RemoteInputs;
  /** Where outputs go, if that is shared memory. */
  readonly into?: RemoteInto | undefined;
  /** What the outputs must be; undefined: they are not compared. */
  readonly expected: readonly ExpectedOutput[] | undefined;
}

/** Steps that follow one another: for models with sequences, those of one sequence. */
export type StepStream = readonly [Step, ...Step[]];
