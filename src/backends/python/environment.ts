/** Finds the Python environment of a model in its configuration. */

import { resolve, sep } from 'node:path';
import { environmentKey, type Environment } from '../../python/settings.js';
import type { BackendContext } from '../context.js';
import { confined, ownPlaces } from '../trusted-places.js';

/** At the start of an environment's path this stands for the model's folder. */
const modelVariable = '$$TRITON_MODEL_DIRECTORY';

/**
 * The environment that runs a model; undefined if none is named. It contains the program that is run, so it
 * must lie where libraries may lie. Otherwise a client that loads models over the network could run any program
 * of the machine.
 *
 * @throws {@link TritonError} INVALID_ARG for a path outside of these folders.
 */
export function environmentOf(context: BackendContext): Environment | undefined {
  const written = context.config.parameters[environmentKey]?.string_value ?? '';
  if (written === '') return undefined;
  const folder = context.modelDirectory ?? '';
  const path = written.startsWith(modelVariable)
    ? resolve(folder, `.${sep}${written.slice(modelVariable.length)}`)
    : written;
  return { written, path: confined(context, `parameters["${environmentKey}"]`, path, ownPlaces(context)) };
}
