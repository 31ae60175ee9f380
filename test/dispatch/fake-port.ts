/**
 * The engine's side of a port, in memory. It decodes submissions, and delivers pages as the test writes them.
 * It throws if JavaScript breaks a rule of the interface.
 */

import assert from 'node:assert/strict';
import {
  finalBit,
  headerClosed,
  headerEpoch,
  headerPages,
  limitedBit,
  markedBit,
  pageBytes,
  sequenceEnd,
  sequenceStart,
  slabBytes,
  outputInRegion,
  sourceBlock,
  sourceRegion,
  sourceSlab,
  submissionWords,
  unservedBit,
} from '../../src/addon/layout.js';
import { looksNoMore, type NativePort } from '../../src/addon/native/port.js';
import { type NativeStatus } from '../../src/addon/native/status.js';
import type { RegionRange, SequenceMark } from '../../src/dispatch/types.js';

/** A group as the engine gets it. */
export interface SentGroup {
  readonly uid: number;
  readonly slot: number;
  readonly generation: number;
  readonly count: number;
  readonly rows: number;
  readonly wanted: readonly number[];
  readonly attributes: readonly number[];
  readonly inputs: readonly SentInput[];
  readonly targets: readonly SentTarget[];
  /** The sequence of each request, if they have some. */
  readonly marks: readonly SequenceMark[];
}

/** An output that goes to a region. */
export interface SentTarget extends RegionRange {
  readonly output: number;
}

/** An input of a group: the shape of each request, and the floats of all requests, one after another. */
export interface SentInput {
  readonly index: number;
  readonly shape: readonly number[];
  readonly floats: readonly (readonly number[])[];
  readonly staged: boolean;
  /** Its offset in the slab. */
  readonly offset: number;
  /** The region that has its bytes. */
  readonly range?: RegionRange;
}

/** A response, or several alike ones to neighbours. */
export interface FakeResponse {
  readonly to: Pick<SentGroup, 'slot' | 'generation'>;
  readonly first?: number;
  readonly count?: number;
  /** Default true. */
  readonly final?: boolean;
  /** Values by output and request. Large outputs belong to one request. */
  readonly outputs?: readonly {
    readonly index: number;
    readonly floats: readonly (readonly number[])[];
    readonly large?: boolean;
    /** The byte size of an output that is in its region. */
    readonly stored?: number;
  }[];
  readonly code?: number;
  readonly message?: string;
  readonly limited?: boolean;
  readonly unserved?: boolean;
}

interface Page {
  readonly memory: ArrayBuffer;
  readonly words: number;
  readonly large: (Float32Array<ArrayBuffer> | undefined)[];
}

/** See the head of this file. */
export class FakePort implements NativePort {
  readonly headerWords: Int32Array<ArrayBuffer> = new Int32Array(1024);
  readonly submissionMemory: ArrayBuffer = new ArrayBuffer(submissionWords * 4);
  readonly slabs: ArrayBuffer[] = [];
  readonly blocks: Map<number, readonly number[]> = new Map();
  /** The submitted groups in order, and the number of calls. */
  readonly sent: SentGroup[] = [];
  submissions = 0;
  /** The outcome of a submission: nothing, a refusal, or the number of pages that exist at once. */
  onSubmit: (groups: readonly SentGroup[], run: boolean) => NativeStatus | number = () => 0;
  /** The slot, generation, first request and count of each entry, call by call. */
  readonly cancelled: (readonly number[])[][] = [];
  /** Called within each of these calls. */
  onCancel: () => void = () => undefined;
  /** The reads that JavaScript has reported. */
  readonly reads: (readonly number[])[] = [];
  hasMemory = true;
  keepsPages = true;
  readonly recycled: number[] = [];
  readonly pages: Map<number, Page> = new Map();
  /** Pages whose memory JavaScript has asked for. */
  readonly asked: number[] = [];
  held = 0;
  detached = false;
  acknowledged = 0;
  readonly #external: boolean;
  readonly #onPages: (count: number) => void;
  /** Memory of kept pages, by their ids. */
  readonly #memories: Map<number, ArrayBuffer> = new Map();
  /** Dropped slabs keep their numbers. */
  #mostSlabs = 0;
  #blockId = 0;

  constructor(onPages: (count: number) => void, external: boolean) {
    this.#onPages = onPages;
    this.#external = external;
  }

  /** Writes a page with the responses. {@link signal} announces it, or the result of a submission. */
  write(responses: readonly FakeResponse[]): number {
    let id = 0;
    while (this.pages.has(id)) id++;
    const memory = this.#memories.get(id) ?? new ArrayBuffer(pageBytes);
    this.#memories.set(id, memory);
    const words = new Int32Array(memory);
    const large: Page['large'] = [];
    let at = 0;
    let end = pageBytes;
    const put = (bytes: Uint8Array): number => {
      end = Math.floor((end - bytes.length) / 8) * 8;
      new Uint8Array(memory).set(bytes, end);
      return end;
    };
    for (const response of responses) {
      const { to, first = 0, count = 1, final = true, outputs = [], code = 0, message = '' } = response;
      let flags = code | (outputs.length << 16);
      if (final) flags |= finalBit;
      if (response.limited === true) flags |= limitedBit;
      if (response.unserved === true) flags |= unservedBit;
      for (const word of [to.slot, to.generation, flags, first, count]) words[at++] = word;
      if (code !== 0) {
        const bytes = new TextEncoder().encode(message);
        words[at++] = put(bytes);
        words[at++] = bytes.length;
      }
      for (const output of outputs) {
        const each = output.floats[0]?.length ?? 0;
        const floats = Float32Array.from(output.floats.flat());
        words[at++] = output.index;
        if (output.stored !== undefined) {
          words[at++] = outputInRegion + Math.floor(output.stored / 2 ** 32);
          words[at++] = output.stored | 0;
          words[at++] = 1;
          words[at++] = 3;
          continue;
        }
        if (output.large === true) words[at++] = ~(large.push(floats) - 1);
        else words[at++] = put(new Uint8Array(floats.buffer));
        words[at++] = each * 4;
        words[at++] = 2;
        words[at++] = 1;
        words[at++] = each;
      }
    }
    assert.ok(at * 4 <= end);
    this.pages.set(id, { memory, words: at, large });
    this.headerWords[headerPages] = id;
    this.headerWords[headerPages + 1] = at;
    return 1;
  }

  /** Announces pages that the header lists. */
  signal(count = 1): void {
    this.#onPages(count);
  }

  /** Writes responses and announces them. */
  answer(...responses: readonly FakeResponse[]): void {
    this.signal(this.write(responses));
  }

  set epoch(value: number) {
    this.headerWords[headerEpoch] = value;
  }

  set closed(value: boolean) {
    this.headerWords[headerClosed] = value ? 1 : 0;
  }

  external(): boolean {
    return this.#external;
  }
  header(): ArrayBuffer {
    return this.headerWords.buffer;
  }
  submission(): ArrayBuffer {
    return this.submissionMemory;
  }
  addSlab(): boolean {
    if (this.hasMemory) this.slabs.push(new ArrayBuffer(slabBytes));
    this.#mostSlabs = Math.max(this.#mostSlabs, this.slabs.length);
    return this.hasMemory;
  }
  slab(number: number): ArrayBuffer {
    return this.slabs[number] ?? assert.fail('no such slab');
  }
  dropSlab(number: number): void {
    assert.equal(number, this.slabs.length - 1);
    this.slabs.pop();
  }
  stage(bytes: ArrayBufferView): number {
    if (!this.hasMemory) return -1;
    const { buffer, byteOffset, byteLength } = bytes;
    this.blocks.set(this.#blockId, [...new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength))]);
    return this.#blockId++;
  }
  unstage(id: number): void {
    assert.ok(this.blocks.delete(id), 'a block is given back that is not staged');
  }
  submit(words: number, run: boolean): NativeStatus | number {
    return this.#take(new Int32Array(this.submissionMemory, 0, words), this.slabs, run);
  }
  submitCopies(
    words: number,
    run: boolean,
    submission: Int32Array,
    slabs: readonly Uint8Array[],
  ): NativeStatus | number {
    assert.ok(slabs.length >= this.#mostSlabs, 'a slab is missing');
    const buffers = slabs.map(({ buffer }) => buffer as ArrayBuffer);
    return this.#take(submission.subarray(0, words), buffers, run);
  }
  look(): number {
    return looksNoMore;
  }
  cancel(): void {
    assert.fail('one call for many');
  }
  cancelMany(words: number, submission?: Int32Array): void {
    assert.ok(!this.detached);
    const from = submission ?? new Int32Array(this.submissionMemory);
    const list: number[][] = [];
    for (let at = 0; at < words; at += 4) list.push([...from.subarray(at, at + 4)]);
    this.cancelled.push(list);
    this.onCancel();
  }
  shrink(): void {
    this.#memories.clear();
    this.asked.length = 0;
  }
  page(id: number): ArrayBuffer {
    this.asked.push(id);
    return this.#page(id).memory;
  }
  copyPage(id: number, target: Uint8Array): void {
    target.set(new Uint8Array(this.#page(id).memory));
  }
  takeLarge(): undefined {
    // Simulates a runtime that forbids external buffers: everything is copied.
  }
  largeBytes(page: number, number: number): number {
    return this.#page(page).large[number]?.byteLength ?? 0;
  }
  copyLarge(page: number, number: number, target: Uint8Array): void {
    const floats = this.#page(page).large[number];
    assert.ok(floats, 'a large output is taken twice');
    target.set(new Uint8Array(floats.buffer));
    this.#page(page).large[number] = undefined;
  }
  read(slot: number, generation: number, position: number, responses: number, bytes: number): void {
    this.reads.push([slot, generation, position, responses, bytes]);
  }

  recycle(id: number): boolean {
    assert.ok(this.pages.delete(id), 'a page comes back twice');
    this.recycled.push(id);
    if (!this.keepsPages) this.#memories.delete(id);
    return this.keepsPages;
  }
  acknowledge(epoch: number): void {
    this.acknowledged = epoch;
  }
  headerWord(index: number): number {
    return this.headerWords[index] ?? 0;
  }
  ref(): void {
    this.held++;
  }
  unref(): void {
    this.held--;
  }
  detach(): void {
    this.detached = true;
  }

  #page(id: number): Page {
    return this.pages.get(id) ?? assert.fail('a page is read that was not given');
  }

  #take(words: Int32Array, slabs: readonly ArrayBuffer[], run: boolean): NativeStatus | number {
    assert.ok(!this.detached && words.length > 0);
    this.submissions++;
    const groups: SentGroup[] = [];
    let at = 0;
    const next = (): number => words[at++] ?? assert.fail('a record is cut');
    while (at < words.length) {
      const [uid, slot, generation, requests] = [next(), next(), next(), next()];
      const count = requests & ~markedBit;
      const [present, wanted, rows] = [next(), next(), next()];
      const targets = Array.from({ length: present >>> 16 }, () => {
        const [output, region, offset, byteSize] = [
          next(),
          next(),
          long(next(), next()),
          long(next(), next()),
        ];
        return { output, region, offset, byteSize };
      });
      const inputs = Array.from({ length: present & 0xffff }, () => this.#input(next, count, slabs));
      groups.push({
        uid,
        slot,
        generation,
        count,
        rows,
        inputs,
        targets,
        wanted: Array.from({ length: wanted & 0xffff }, next),
        attributes: Array.from({ length: wanted >>> 16 }, next),
        marks: Array.from({ length: requests === count ? 0 : count }, () => sentMark(next)),
      });
    }
    const outcome = this.onSubmit(groups, run);
    if (typeof outcome !== 'number') return outcome;
    this.sent.push(...groups);
    for (const { inputs } of groups) {
      for (const { staged, offset } of inputs) if (staged) this.unstage(offset);
    }
    return outcome;
  }

  #input(next: () => number, count: number, slabs: readonly ArrayBuffer[]): SentInput {
    const index = next();
    const source = next();
    const place = next();
    const second = next();
    const third = next();
    const rank = next();
    if (source === sourceRegion) {
      const range = { region: place, offset: long(second, next()), byteSize: long(third, next()) };
      const dims = Array.from({ length: rank }, next);
      return { index, shape: dims, floats: [], staged: false, offset: 0, range };
    }
    const shape = Array.from({ length: rank }, next);
    if (source === sourceBlock) {
      const floats = this.blocks.get(place) ?? assert.fail('a block is named that is not staged');
      assert.equal(second * 2 ** 32 + third, floats.length * 4);
      assert.equal(count, 1);
      return { index, shape, floats: [floats], staged: true, offset: place };
    }
    assert.equal(source, sourceSlab);
    assert.equal(second % 64, 0);
    const memory = slabs[place] ?? assert.fail('no such slab');
    const floats = Array.from({ length: count }, (_, i) => [
      ...new Float32Array(memory.slice(second + i * third, second + (i + 1) * third)),
    ]);
    return { index, shape, floats, staged: false, offset: second };
  }
}

function long(low: number, high: number): number {
  return (high >>> 0) * 2 ** 32 + (low >>> 0);
}

/** Reads the sequence of a request. */
function sentMark(next: () => number): SequenceMark {
  const head = next();
  const flags = { start: (head & sequenceStart) !== 0, end: (head & sequenceEnd) !== 0 };
  const size = head >>> 8;
  if (size === 0) {
    const [low, high] = [next(), next()];
    return { id: BigInt(low >>> 0) | (BigInt(high >>> 0) << 32n), ...flags };
  }
  const words = Int32Array.from({ length: Math.ceil(size / 4) }, next);
  return { id: Buffer.from(words.buffer, 0, size).toString(), ...flags };
}
