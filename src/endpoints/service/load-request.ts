/** What a call asks to load. It travels between threads. */

import type { LoadModelOptions } from '../../api/load-options.js';

/** What a model is loaded with. */
export interface LoadRequest {
  /** A configuration as JSON text. */
  readonly config: string | undefined;
  /** Files by their path in the model's folder. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Whether it is loaded again even if its files have not changed. */
  readonly force: boolean;
}

/** The same as options of `loadModel`. */
export function loadOptionsOf({ config, files, force }: LoadRequest): LoadModelOptions {
  return { config, files: files.size > 0 ? Object.fromEntries(files) : undefined, force };
}
