/** With `captureStacks`, keeps the stack frames that made each request, for the error if the request fails. */

import { framesBelow } from './request-errors.js';
import type { Group } from '../requests/group.js';
import type { Origin, Waiter } from '../types.js';

/**
 * Keeps the frames of the request that was last added to the group.
 *
 * @throws The error that a program's own `Error.prepareStackTrace` throws. The request then has no waiter.
 */
export function keepStack(group: Group, waiter: Waiter<unknown>, origin: Origin): void {
  const { waiters } = group;
  const position = group.count - 1;
  const stacks = (group.stacks ??= new Array<string | undefined>(group.room));
  try {
    // The program's function may make requests, and thus add to the group.
    stacks[position] = typeof origin === 'string' ? origin : framesBelow(origin);
  } catch (error) {
    // The request is sent already, but its caller gets this error.
    if (waiters[position] === waiter) waiters[position] = forNobody;
    throw error;
  }
}

const forNobody: Waiter<unknown> = { resolve: () => undefined, reject: () => undefined };
