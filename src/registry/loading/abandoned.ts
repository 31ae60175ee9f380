/** Tells of versions that were abandoned. */

import type { Log } from '../../logger.js';
import type { ModelEntry } from '../entries/model-entry.js';

/** Says which versions of a model have ended for everybody but keep their memory. */
export function logAbandoned(log: Log, { name, text }: ModelEntry, versions: readonly number[]): void {
  for (const version of versions)
    log.warn(
      `model '${text}', version ${version}: a run or a destructor of it did not return in time (workers.unloadTimeoutMs), so it was abandoned: its memory and its threads stay until the process ends`,
      { model: name },
    );
}
