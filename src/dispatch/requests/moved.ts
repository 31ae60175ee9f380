/** Moves requests of a group to other groups, because no version has accepted them: at once, or when their model is loaded again. */

import { TritonError } from '../../errors.js';
import { EncodedInputs } from '../../tensor/encoded.js';
import type { AwaitedLoads, AwaitingRequest } from './awaited-loads.js';
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

/**
 * Takes `count` adjacent requests of a group, whose memory may be reused then, until their lazy model is loaded again. See
 * `Owner.holdForLoad`.
 *
 * @returns Whether they wait. False: their model is not lazy, or is served, or no caller waits for any of them.
 */
export function holdForLoad(
  sender: Resender,
  awaited: AwaitedLoads,
  group: Group,
  first: number,
  count: number,
): boolean {
  const { target } = group;
  // Their callers may have cancelled all of them. A load that nobody waits for must not begin: nobody would handle its error.
  if (target === undefined || !someWait(group, first, count)) return false;
  let begun = target.reload?.();
  if (begun === undefined) return false;
  // The queue does not wait for the load if the last request is cancelled before the queue asks for it.
  begun.catch(() => undefined);
  const queue = awaited.queue({
    name: target.name,
    load: () => {
      const load = begun ?? target.reload?.();
      begun = undefined;
      return load;
    },
  });
  // The group may be used for others meanwhile.
  const shapes = [...group.shapes];
  const requests: AwaitingRequest[] = [];
  for (let at = first; at < first + count; at++) {
    const waiter = sender.settle(group, at);
    const request = group.requestOf(at);
    if (waiter === undefined || request === undefined) continue;
    const inputs = copyOf(inputsOf(group, at));
    const origin = group.stacks?.[at] ?? '';
    const awaiting: AwaitingRequest = {
      request,
      send: () => {
        const successor = target.successor(shapes, request.pinned);
        const next = sender.send(successor, inputs, request, waiter, origin);
        if (isStreamWaiter(waiter)) waiter.moved(sender.sentStream(next, waiter));
      },
      reject: (error) => {
        waiter.reject(error);
      },
    };
    if (isStreamWaiter(waiter)) waiter.moved(queue.stream(awaiting));
    requests.push(awaiting);
  }
  queue.add(requests);
  return true;
}

/** Whether a caller still waits for one of `count` adjacent requests. */
function someWait({ waiters }: Group, first: number, count: number): boolean {
  for (let at = first; at < first + count; at++) if (waiters[at] !== undefined) return true;
  return false;
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

/** The same with memory of its own. */
function copyOf(inputs: EncodedInputs): EncodedInputs {
  const copy = new EncodedInputs(inputs.shapes.length);
  for (const [i, shape] of inputs.shapes.entries()) {
    const view = inputs.data[i];
    if (shape === undefined || view === undefined) continue;
    copy.set(i, shape, view.slice(), inputs.byteLengths[i] ?? 0);
  }
  return copy;
}
