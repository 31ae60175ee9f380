/** Keeps the stack frames that made requests, with `captureStacks`, until the requests fail. */

import { framesBelow } from './request-errors.js';
import type { Group } from '../requests/group.js';
import type { Origin, Waiter } from '../types.js';

/**
 * Keeps the frames of the request that was added to the group last.
 *
 * @throws What a program's own `Error.prepareStackTrace` throws. The request has no waiter then.
 */
export function keepStack(group: Group, waiter: Waiter<unknown>, origin: Origin): void {
  const { waiters } = group;
  const position = group.count - 1;
  const stacks = (group.stacks ??= new Array<string | undefined>(group.room));
  try {
    // The program's function may make requests, and so add to the group.
    stacks[position] = typeof origin === 'string' ? origin : framesBelow(origin);
  } catch (error) {
    // The request is sent already, but its caller gets this error.
    if (waiters[position] === waiter) waiters[position] = forNobody;
    throw error;
  }
}

const forNobody: Waiter<unknown> = { resolve: () => undefined, reject: () => undefined };
