/** Finds the model that a program or a model means by its name alone. */

import type { ModelKey } from '../model-key.js';
import type { NativeServer } from './native/server.js';
import { statusError } from './status.js';

/**
 * The published model of this name; undefined if there is none.
 *
 * @throws {@link TritonError} INVALID_ARG if several namespaces have a model of this name.
 */
export function findModel(server: NativeServer, name: string): ModelKey | undefined {
  const found = server.resolveModel(name);
  if (!('code' in found)) return found;
  const error = statusError(found, { model: name });
  if (error.code === 'NOT_FOUND') return undefined;
  throw error;
}
