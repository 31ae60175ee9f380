/** Traces of requests, as the engine makes them. */

/** How requests of a model are traced. Without time stamps and tensors they are not. */
export interface NativeTraceSetting {
  readonly timestamps: boolean;
  readonly tensors: boolean;
  readonly rate: number;
  /** How many traces are left; -1: no limit; undefined: as many as of the setting that this one replaces. */
  readonly count: number | undefined;
  /** The path of the trace file; empty in spans mode. */
  readonly file: string;
  readonly logFrequency: number;
  /** Whether finished traces are kept for {@link NativeTracing.takeTraces} instead of being written to a file. */
  readonly spans: boolean;
}

/** The part of a server's engine that traces requests. */
export interface NativeTracing {
  /**
   * Sets how requests are traced.
   *
   * @param model - Empty: all models without a setting of their own.
   * @param setting - null: the model follows the general setting again; for the general one: tracing is off.
   */
  setTrace(model: string, setting: NativeTraceSetting | null): void;
  /**
   * Asks whether the next request for this model is traced, which is then sent. The engine does not ask for it again.
   *
   * @param context - In spans mode the parent as `traceparent`, or `traceparent` and `tracestate` with a line break
   *   between, which forces a trace; empty: none.
   * @param requestId - The id that the request has for its sender; empty: none.
   * @returns The id of its trace, which is passed on with the request; 0: it is not traced; a negative number, in spans
   *   mode: nor are so many of the next ones without a context, for which nobody has to ask.
   */
  sampleTrace(model: string, context: string, requestId: string): number;
  /**
   * Adds a time stamp of a front end.
   *
   * @param ns - Of the clock of `process.hrtime`; 0: now.
   */
  noteTrace(id: number, name: string, ns: number): void;
  /**
   * Says that the front end is finished with a trace, once for each id of {@link sampleTrace}. The trace is complete
   * when its request has ended, too.
   */
  endTrace(id: number): void;
  /**
   * Takes traces that are complete, in spans mode, the oldest ones first.
   *
   * @param most - About how many bytes are taken.
   * @returns The text of a JSON array; empty: there are none.
   */
  takeTraces(most: number): string;
  /** How many traces were written or taken, how many were lost, and what last went wrong with a file; empty: nothing. */
  traceCounts(): { readonly written: number; readonly dropped: number; readonly fault: string };
}
