/** The data of one request, and where requests get it from. */

import type { Inputs } from '../../tensor/inputs.js';
import type { ExpectedOutput } from './expected.js';

/** The data of one request. */
export interface Step {
  /** Its place among all steps of the run. */
  readonly index: number;
  readonly inputs: Inputs;
  /** What the outputs must be; undefined: they are not compared. */
  readonly expected: readonly ExpectedOutput[] | undefined;
}

/** Steps that follow one another: for models with sequences, those of one sequence. */
export type StepStream = readonly [Step, ...Step[]];
