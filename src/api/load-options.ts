/** Options of loads and unloads. */

import type { ModelConfigInput } from '../config/index.js';
import type { ModelRequest } from './model-request.js';

/**
 * Options of {@link InferenceServer.loadModel}.
 *
 * @example
 * await server.loadModel('digits', { config: { max_batch_size: 16 } });
 * await server.loadModel('upper', { config: {}, files: { 'model.onnx': bytes } });
 */
export interface LoadModelOptions {
  /**
   * The configuration to use instead of config.pbtxt (default: config.pbtxt): an object in Triton's JSON
   * shape, or its JSON text. Triton: `config`.
   */
  readonly config?: ModelConfigInput | string | undefined;
  /**
   * The model's files (default: the repository's), by their path in its folder, such as `1/model.onnx`. The
   * repository's files are then ignored, and `config` is required. If no path begins with a version's folder,
   * all files are version 1's. Triton: `file:<path>`.
   */
  readonly files?: Readonly<Record<string, Uint8Array>> | undefined;
  /**
   * A file whose default export is a model in JavaScript, which is used instead of the repository's files
   * (default: none). Its threads are started anew with it.
   */
  readonly module?: URL | undefined;
  /**
   * Whether the model is loaded again although none of its files has changed (default false), such as after a change
   * of what its code imports from elsewhere. With `config`, `files` or `module` it always is.
   */
  readonly force?: boolean | undefined;
  /**
   * The request that asks for this, if a model of the program does, after the first `await` of its `execute` (default: none). A load that
   * would wait for that request is refused.
   * Triton has no such option.
   */
  readonly parent?: ModelRequest | undefined;
}

/** What {@link InferenceServer.loadModel} has done. */
export interface LoadOutcome {
  /** False: the model was served already, none of its files has changed, and it goes on as it was. */
  readonly changed: boolean;
}

/**
 * Options of {@link InferenceServer.unloadModel}.
 *
 * @example
 * await server.unloadModel('pipeline', { unloadDependents: true });
 */
export interface UnloadModelOptions {
  /**
   * Whether the models of an ensemble are unloaded, too, if they were loaded only because it needs them
   * (default false). Those that another ensemble needs, or that were loaded by name, stay. Triton:
   * `unload_dependents`.
   */
  readonly unloadDependents?: boolean | undefined;
  /**
   * The request that asks for this, if a model of the program does, after the first `await` of its `execute` (default: none). An unload
   * that would wait for that request is answered at once, and follows.
   * Triton has no such option.
   */
  readonly parent?: ModelRequest | undefined;
}
