/**
 * Groups that the engine refused. Their requests are rejected by the following flush. A submission may happen
 * while another request is being copied, and no code of a caller may run then.
 */

import type { NativeStatus } from '../../addon/native/status.js';
import { statusError } from '../../addon/status.js';
import type { Cancellation } from '../ending/cancellation.js';
import type { Group } from '../requests/group.js';
import type { Groups } from '../requests/groups.js';
import { DoomedGroup, type Rejections } from './rejections.js';

/** Groups of one submission, with the status of the refusal. */
interface Refusal {
  readonly groups: readonly Group[];
  readonly status: NativeStatus;
}

/** See the head of this file. An engine connection has one. */
export class Refusals {
  readonly #groups: Groups;
  readonly #cancellation: Cancellation;
  readonly #rejections: Rejections;
  #pending: Refusal[] = [];

  constructor(groups: Groups, cancellation: Cancellation, rejections: Rejections) {
    this.#groups = groups;
    this.#cancellation = cancellation;
    this.#rejections = rejections;
  }

  /** Adds the written groups, none of which the engine accepted. */
  add(status: NativeStatus): void {
    this.#pending.push({ groups: this.#groups.takeWritten(), status });
  }

  /** Rejects the requests of all added groups. */
  reject(): void {
    if (this.#pending.length === 0) return;
    const refusals = this.#pending;
    this.#pending = [];
    for (const { groups, status } of refusals) {
      const reason = { concerns: () => true, error: (model: string) => statusError(status, { model }) };
      for (const group of groups) {
        this.#cancellation.settled(group, 0, group.count);
        this.#rejections.add(new DoomedGroup(group, reason));
        this.#groups.unstage(group);
        this.#groups.ended(group, group.count);
      }
    }
    this.#rejections.run();
  }
}
