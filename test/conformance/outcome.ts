/** Cases and their outcomes. */
import type { Tolerance } from './compare.js';

/** A case as export.py lists it. */
export interface Case extends Tolerance {
  /** ONNX's word for its group of cases: `node`, `simple` … */
  readonly kind: string;
  readonly name: string;
  /** The reason why Triton cannot run the case. Then it has no files. */
  readonly skip?: string;
  /** Whether a dimension that the model fixes to 0 was made variable. */
  readonly freed?: boolean;
}

/** The list that export.py writes. */
export interface CaseList {
  /** Version of the package that the cases come from. */
  readonly onnx: string;
  readonly cases: readonly Case[];
}

/**
 * `passed`: the server returned the expected outputs. `skipped`: Triton has no form for the case. `runtime`:
 * it also fails in the bare runtime. `ours`: it passes there.
 */
export type Verdict = 'passed' | 'skipped' | 'runtime' | 'ours';

/** The outcome of a case. */
export interface Outcome {
  readonly kind: string;
  readonly name: string;
  readonly verdict: Verdict;
  /** A short reason, to group cases by; empty for a pass. */
  readonly reason: string;
  /** All details. */
  readonly detail: string;
}
