/** With what the models of the Python backend run: the options, and the environment of a model. */

/** Parameter: the Python environment that runs the model, a folder or an archive of conda-pack. */
export const environmentKey = 'EXECUTION_ENV_PATH';

/** A model's own Python environment: a folder or an archive. */
export interface Environment {
  readonly written: string;
  /** The path with links resolved. */
  readonly path: string;
}

/** The options of the backend, with Triton's defaults filled in. */
export interface PythonSettings {
  /** The interpreter; undefined: `python3` from the PATH. */
  readonly executable: string | undefined;
  readonly initialBytes: number;
  readonly growthBytes: number;
  readonly memoryName: string;
  readonly queueSize: number;
  /** How long a process may take to start Python, in milliseconds. */
  readonly startMs: number;
  /** How many calls of other models may be in progress at once. */
  readonly threads: number;
}
