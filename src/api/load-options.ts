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
   * The model's files (default: the files in the repository), by their path in the model's folder, such as
   * `1/model.onnx`. The repository's files are then ignored, and `config` is required. If no path begins with a
   * version's folder, all files belong to version 1. Triton: `file:<path>`.
   */
  readonly files?: Readonly<Record<string, Uint8Array>> | undefined;
  /**
   * A file whose default export is a model in JavaScript (default: none). The model is used instead of the
   * repository's files. Its threads are restarted with the new module.
   */
  readonly module?: URL | undefined;
  /**
   * Whether to load the model again although none of its files has changed (default false). Use it, for
   * example, when a module has changed that the model's code imports from elsewhere. With `config`, `files` or
   * `module` the model is always loaded again.
   */
  readonly force?: boolean | undefined;
  /**
   * The request on whose behalf the model is loaded (default: none). A model on the program's event loop passes
   * it if it calls this after the first `await` of its `execute`. If the load would have to wait for that
   * request, it is refused. Triton has no such option.
   */
  readonly parent?: ModelRequest | undefined;
}

/** The result of {@link InferenceServer.loadModel}. */
export interface LoadOutcome {
  /**
   * False if the model was served already and none of its files has changed; the server then keeps the loaded
   * model.
   */
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
   * Whether to unload also the ensemble's step models that were loaded only because the ensemble needs them
   * (default false). A step model stays if another ensemble needs it, or if it was loaded by name. Triton:
   * `unload_dependents`.
   */
  readonly unloadDependents?: boolean | undefined;
  /**
   * The request on whose behalf the model is unloaded (default: none). A model on the program's event loop
   * passes it if it calls this after the first `await` of its `execute`. If the unload would have to wait for
   * that request, the call returns at once, and the unload follows later. Triton has no such option.
   */
  readonly parent?: ModelRequest | undefined;
}

/**
 * Options of {@link InferenceServer.registerRepository}.
 *
 * @example
 * await server.registerRepository('/srv/tenant-a', { names: { digits: 'digits_a' } });
 */
export interface RegisterRepositoryOptions {
  /**
   * Names of models by the names of their folders in the repository (default: each model has the name of its folder).
   * Such a name replaces the `name` of the model's configuration, and the model cannot be loaded under its folder's name.
   * Triton: the name mapping of `TRITONSERVER_ServerRegisterModelRepository`.
   */
  readonly names?: Readonly<Record<string, string>> | undefined;
}
