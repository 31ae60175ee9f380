/** Reads responses from pages, makes results of them, and settles the promises of their requests. */

import { performance } from 'node:perf_hooks';
import {
  countedBit,
  emptyBit,
  finalBit,
  limitedBit,
  parametersBit,
  ranBit,
  recordTimings,
  streamedBytes,
  unservedBit,
} from '../../addon/layout.js';
import type { NativePort } from '../../addon/native/port.js';
import { readParameters } from '../../addon/parameter-words.js';
import type { MemoryViews } from '../../tensor/memory.js';
import { cancelled, withFrames } from '../errors/request-errors.js';
import { FailedResponses, whyNot } from '../errors/failed-responses.js';
import type { Owner } from '../owner.js';
import type { DispatchRequest, DispatchTarget } from '../types.js';
import type { Group } from '../requests/group.js';
import type { Groups } from '../requests/groups.js';
import {
  cutInto,
  hasLarge,
  mostInRegion,
  readOutputs,
  skipOutputs,
  takeOutputs,
  type RecordOutput,
} from './outputs.js';
import type { OpenPage, Pages } from './pages.js';
import { isAborted } from '../../call-signal.js';
import { isStreamWaiter } from './streams.js';
import type { Timings } from '../../api/timings.js';

/** Number of responses that are read between two checks of the clock. */
const portion = 64;

const noTimings: Timings = Object.freeze({
  batchSize: 0,
  queueNs: 0,
  computeInputNs: 0,
  computeInferNs: 0,
  computeOutputNs: 0,
  cacheHit: false,
});

const utf8 = new TextDecoder();

/** See the head of this file. A port has one. */
export class PromiseSettler {
  readonly #native: NativePort;
  readonly #pages: Pages;
  readonly #groups: Groups;
  readonly #owner: Owner;
  readonly #failed: FailedResponses;
  #timings: Timings = noTimings;

  constructor(native: NativePort, pages: Pages, groups: Groups, owner: Owner) {
    this.#native = native;
    this.#pages = pages;
    this.#groups = groups;
    this.#owner = owner;
    this.#failed = new FailedResponses(owner);
  }

  /**
   * Delivers at most `most` responses, and none after `end` by the clock.
   *
   * @returns Whether more responses remain.
   */
  read(most: number, end: number): boolean {
    let budget = most;
    this.#pages.readEach((view, page) => {
      while (page.position < page.words && budget > 0) {
        budget -= this.#read(view, page, Math.min(budget, portion));
        if (performance.now() > end) budget = 0;
      }
    });
    const more = !this.#pages.empty;
    if (!more) this.#failed.allRead();
    return more;
  }

  /** Reads up to `most` responses of a page. Returns the number read. */
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
    // The timings start after the first word, aligned to 8 bytes.
    const record = (page.position + 2) >> 1;
    const batchSize = doubles[record] ?? 0;
    this.#timings = Object.freeze({
      batchSize,
      queueNs: doubles[record + 1] ?? 0,
      computeInputNs: doubles[record + 2] ?? 0,
      computeInferNs: doubles[record + 3] ?? 0,
      computeOutputNs: doubles[record + 4] ?? 0,
      cacheHit: batchSize === 0,
    });
    page.position = record * 2 + 10;
  }

  /**
   * Delivers responses `begin` to `end` of a group. `number` is the index of the first of them within its
   * record.
   */
  #deliverAlike(
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

  /**
   * Reads up to `most` responses of a record, which are for adjacent requests of a group. Returns the number
   * read.
   */
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
    const hasParameters = (flags & parametersBit) !== 0;
    // Where the words about the parameters are; they come before those about the outputs.
    const parameters = hasParameters ? position : undefined;
    if (hasParameters) position += 2;
    const end = code === 0 ? skipOutputs(words, position, flags >>> 16) : position + 2;
    const begin = page.taken;
    // Requests that no version accepted may be sent again. They are handled together.
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
    if ((flags & (countedBit | emptyBit)) !== 0) {
      this.#readStreamed(group, first, flags, view, page, position, end, timings, parameters);
    } else if (code !== 0) {
      if (unserved && this.#owner.holdForLoad(group, first, all)) {
        if (all === group.count) this.#groups.unstage(group);
        this.#groups.ended(group, all);
        return count;
      }
      if (unserved && all === group.count) {
        const why = this.#owner.resend(group);
        if (group.generation !== generation) return count;
        this.#groups.unstage(group);
        if (why !== undefined) {
          this.#failed.fail(group, first, first + all, why);
          this.#groups.ended(group, all);
          return count;
        }
      } else if (unserved) {
        const outcome = this.#owner.resendSome(group, first, all);
        if (outcome !== false) {
          if (outcome !== true) {
            this.#failed.fail(group, first, first + all, outcome);
          }
          this.#groups.ended(group, all);
          return count;
        }
      }
      const offset = words[position] ?? 0;
      const text = utf8.decode(view.Uint8Array.subarray(offset, offset + (words[position + 1] ?? 0)));
      const failure = {
        code: code | ((flags >>> 16) << 8),
        message: text,
        limited: (flags & limitedBit) !== 0,
      };
      this.#failed.fail(group, first + begin, first + past, failure);
      // An error in the middle of a stream: nobody waits for the rest.
      if ((flags & finalBit) === 0) this.#native.cancel(group.index, group.generation, first, 1);
    } else if (hasParameters || hasLarge(words, position, end)) {
      this.#deliver(group, first, view, page, position, end, timings, parameters);
    } else {
      const outputs = readOutputs(words, position, end, group.target);
      this.#deliverAlike(view, outputs, begin, group, first + begin, first + past, timings);
    }
    if ((flags & finalBit) !== 0) this.#groups.ended(group, count);
    return count;
  }

  /** Delivers a response of a decoupled model, or the end of its responses. */
  #readStreamed(
    group: Group,
    at: number,
    flags: number,
    view: MemoryViews,
    page: OpenPage,
    position: number,
    end: number,
    timings: Timings,
    parameters: number | undefined,
  ): void {
    const { target } = group;
    const request = group.requestOf(at);
    const waiter = group.waiters[at];
    const isFinal = (flags & finalBit) !== 0;
    let bytes = 0;
    if ((flags & countedBit) !== 0) {
      const words = view.Int32Array;
      bytes = streamedBytes + (parameters === undefined ? 0 : (words[parameters + 1] ?? 0));
      for (let i = position; i < end; i += 4 + (words[i + 3] ?? 0)) {
        // Sizes are unsigned. The engine holds no bytes of an output that goes to a region.
        if ((words[i + 1] ?? 0) > mostInRegion) bytes += (words[i + 2] ?? 0) >>> 0;
      }
    }
    if (target === undefined || request === undefined || waiter === undefined || !isStreamWaiter(waiter)) {
      if (bytes > 0) this.#native.read(group.index, group.generation, at, 1, bytes);
      return;
    }
    if ((flags & emptyBit) !== 0) {
      this.#owner.settle(group, at);
      waiter.end();
      return;
    }
    let result: unknown;
    try {
      result = this.#resultOf(target, request, view, page, position, end, timings, parameters);
    } catch (error) {
      this.#native.read(group.index, group.generation, at, 1, bytes);
      if (!isFinal) this.#native.cancel(group.index, group.generation, at, 1);
      this.#owner.settle(group, at)?.reject(withFrames(whyNot(error, target.name), group.stacks?.[at]));
      return;
    }
    if (isFinal) this.#owner.settle(group, at);
    waiter.push(result, bytes);
    if (isFinal) waiter.end();
  }

  /**
   * The result of a response whose outputs have their records in `view` from `position` to `end`.
   *
   * @param parameters - Where `view` has the words about its parameters; undefined: it has none.
   * @throws {@link TritonError} CANCELLED if the request's signal has been aborted, and what outputs throw.
   */
  #resultOf(
    target: DispatchTarget,
    request: DispatchRequest,
    view: MemoryViews,
    page: OpenPage,
    position: number,
    end: number,
    timings: Timings,
    parameters: number | undefined,
  ): unknown {
    if (request.signal !== undefined && isAborted(request.signal)) {
      throw cancelled(target.name, request.signal);
    }
    const outputs = readOutputs(view.Int32Array, position, end, target);
    const values = takeOutputs(this.#native, page.id, view, outputs, target, request);
    if (parameters === undefined) return target.result(request.id, values, timings);
    const words = view.Int32Array;
    const [offset = 0, size = 0] = words.subarray(parameters, parameters + 2);
    const told = readParameters(words, view.Uint8Array, offset, size);
    return target.result(request.id, values, timings, told);
  }

  /** Resolves the waiter of a request with the outputs whose records are in `view` from `position` to `end`. */
  #deliver(
    group: Group,
    at: number,
    view: MemoryViews,
    page: OpenPage,
    position: number,
    end: number,
    timings: Timings,
    parameters: number | undefined,
  ): void {
    const { target } = group;
    const request = group.requestOf(at);
    if (target === undefined || request === undefined || group.waiters[at] === undefined) return;
    let result: unknown;
    try {
      result = this.#resultOf(target, request, view, page, position, end, timings, parameters);
    } catch (error) {
      this.#owner.settle(group, at)?.reject(withFrames(whyNot(error, target.name), group.stacks?.[at]));
      return;
    }
    this.#owner.settle(group, at)?.resolve(result);
  }
}
