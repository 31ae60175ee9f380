/** Moves requests of a group to other groups, because no version has accepted them. */

import { TritonError } from '../../errors.js';
import { EncodedInputs } from '../../tensor/encoded.js';
import type { Group } from './group.js';
import { isStreamWaiter, type SentStream } from '../responses/streams.js';
import type { DispatchRequest, DispatchTarget, Origin, Waiter } from '../types.js';

/** Sends requests. An engine connection is one. */
export interface Resender {
  /** See `EngineConnection.send`. */
  send(
    target: DispatchTarget,
    inputs: EncodedInputs,
    request: DispatchRequest,
    waiter: Waiter<unknown>,
    origin: Origin,
  ): Group;
  /** The stream of a request that was just sent in this group, by its waiter. */
  sentStream(group: Group, waiter: Waiter<unknown>): SentStream;
  /** Removes the waiter of a request, and returns it. */
  settle(group: Group, position: number): Waiter<unknown> | undefined;
}

/**
 * Sends `count` adjacent requests of a group to the successor of their version. See `Owner.resendSome`.
 *
 * @returns Whether they were sent again, or why the successor does not accept them.
 */
export function resendSome(
  sender: Resender,
  group: Group,
  first: number,
  count: number,
): TritonError | boolean {
  const { target } = group;
  if (target === undefined || group.request?.pinned !== false) return false;
  let successor: DispatchTarget;
  try {
    successor = target.successor(group.shapes);
  } catch (error) {
    return error instanceof TritonError ? error : false;
  }
  for (let at = first; at < first + count; at++) {
    const waiter = sender.settle(group, at);
    const request = group.requestOf(at);
    if (waiter === undefined || request === undefined) continue;
    try {
      const next = sender.send(successor, inputsOf(group, at), request, waiter, group.stacks?.[at] ?? '');
      if (isStreamWaiter(waiter)) waiter.moved(sender.sentStream(next, waiter));
    } catch (error) {
      waiter.reject(error);
    }
  }
  return true;
}

/** The inputs of a sent request, as views of its group's range in a slab. */
export function inputsOf(group: Group, position: number): EncodedInputs {
  const { shapes, views, lengths, byteLengths } = group;
  const inputs = new EncodedInputs(shapes.length);
  for (const [i, shape] of shapes.entries()) {
    const view = views[i];
    const length = lengths[i] ?? 0;
    if (shape === undefined || view === undefined) continue;
    inputs.set(i, shape, view.subarray(position * length, (position + 1) * length), byteLengths[i] ?? 0);
  }
  return inputs;
}
