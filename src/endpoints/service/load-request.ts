/** A client's request to load a model. It can be posted to another thread. */

import type { LoadModelOptions } from '../../api/load-options.js';

/** The configuration and files that a model is loaded with. */
export interface LoadRequest {
  /** A configuration as JSON text. */
  readonly config: string | undefined;
  /** Files by their path in the model's folder. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Whether the model is loaded again even if its files have not changed. */
  readonly force: boolean;
}

/** Converts a request to options of `loadModel`. */
export function loadOptionsOf({ config, files, force }: LoadRequest): LoadModelOptions {
  return { config, files: files.size > 0 ? Object.fromEntries(files) : undefined, force };
}
