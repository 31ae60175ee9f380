/** Responses, which come in pages of the engine's memory: read, made into results, and delivered to whoever waits. */

import { performance } from 'node:perf_hooks';
import { MemoryViews } from '../tensor/memory.js';
import {
  finalBit,
  headerPages,
  limitedBit,
  pageBytes,
  ranBit,
  recordTimings,
  unservedBit,
} from '../addon/layout.js';
import type { NativePort } from '../addon/native.js';
import { nativeError } from '../addon/status.js';
import { TritonError, type TritonErrorCode } from '../errors.js';
import type { TypedArray } from '../tensor/types.js';
import { allocate, cancelled, limitError, unusable, withFrames } from './errors.js';
import type { Group } from './group.js';
import { isAborted } from './signals.js';
import type { DispatchRequest, DispatchTarget, TargetOutput, Timings, Waiter } from './types.js';

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

/** A page of finished requests and how far it is read. */
interface OpenPage {
  readonly id: number;
  readonly words: number;
  position: number;
  /** Of the responses of the record at `position`, so many are read. */
  taken: number;
  /** Whether its copy is there, where pages are not seen in place. */
  copied: boolean;
}

/** One output of a record. */
interface AlikeOutput {
  readonly output: TargetOutput;
  /** Its position among the model's. */
  readonly index: number;
  readonly shape: readonly number[];
  /** The first one's bytes. */
  readonly offset: number;
  /** Bytes of each. */
  readonly size: number;
}

/** Whose requests are answered. */
export interface Owner {
  /** A word that the engine shares with this environment. */
  headerWord(index: number): number;
  readonly groups: readonly (Group | undefined)[];
  /** Who waits for a request, and now does no more. */
  settle(group: Group, position: number): Waiter<unknown> | undefined;
  /** The same of so many neighbours, of which so many had a waiter; these are taken from the group already. */
  settled(group: Group, first: number, count: number, waited: number): void;
  /** The engine is through with so many requests of the group. */
  ended(group: Group, count: number): void;
  /**
   * The version was unloaded before it took the group: sends it to its successor, if it may have one.
   *
   * @returns Why that one does not take it; undefined where it does, or where there is to be none.
   */
  resend(group: Group): TritonError | undefined;
  /** Nobody takes the group: forgets its blocks, which the engine still has. */
  unstage(group: Group): void;
}

const utf8 = new TextDecoder();

/** See the head of this file. One a port. */
export class Completions {
  readonly #native: NativePort;
  readonly #external: boolean;
  readonly #owner: Owner;
  readonly #pages: (MemoryViews | undefined)[] = [];
  #open: OpenPage[] = [];
  #timings: Timings = noTimings;

  constructor(native: NativePort, external: boolean, owner: Owner) {
    this.#native = native;
    this.#external = external;
    this.#owner = owner;
  }

  /** Whether all pages are read. */
  get empty(): boolean {
    return this.#open.length === 0;
  }

  /** The engine has given back memory of pages; those that it has are to be asked for anew. */
  forgetPages(): void {
    this.#pages.length = 0;
  }

  /** Takes note of `count` pages, which the header names. */
  open(count: number): void {
    const owner = this.#owner;
    for (let word = headerPages; word < headerPages + count * 2; word += 2) {
      this.#open.push({
        id: owner.headerWord(word),
        words: owner.headerWord(word + 1),
        position: 0,
        taken: 0,
        copied: false,
      });
    }
  }

  /**
   * Hands out at most `most` answers, and none after `end` by the clock.
   *
   * @returns Whether there are more.
   */
  read(most: number, end: number): boolean {
    let budget = most;
    let first = 0;
    for (; first < this.#open.length; first++) {
      const page = this.#open[first];
      if (!page) break;
      const view = this.#page(page);
      while (page.position < page.words && budget > 0) {
        budget -= this.#read(view, page, Math.min(budget, portion));
        if (performance.now() > end) budget = 0;
      }
      if (page.position < page.words) break;
      if (!this.#native.recycle(page.id)) this.#pages[page.id] = undefined;
    }
    this.#open = first === this.#open.length ? [] : this.#open.slice(first);
    return this.#open.length > 0;
  }

  #page(page: OpenPage): MemoryViews {
    let view = this.#pages[page.id];
    if (!view) {
      view = new MemoryViews(this.#external ? this.#native.page(page.id) : new ArrayBuffer(pageBytes));
      this.#pages[page.id] = view;
    }
    if (!this.#external && !page.copied) {
      this.#native.copyPage(page.id, view.Uint8Array);
      page.copied = true;
    }
    return view;
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
    outputs: readonly AlikeOutput[],
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
    const group = this.#owner.groups[words[position++] ?? 0];
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
        this.#owner.unstage(group);
        if (why !== undefined) {
          this.#fail(group, first, first + all, why.code, why.message, false);
          this.#owner.ended(group, all);
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
    if ((flags & finalBit) !== 0) this.#owner.ended(group, count);
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
      const id = group.requestOf(at)?.id ?? '';
      const message = id === '' ? text : `[request id: ${id}] ${text}`;
      const about = { model: target.name };
      const error = limited
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
      const values = this.#outputs(view, page, position, end, target, request);
      result = target.result(request.id, values, timings);
    } catch (error) {
      this.#owner.settle(group, at)?.reject(withFrames(whyNot(error, target.name), group.stacks?.[at]));
      return;
    }
    this.#owner.settle(group, at)?.resolve(result);
  }

  /** The outputs whose records are in `view` from `position` to `end`. */
  #outputs(
    view: MemoryViews,
    page: OpenPage,
    position: number,
    end: number,
    target: DispatchTarget,
    { ownOutputs, into }: DispatchRequest,
  ): Record<string, unknown> {
    const values = target.emptyOutputs();
    for (const { output, index, shape, offset, size } of readOutputs(
      view.Int32Array,
      position,
      end,
      target,
    )) {
      const given = into?.[index];
      if (given === undefined) {
        values[output.name] =
          offset >= 0
            ? output.cut(shape, view, offset, size)
            : output.make(shape, this.#large(page.id, ~offset, ownOutputs));
      } else if (offset >= 0) {
        values[output.name] = cutInto(output, shape, view, offset, size, given);
      } else {
        const { tensor, memory } = output.into(shape, this.#native.largeBytes(page.id, ~offset), given);
        this.#native.copyLarge(page.id, ~offset, memory);
        values[output.name] = tensor;
      }
    }
    return values;
  }

  #large(page: number, number: number, own: boolean): ArrayBuffer {
    const shared = own ? undefined : this.#native.takeLarge(page, number);
    if (shared) return shared;
    const copy = allocate(this.#native.largeBytes(page, number));
    this.#native.copyLarge(page, number, new Uint8Array(copy));
    return copy;
  }
}

/** Why a response is not given to its caller: it does not want it any more, or cannot have it. */
function whyNot(error: unknown, model: string): TritonError {
  return error instanceof TritonError && error.code === 'CANCELLED' ? error : unusable(error, model);
}

/** An output of `size` bytes at `offset` of a page, copied to the caller's array. */
function cutInto(
  output: TargetOutput,
  shape: readonly number[],
  view: MemoryViews,
  offset: number,
  size: number,
  given: TypedArray,
): unknown {
  const { tensor, memory } = output.into(shape, size, given);
  memory.set(view.Uint8Array.subarray(offset, offset + size));
  return tensor;
}

/** Whether one of the outputs whose records are from `position` to `end` is too big for its page. */
function hasLarge(words: Int32Array, position: number, end: number): boolean {
  for (let at = position; at < end; at += 4 + (words[at + 3] ?? 0)) if ((words[at + 1] ?? 0) < 0) return true;
  return false;
}

/** The outputs whose records are from `position` to `end`. */
function readOutputs(
  words: Int32Array,
  position: number,
  end: number,
  target: DispatchTarget,
): AlikeOutput[] {
  const outputs: AlikeOutput[] = [];
  for (let at = position; at < end;) {
    const index = (words[at] ?? 0) & 0xffff;
    const output = target.output(index);
    const rank = words[at + 3] ?? 0;
    const shape = output.shape(words, at + 4, rank);
    outputs.push({ output, index, shape, offset: words[at + 1] ?? 0, size: words[at + 2] ?? 0 });
    at += 4 + rank;
  }
  // In the order of the model's, whatever order its backend gave them in.
  if (outputs.length > 1) outputs.sort((one, other) => one.index - other.index);
  return outputs;
}

/** Where the records of so many outputs end, which begin at `position`. */
function skipOutputs(words: Int32Array, position: number, count: number): number {
  let end = position;
  for (let i = 0; i < count; i++) end += 4 + (words[end + 3] ?? 0);
  return end;
}
