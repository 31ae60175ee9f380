/** The interface through which the reading of responses acts on their requests. */

import type { TritonError } from '../errors.js';
import type { Group } from './requests/group.js';
import type { Waiter } from './types.js';

/** Owns the requests that are answered. */
export interface Owner {
  /** Removes the waiter of a request, and returns it. */
  settle(group: Group, position: number): Waiter<unknown> | undefined;
  /**
   * Records that `count` adjacent requests no longer wait. `waited` of them had a waiter, which was already
   * removed from the group.
   */
  settled(group: Group, first: number, count: number, waited: number): void;
  /**
   * Called if the version was unloaded before it accepted `count` adjacent requests of a group. They wait for its model if that
   * is lazy, and are not of the group any more.
   *
   * @returns Whether they wait. False also if no caller waits for any of them: no load is begun.
   */
  holdForLoad(group: Group, first: number, count: number): boolean;
  /**
   * Called if the version was unloaded before it accepted the group. Sends the group to the version's successor
   * if that is allowed.
   *
   * @returns Why the successor does not accept the group. Undefined if it does, or if no successor is allowed.
   */
  resend(group: Group): TritonError | undefined;
  /**
   * Does the same for `count` adjacent requests of a group, if the version accepted the group's other requests,
   * or if these were refused for another reason. The requests move to other groups.
   *
   * @returns Whether they were sent again, or why the successor does not accept them.
   */
  resendSome(group: Group, first: number, count: number): TritonError | boolean;
}
