/** Cases, and what becomes of them. */
import type { Tolerance } from './compare.js';

/** A case as export.py lists it. */
export interface Case extends Tolerance {
  /** ONNX's word for its group of cases: `node`, `simple` … */
  readonly kind: string;
  readonly name: string;
  /** Why Triton cannot be asked; there are no files then. */
  readonly skip?: string;
  /** A dimension that the model fixes to 0 was made variable. */
  readonly freed?: boolean;
}

/** The list that export.py writes. */
export interface CaseList {
  /** Version of the package that the cases are from. */
  readonly onnx: string;
  readonly cases: readonly Case[];
}

/**
 * `passed`: the expected outputs came from the server. `skipped`: Triton has no form for the case. `runtime`: it fails
 * in the bare runtime as well. `ours`: it does not.
 */
export type Verdict = 'passed' | 'skipped' | 'runtime' | 'ours';

/** What became of a case. */
export interface Outcome {
  readonly kind: string;
  readonly name: string;
  readonly verdict: Verdict;
  /** Short enough to group by; empty for a pass. */
  readonly reason: string;
  /** All that is known. */
  readonly detail: string;
}
