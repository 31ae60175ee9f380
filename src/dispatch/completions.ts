/** Responses, read from pages, made into results, and delivered to whoever waits. */

import { performance } from 'node:perf_hooks';
import { finalBit, limitedBit, ranBit, recordTimings, unservedBit } from '../addon/layout.js';
import type { NativePort } from '../addon/native.js';
import { nativeError } from '../addon/status.js';
import { TritonError, type TritonErrorCode } from '../errors.js';
import type { MemoryViews } from '../tensor/memory.js';
import { cancelled, limitError, unusable, withFrames } from './errors.js';
import type { Group } from './group.js';
import type { Groups } from './groups.js';
import { cutInto, hasLarge, readOutputs, skipOutputs, takeOutputs, type RecordOutput } from './outputs.js';
import type { OpenPage, Pages } from './pages.js';
import { isAborted } from './signals.js';
import type { Timings, Waiter } from './types.js';

/** So many answers are read before the clock is looked at. */
const portion = 64;

const noTimings: Timings = Object.freeze({
  batchSize: 0,
  queueNs: 0,
  computeInputNs: 0,
  computeInferNs: 0,
  computeOutputNs: 0,
  cacheHit: false,
});

/** Whose requests are answered. */
export interface Owner {
  /** Who waits for a request, and now does no more. */
  settle(group: Group, position: number): Waiter<unknown> | undefined;
  /** The same of so many neighbours, of which so many had a waiter; these are taken from the group already. */
  settled(group: Group, first: number, count: number, waited: number): void;
  /**
   * The version was unloaded before it took the group: sends it to its successor, if it may have one.
   *
   * @returns Why that one does not take it; undefined where it does, or where there is to be none.
   */
  resend(group: Group): TritonError | undefined;
}

const utf8 = new TextDecoder();

/** See the head of this file. One a port. */
export class Completions {
  readonly #native: NativePort;
  readonly #pages: Pages;
  readonly #groups: Groups;
  readonly #owner: Owner;
  #timings: Timings = noTimings;

  constructor(native: NativePort, pages: Pages, groups: Groups, owner: Owner) {
    this.#native = native;
    this.#pages = pages;
    this.#groups = groups;
    this.#owner = owner;
  }

  /**
   * Hands out at most `most` answers, and none after `end` by the clock.
   *
   * @returns Whether there are more.
   */
  read(most: number, end: number): boolean {
    let budget = most;
    this.#pages.readEach((view, page) => {
      while (page.position < page.words && budget > 0) {
        budget -= this.#read(view, page, Math.min(budget, portion));
        if (performance.now() > end) budget = 0;
      }
    });
    return !this.#pages.empty;
  }

  /** Reads up to `most` answers of a page; returns how many. */
  #read(view: MemoryViews, page: OpenPage, most: number): number {
    const words = view.Int32Array;
    let count = 0;
    while (page.position < page.words && count < most) {
      const first = words[page.position] ?? 0;
      if (first === recordTimings) this.#readTimings(view, page);
      else count += this.#readRecord(view, page, most - count);
    }
    return count;
  }

  #readTimings(view: MemoryViews, page: OpenPage): void {
    const doubles = view.Float64Array;
    // After the first word, at a multiple of 8.
    const record = (page.position + 2) >> 1;
    this.#timings = Object.freeze({
      batchSize: doubles[record] ?? 0,
      queueNs: doubles[record + 1] ?? 0,
      computeInputNs: doubles[record + 2] ?? 0,
      computeInferNs: doubles[record + 3] ?? 0,
      computeOutputNs: doubles[record + 4] ?? 0,
      cacheHit: false,
    });
    page.position = record * 2 + 10;
  }

  /** Requests `begin` to `end` of a group; the first one's is response number `number` of its record. */
  #giveAlike(
    view: MemoryViews,
    outputs: readonly RecordOutput[],
    number: number,
    group: Group,
    begin: number,
    end: number,
    timings: Timings,
  ): void {
    const { target, request, requests, waiters } = group;
    if (target === undefined || request === undefined) return;
    let settled = 0;
    for (let at = begin; at < end; at++, number++) {
      const waiter = waiters[at];
      if (waiter === undefined) continue;
      waiters[at] = undefined;
      settled++;
      let result: unknown;
      try {
        const values = target.emptyOutputs();
        const { id, into, signal } = requests?.[at] ?? request;
        if (signal !== undefined && isAborted(signal)) throw cancelled(target.name, signal);
        for (let i = 0; i < outputs.length; i++) {
          const one = outputs[i];
          if (one === undefined) continue;
          const { output, index, shape, offset, size } = one;
          const given = into?.[index];
          values[output.name] =
            given === undefined
              ? output.cut(shape, view, offset + number * size, size)
              : cutInto(output, shape, view, offset + number * size, size, given);
        }
        result = target.result(id, values, timings);
      } catch (error) {
        waiter.reject(withFrames(whyNot(error, target.name), group.stacks?.[at]));
        continue;
      }
      waiter.resolve(result);
    }
    this.#owner.settled(group, begin, end - begin, settled);
  }

  /** Up to `most` responses of a record, which are to neighbours in a group; returns how many. */
  #readRecord(view: MemoryViews, page: OpenPage, most: number): number {
    const words = view.Int32Array;
    let position = page.position;
    const group = this.#groups.all[words[position++] ?? 0];
    const generation = words[position++];
    const flags = words[position++] ?? 0;
    const first = words[position++] ?? 0;
    const all = words[position++] ?? 0;
    const code = flags & 0xff;
    const unserved = (flags & unservedBit) !== 0;
    const end = code === 0 ? skipOutputs(words, position, flags >>> 16) : position + 2;
    const begin = page.taken;
    // Those that no version took may be sent again, all of them.
    const past = unserved ? all : Math.min(all, begin + most);
    if (past === all) {
      page.position = end;
      page.taken = 0;
    } else {
      page.taken = past;
    }
    const count = past - begin;
    if (group?.generation !== generation || group?.target === undefined) return count;
    const timings = (flags & ranBit) !== 0 ? this.#timings : noTimings;
    if (code !== 0) {
      if (unserved && all === group.count) {
        const why = this.#owner.resend(group);
        if (group.generation !== generation) return count;
        this.#groups.unstage(group);
        if (why !== undefined) {
          this.#fail(group, first, first + all, why.code, why.message, false);
          this.#groups.ended(group, all);
          return count;
        }
      }
      const offset = words[position] ?? 0;
      const text = utf8.decode(view.Uint8Array.subarray(offset, offset + (words[position + 1] ?? 0)));
      this.#fail(group, first + begin, first + past, code, text, (flags & limitedBit) !== 0);
    } else if (hasLarge(words, position, end)) {
      this.#give(group, first, view, page, position, end, timings);
    } else {
      const outputs = readOutputs(words, position, end, group.target);
      this.#giveAlike(view, outputs, begin, group, first + begin, first + past, timings);
    }
    if ((flags & finalBit) !== 0) this.#groups.ended(group, count);
    return count;
  }

  /** Rejects what waits for the requests `begin` to `end` of a group. */
  #fail(
    group: Group,
    begin: number,
    end: number,
    code: number | TritonErrorCode,
    text: string,
    limited: boolean,
  ): void {
    const { target } = group;
    if (target === undefined) return;
    for (let at = begin; at < end; at++) {
      const waiter = this.#owner.settle(group, at);
      if (waiter === undefined) continue;
      const { id = '', signal } = group.requestOf(at) ?? {};
      const message = id === '' ? text : `[request id: ${id}] ${text}`;
      const about = { model: target.name };
      // Whatever came of it: whoever asked for it does not want it.
      const error =
        signal !== undefined && isAborted(signal)
          ? cancelled(target.name, signal)
          : limited
            ? limitError(message, target.name)
            : typeof code === 'number'
              ? nativeError(code, message, about)
              : new TritonError(code, message, about);
      waiter.reject(withFrames(error, group.stacks?.[at]));
    }
  }

  /** Resolves what waits for a request, with the outputs whose records are in `view` from `position` to `end`. */
  #give(
    group: Group,
    at: number,
    view: MemoryViews,
    page: OpenPage,
    position: number,
    end: number,
    timings: Timings,
  ): void {
    const { target } = group;
    const request = group.requestOf(at);
    if (target === undefined || request === undefined || group.waiters[at] === undefined) return;
    let result: unknown;
    try {
      if (request.signal !== undefined && isAborted(request.signal)) {
        throw cancelled(target.name, request.signal);
      }
      const outputs = readOutputs(view.Int32Array, position, end, target);
      const values = takeOutputs(this.#native, page.id, view, outputs, target, request);
      result = target.result(request.id, values, timings);
    } catch (error) {
      this.#owner.settle(group, at)?.reject(withFrames(whyNot(error, target.name), group.stacks?.[at]));
      return;
    }
    this.#owner.settle(group, at)?.resolve(result);
  }
}

/** Why a response is not given to its caller: it does not want it any more, or cannot have it. */
function whyNot(error: unknown, model: string): TritonError {
  return error instanceof TritonError && error.code === 'CANCELLED' ? error : unusable(error, model);
}
