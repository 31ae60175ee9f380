/** What reading responses asks of the requests' owner. */

import type { TritonError } from '../errors.js';
import type { Group } from './requests/group.js';
import type { Waiter } from './types.js';

/** The owner of the requests that are answered. */
export interface Owner {
  /** Removes the waiter of a request, and returns it. */
  settle(group: Group, position: number): Waiter<unknown> | undefined;
  /**
   * Notes that `count` neighbours do not wait any more. `waited` of them had a waiter, which was removed from
   * the group already.
   */
  settled(group: Group, first: number, count: number, waited: number): void;
  /**
   * Called if the version was unloaded before it took the group. Sends the group to the version's successor
   * if that is allowed.
   *
   * @returns Why the successor does not take it; undefined if it does, or if there is to be none.
   */
  resend(group: Group): TritonError | undefined;
  /**
   * The same for `count` neighbours of a group whose other requests the version took, or which were refused for
   * another reason. They become requests of other groups.
   *
   * @returns Whether they are sent again, or why the successor does not take them.
   */
  resendSome(group: Group, first: number, count: number): TritonError | boolean;
}
