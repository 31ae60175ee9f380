/** The home of the user. */

import { homedir } from 'node:os';

/**
 * The user's home folder: `HOME`, or what the system knows. Undefined where there is none: a container's process often belongs to a
 * number that no user has, and has no `HOME`.
 *
 * @param known - Asks the system. Throws if the system does not know the user.
 */
export function homeFolder(env: NodeJS.ProcessEnv, known: () => string = homedir): string | undefined {
  const named = env['HOME'];
  if (named !== undefined && named !== '') return named;
  try {
    return known();
  } catch {
    return undefined;
  }
}
