/** Finished traces, as the engine hands them over in spans mode. */

/** The trace of a request. */
export interface FinishedTrace {
  readonly id: number;
  /** The trace of the ensemble, or of the model, that made the request; 0: none. */
  readonly parent_id: number;
  readonly model_name: string;
  readonly model_version: number;
  readonly request_id: string;
  /** The parent outside of the server, as `NativeTracing.sampleTrace` got it; empty: none. */
  readonly context: string;
  /** What is added to a time stamp for Unix time, in nanoseconds. */
  readonly offset_ns: string | number;
  readonly timestamps: readonly { readonly name: string; readonly ns: string }[];
  /** Absent for a request that succeeded. */
  readonly error?: string;
}

/** @param text - Of `NativeTracing.takeTraces`. */
export function readTraces(text: string): readonly FinishedTrace[] {
  // The engine writes it.
  return text === '' ? [] : (JSON.parse(text) as readonly FinishedTrace[]);
}
