/** Requests of a lazy model that was unloaded before it accepted them: they wait until it is loaded again. */

import { EncodedInputs } from '../../tensor/encoded.js';
import { SignalCalls } from '../ending/signal-calls.js';
import { cancelled } from '../errors/request-errors.js';
import { isStreamWaiter } from '../responses/streams.js';
import type { DispatchRequest, DispatchTarget, Origin, Waiter } from '../types.js';
import type { Group } from './group.js';
import { inputsOf, type Resender } from './moved.js';

/** How often a model that was unloaded again is loaded for a request. */
const mostLoads = 100;

interface Entry {
  readonly target: DispatchTarget;
  readonly shapes: readonly (readonly number[] | undefined)[];
  readonly inputs: EncodedInputs;
  readonly request: DispatchRequest;
  readonly waiter: Waiter<unknown>;
  readonly origin: Origin;
}

/** See the head of this file. An engine connection has one. */
export class AwaitedLoads {
  readonly #sender: Resender;
  /** The requests that wait, with what ends their interest in their signal. */
  readonly #entries: Map<Entry, (() => void) | undefined> = new Map();
  readonly #signals: SignalCalls = new SignalCalls();

  constructor(sender: Resender) {
    this.#sender = sender;
  }

  /**
   * Takes `count` adjacent requests of a group, whose memory may be reused then.
   *
   * @returns Whether they wait. False: their model is not lazy, or is served.
   */
  hold(group: Group, first: number, count: number): boolean {
    const { target } = group;
    const load = target?.reload?.();
    if (target === undefined || load === undefined) return false;
    // The group may be used for others meanwhile.
    const shapes = [...group.shapes];
    const entries: Entry[] = [];
    for (let at = first; at < first + count; at++) {
      const waiter = this.#sender.settle(group, at);
      const request = group.requestOf(at);
      if (waiter === undefined || request === undefined) continue;
      const inputs = copyOf(inputsOf(group, at));
      entries.push({ target, shapes, inputs, request, waiter, origin: group.stacks?.[at] ?? '' });
    }
    for (const entry of entries) this.#add(entry);
    void this.#sendWhen(load, target, entries);
    return true;
  }

  /** Rejects the requests that were made for `owner`. */
  cancelAll(owner: object): void {
    for (const entry of this.#entries.keys()) if (entry.request.owner === owner) this.#cancel(entry);
  }

  #add(entry: Entry): void {
    const { waiter, request } = entry;
    this.#entries.set(entry, undefined);
    if (isStreamWaiter(waiter)) {
      const remove = (): void => void this.#remove(entry);
      waiter.moved({ begin: () => undefined, read: () => undefined, cancel: remove });
    }
    const { signal } = request;
    if (signal === undefined) return;
    const deaf = this.#signals.on(signal, () => {
      this.#cancel(entry);
    });
    if (this.#entries.has(entry)) this.#entries.set(entry, deaf);
  }

  #cancel(entry: Entry): void {
    const { waiter, request, target } = entry;
    if (this.#remove(entry)) waiter.reject(cancelled(target.name, request.signal));
  }

  #remove(entry: Entry): boolean {
    this.#entries.get(entry)?.();
    return this.#entries.delete(entry);
  }

  async #sendWhen(load: Promise<void>, target: DispatchTarget, entries: readonly Entry[]): Promise<void> {
    try {
      await load;
      for (let loads = 1; loads < mostLoads; loads++) {
        const again = target.reload?.();
        if (again === undefined) break;
        await again;
      }
    } catch (error) {
      for (const entry of entries) if (this.#remove(entry)) entry.waiter.reject(error);
      return;
    }
    for (const entry of entries) {
      if (!this.#remove(entry)) continue;
      const { shapes, inputs, request, waiter, origin } = entry;
      try {
        const successor = target.successor(shapes, request.pinned);
        const group = this.#sender.send(successor, inputs, request, waiter, origin);
        if (isStreamWaiter(waiter)) waiter.moved(this.#sender.sentStream(group, waiter));
      } catch (error) {
        waiter.reject(error);
      }
    }
  }
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
