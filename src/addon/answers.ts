/** Finished requests, which come in pages of the engine's memory: read, made into results, and handed to whoever waits. */

import { performance } from 'node:perf_hooks';
import { MemoryViews } from '../tensor/memory.js';
import {
  finalBit,
  headerPages,
  limitedBit,
  pageBytes,
  ranBit,
  recordAlike,
  recordTimings,
} from './layout.js';
import type { NativePort } from './native.js';
import { allocate, limitError, unusable, withFrames } from './port-errors.js';
import type { PortTarget, TargetOutput, Timings, Waiter } from './port-types.js';
import type { Slot } from './slot.js';
import { nativeError } from './status.js';

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
  /** Of the answers that are alike at `position`, so many are read; the next one is in the piece at `piece`. */
  taken: number;
  piece: number;
  /** Whether its copy is there, where pages are not seen in place. */
  copied: boolean;
}

/** One output of answers that are alike. */
interface AlikeOutput {
  readonly output: TargetOutput;
  readonly shape: readonly number[];
  /** The first one's bytes. */
  readonly offset: number;
  /** Bytes of each. */
  readonly size: number;
}

/** Whose requests are answered. */
export interface Answered {
  /** A word that the engine shares with this environment. */
  headerWord(index: number): number;
  readonly slots: readonly (Slot | undefined)[];
  /** Who waits for a part of a slot, and now does no more. */
  settle(slot: Slot, part: number): Waiter<unknown> | undefined;
  /** The same of so many parts of a slot, which were alike and are taken from it already. */
  settled(slot: Slot, count: number): void;
  /** The engine is through with so many parts of the slot. */
  ended(slot: Slot, parts: number): void;
}

const utf8 = new TextDecoder();

/** See the head of this file. One a port. */
export class Answers {
  readonly #native: NativePort;
  readonly #external: boolean;
  readonly #port: Answered;
  readonly #pages: (MemoryViews | undefined)[] = [];
  #open: OpenPage[] = [];
  #timings: Timings = noTimings;

  constructor(native: NativePort, external: boolean, port: Answered) {
    this.#native = native;
    this.#external = external;
    this.#port = port;
  }

  /** Takes note of `count` pages, which the header names. */
  open(count: number): void {
    const port = this.#port;
    for (let word = headerPages; word < headerPages + count * 2; word += 2) {
      this.#open.push({
        id: port.headerWord(word),
        words: port.headerWord(word + 1),
        position: 0,
        taken: 0,
        piece: 0,
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
      if (first === recordAlike) {
        count += this.#readAlike(view, page, most - count);
      } else if (first === recordTimings) {
        this.#readTimings(view, page);
      } else {
        count += this.#readOne(view, page, most - count);
      }
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

  /** Answers of one batch that differ in their bytes alone, up to `most` of them; returns how many. */
  #readAlike(view: MemoryViews, page: OpenPage, most: number): number {
    const words = view.Int32Array;
    const total = words[page.position + 1] ?? 0;
    const position = page.position + 3;
    const outputsEnd = skipOutputs(words, position, words[page.position + 2] ?? 0);
    if (page.taken === 0) page.piece = outputsEnd;
    const begin = page.taken;
    const end = Math.min(total, begin + most);
    let outputs: readonly AlikeOutput[] | undefined;
    while (page.taken < end) {
      // Slots of pieces before the present one may be others' already.
      const slot = this.#port.slots[words[page.piece] ?? 0];
      const first = words[page.piece + 1] ?? 0;
      const parts = words[page.piece + 2] ?? 0;
      const count = Math.min(parts, end - page.taken);
      if (slot?.target) {
        outputs ??= alikeOutputs(words, position, outputsEnd, slot.target);
        this.#giveAlike(view, outputs, page.taken, slot, first, first + count);
      }
      page.taken += count;
      if (count === parts) {
        page.piece += 3;
      } else {
        words[page.piece + 1] = first + count;
        words[page.piece + 2] = parts - count;
      }
    }
    if (end === total) {
      page.position = page.piece;
      page.taken = 0;
    }
    return end - begin;
  }

  /** Parts `begin` to `end` of a slot; the first one's is answer number `number` of those alike. */
  #giveAlike(
    view: MemoryViews,
    outputs: readonly AlikeOutput[],
    number: number,
    slot: Slot,
    begin: number,
    end: number,
  ): void {
    const { target, request, requests, waiters, stack } = slot;
    if (target === undefined || request === undefined) return;
    const timings = this.#timings;
    let settled = 0;
    for (let part = begin; part < end; part++, number++) {
      const waiter = waiters[part];
      if (waiter === undefined) continue;
      waiters[part] = undefined;
      settled++;
      let result: unknown;
      try {
        const values = target.emptyOutputs();
        for (let i = 0; i < outputs.length; i++) {
          const one = outputs[i];
          if (one === undefined) continue;
          const { output, shape, offset, size } = one;
          values[output.name] = output.cut(shape, view, offset + number * size, size);
        }
        const { id } = requests?.[part] ?? request;
        result = target.result(id, values, timings);
      } catch (error) {
        waiter.reject(withFrames(unusable(error, target.name), stack));
        continue;
      }
      waiter.resolve(result);
    }
    this.#port.settled(slot, settled);
    this.#port.ended(slot, end - begin);
  }

  /** One answer, with everything that may be said of one, or one error for up to `most` parts; returns for how many. */
  #readOne(view: MemoryViews, page: OpenPage, most: number): number {
    const words = view.Int32Array;
    let position = page.position;
    const slot = this.#port.slots[words[position++] ?? 0];
    const generation = words[position++];
    const flags = words[position++] ?? 0;
    const first = words[position++] ?? 0;
    const all = words[position++] ?? 0;
    const parts = Math.min(all, most);
    const code = flags & 0xff;
    let end = position + 2;
    if (code === 0) end = skipOutputs(words, position, flags >>> 16);
    if (parts === all) {
      page.position = end;
    } else {
      words[position - 2] = first + parts;
      words[position - 1] = all - parts;
    }
    if (slot?.generation !== generation || slot?.target === undefined) return parts;
    if (code !== 0) {
      const offset = words[position] ?? 0;
      const text = utf8.decode(view.Uint8Array.subarray(offset, offset + (words[position + 1] ?? 0)));
      this.#fail(slot, first, first + parts, code, text, (flags & limitedBit) !== 0);
    } else {
      this.#give(slot, first, view, page, position, end, (flags & ranBit) !== 0 ? this.#timings : noTimings);
    }
    if ((flags & finalBit) !== 0) this.#port.ended(slot, parts);
    return parts;
  }

  /** Rejects what waits for the parts `begin` to `end` of a slot. */
  #fail(slot: Slot, begin: number, end: number, code: number, text: string, limited: boolean): void {
    const { target, stack } = slot;
    if (target === undefined) return;
    for (let part = begin; part < end; part++) {
      const id = slot.requestOf(part)?.id ?? '';
      const waiter = this.#port.settle(slot, part);
      if (waiter === undefined) continue;
      const message = id === '' ? text : `[request id: ${id}] ${text}`;
      const error = limited
        ? limitError(message, target.name)
        : nativeError(code, message, { model: target.name });
      waiter.reject(withFrames(error, stack));
    }
  }

  /** Resolves what waits for a part of a slot, with the outputs whose records are in `view` from `position` to `end`. */
  #give(
    slot: Slot,
    part: number,
    view: MemoryViews,
    page: OpenPage,
    position: number,
    end: number,
    timings: Timings,
  ): void {
    const { target, stack } = slot;
    const request = slot.requestOf(part);
    if (target === undefined || request === undefined || slot.waiters[part] === undefined) return;
    let result: unknown;
    try {
      const values = this.#outputs(view, page, position, end, target, request.ownOutputs);
      result = target.result(request.id, values, timings);
    } catch (error) {
      this.#port.settle(slot, part)?.reject(withFrames(unusable(error, target.name), stack));
      return;
    }
    this.#port.settle(slot, part)?.resolve(result);
  }

  /** The outputs whose records are in `view` from `position` to `end`. */
  #outputs(
    view: MemoryViews,
    page: OpenPage,
    position: number,
    end: number,
    target: PortTarget,
    own: boolean,
  ): Record<string, unknown> {
    const words = view.Int32Array;
    const values = target.emptyOutputs();
    while (position < end) {
      const output = target.output((words[position++] ?? 0) & 0xffff);
      const offset = words[position++] ?? 0;
      const size = words[position++] ?? 0;
      const rank = words[position++] ?? 0;
      const shape = output.shape(words, position, rank);
      position += rank;
      values[output.name] =
        offset >= 0
          ? output.cut(shape, view, offset, size)
          : output.make(shape, this.#large(page.id, ~offset, own));
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

/** The outputs of answers that are alike, whose records are from `position` to `end`. */
function alikeOutputs(words: Int32Array, position: number, end: number, target: PortTarget): AlikeOutput[] {
  const outputs: AlikeOutput[] = [];
  for (let at = position; at < end;) {
    const output = target.output((words[at] ?? 0) & 0xffff);
    const rank = words[at + 3] ?? 0;
    const shape = output.shape(words, at + 4, rank);
    outputs.push({ output, shape, offset: words[at + 1] ?? 0, size: words[at + 2] ?? 0 });
    at += 4 + rank;
  }
  return outputs;
}

/** Where the records of so many outputs end, which begin at `position`. */
function skipOutputs(words: Int32Array, position: number, count: number): number {
  let end = position;
  for (let i = 0; i < count; i++) end += 4 + (words[end + 3] ?? 0);
  return end;
}
