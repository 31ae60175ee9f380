/** With `captureStacks`: where requests were made, kept until they fail. */

import { framesBelow } from './errors.js';
import type { Group } from './group.js';
import type { Origin, Waiter } from './types.js';

/**
 * Notes where the request was made that was added to the group last.
 *
 * @throws What a program's own `Error.prepareStackTrace` throws; then nobody waits for the request.
 */
export function keepStack(group: Group, waiter: Waiter<unknown>, origin: Origin): void {
  const { waiters } = group;
  const position = group.count - 1;
  const stacks = (group.stacks ??= new Array<string | undefined>(group.room));
  try {
    // The program's function may ask for more requests, and so add to the group.
    stacks[position] = typeof origin === 'string' ? origin : framesBelow(origin);
  } catch (error) {
    // It is sent, but its caller has this error.
    if (waiters[position] === waiter) waiters[position] = forNobody;
    throw error;
  }
}

const forNobody: Waiter<unknown> = { resolve: () => undefined, reject: () => undefined };
