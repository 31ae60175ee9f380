/** Finds the model that a program or a model means by its name alone. */

import { ambiguousName, type ModelKey } from '../model-key.js';
import type { NativeServer } from './native/server.js';
import { statusError } from './status.js';

/**
 * The published model of this name; undefined if there is none, and the server has no namespaces.
 *
 * @throws {@link TritonError} With namespaces INVALID_ARG if several have a model of this name or none has ever had one,
 *   NOT_FOUND if none has one any more.
 */
export function findModel(server: NativeServer, name: string): ModelKey | undefined {
  const found = server.resolveModel(name);
  if (found === undefined || !('code' in found)) return found;
  const namespaces = server.modelKeys().flatMap((key) => (key.name === name ? key.namespace : []));
  throw namespaces.length > 1 ? ambiguousName(name, namespaces) : statusError(found, { model: name });
}
