/**
 * The groups of a tick, written for the engine: their bytes in slabs (or in blocks, where they are many), and a record
 * for each.
 */

import {
  slabBytes,
  slabMostBytes,
  slabRangeBytes,
  slabUnit,
  sourceBlock,
  sourceSlab,
  submissionWords,
} from '../addon/layout.js';
import type { NativePort, NativeStatus } from '../addon/native.js';
import { TritonError } from '../errors.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import { MemoryViews } from '../tensor/memory.js';
import { viewOf } from '../tensor/views.js';
import { allocate, noMemory } from './errors.js';
import type { Group } from './group.js';
import { SlabAllocator } from './slabs.js';
import type { DispatchTarget } from './types.js';

const slabUnits = slabBytes / slabUnit;
/** Slabs that are kept when nothing is in flight. */
const keptSlabs = 4;
const noSlab = new Uint8Array();
/** Words of a record before its inputs, and of an input before its dims. */
const groupWords = 7;
const inputWords = 6;

/** See the head of this file. One a dispatcher. */
export class Submission {
  readonly #native: NativePort;
  readonly #external: boolean;
  /** Submits what is written, when there is no room for more; runs none of the callers' code. */
  readonly #full: () => void;
  /** Frees the ranges of groups that are not in use. */
  readonly #reclaim: () => void;
  readonly #words: Int32Array;
  readonly #slabs: MemoryViews[] = [];
  /** So many there were at once. */
  #mostSlabs = 0;
  readonly #ranges: SlabAllocator;
  /** Words that are written. */
  #position = 0;

  /** @param limit - Bytes of slabs, at most. */
  constructor(
    native: NativePort,
    external: boolean,
    limit: number,
    { full, reclaim }: { readonly full: () => void; readonly reclaim: () => void },
  ) {
    this.#reclaim = reclaim;
    this.#native = native;
    this.#external = external;
    this.#full = full;
    this.#words = external ? new Int32Array(native.submission()) : new Int32Array(submissionWords);
    this.#ranges = new SlabAllocator(() => {
      this.#addSlab();
    }, limit);
  }

  get empty(): boolean {
    return this.#position === 0;
  }

  /** The words that both sides see, for other things while {@link empty}. */
  get words(): Int32Array {
    return this.#words;
  }

  /** {@link words}, where the engine does not see them. */
  get ownWords(): Int32Array | undefined {
    return this.#external ? undefined : this.#words;
  }

  /** The engine did not take a group: forgets its blocks. */
  unstage(group: Group): void {
    if (group.rangeBytes > 0) return;
    for (const block of group.blocks) if (block >= 0) this.#native.unstage(block);
    group.blocks.length = 0;
  }

  /** Gives the engine what is written; see `NativePort.submit` for what comes back. */
  submit(run: boolean): NativeStatus | number {
    const words = this.#position;
    this.#position = 0;
    if (this.#external) return this.#native.submit(words, run);
    const slabs = this.#slabs.map(({ Uint8Array }) => Uint8Array);
    // Of those that were dropped the numbers stay.
    while (slabs.length < this.#mostSlabs) slabs.push(noSlab);
    return this.#native.submitCopies(words, run, this.#words, slabs);
  }

  /** Gives back the memory of a group. */
  free(group: Group): void {
    if (group.rangeBytes > 0) this.#ranges.free(group.range, group.rangeBytes);
    group.rangeBytes = 0;
    group.placed = undefined;
  }

  /** No group has a range: gives back slabs that a burst has left behind. */
  trim(): void {
    for (let slab = this.#slabs.length; slab > keptSlabs; slab--) {
      this.#native.dropSlab(slab - 1);
      this.#slabs.length = slab - 1;
    }
    this.#ranges.clear(this.#slabs.length * slabBytes);
  }

  /** Whether there is more memory than {@link trim} leaves. */
  get isLarge(): boolean {
    return this.#slabs.length > keptSlabs;
  }

  /**
   * Gives a group room for its inputs: in a slab for as many requests as its version's groups have had use for; in
   * blocks, and for this request alone, where they are large.
   *
   * @throws {TritonError} UNAVAILABLE without memory, INVALID_ARG where it is too big for a record; then nothing is kept.
   */
  place(group: Group, target: DispatchTarget, encoded: EncodedInputs): void {
    // Before anything can fail: what it has is of other lengths.
    this.free(group);
    const { shapes, byteLengths } = group;
    let words = groupWords + (group.request?.wanted?.length ?? 0);
    let present = 0;
    for (const shape of shapes) {
      if (shape === undefined) continue;
      words += inputWords + shape.length;
      present++;
    }
    if (words > submissionWords) {
      const message = `model '${target.name}': a request of so many inputs and dims is too big`;
      throw new TritonError('INVALID_ARG', message, { model: target.name });
    }
    group.views.length = shapes.length;
    group.room = 1;
    if (present === 0 || bytesOf(byteLengths, 1) > slabRangeBytes || !this.#placeInSlab(group, target)) {
      this.#stage(group, target, encoded);
    }
  }

  /** For how many requests a group gets room. */
  roomOf(byteLengths: readonly number[], target: DispatchTarget): number {
    let room = target.groupRoom;
    while (room > 1 && bytesOf(byteLengths, room) > slabMostBytes) room >>= 1;
    return room;
  }

  #placeInSlab(group: Group, target: DispatchTarget): boolean {
    const { byteLengths, shapes, views, lengths } = group;
    let room = this.roomOf(byteLengths, target);
    let bytes = Math.max(1, bytesOf(byteLengths, room));
    let range = this.#ranges.take(bytes);
    if (range < 0) {
      this.#reclaim();
      range = this.#ranges.take(bytes);
    }
    if (range < 0 && room > 1) {
      room = 1;
      bytes = Math.max(1, bytesOf(byteLengths, 1));
      range = this.#ranges.take(bytes);
    }
    // Where the slabs are used up, or all cut up for requests of other sizes, it goes to blocks like a large one: how much
    // may be in flight is for the engine to say.
    if (range < 0) return false;
    group.placed = target;
    group.room = room;
    group.range = range;
    group.rangeBytes = bytes;
    group.slab = (range / slabUnits) | 0;
    group.offset = (range % slabUnits) * slabUnit;
    const memory = this.#slabs[group.slab];
    let offset = group.offset;
    for (let i = 0; i < shapes.length; i++) {
      const kind = target.wires[i];
      const length = byteLengths[i] ?? 0;
      if (shapes[i] === undefined || memory === undefined || kind === undefined) {
        views[i] = undefined;
        continue;
      }
      // Of just that place: what another thread makes longer while it is copied does not reach others' bytes.
      const view = viewOf(kind, memory.buffer, offset, length * room);
      views[i] = view;
      lengths[i] = view.length / room;
      offset += aligned(length * room);
    }
    return true;
  }

  /** @throws {TritonError} UNAVAILABLE without memory. */
  #stage(group: Group, target: DispatchTarget, { data }: EncodedInputs): void {
    const { blocks, views } = group;
    blocks.length = 0;
    for (let i = 0; i < data.length; i++) {
      views[i] = undefined;
      const bytes = data[i];
      blocks.push(bytes === undefined ? -1 : this.#native.stage(bytes));
      if (bytes === undefined || blocks[i] !== -1) continue;
      for (const block of blocks) if (block >= 0) this.#native.unstage(block);
      const message = `model '${target.name}': no memory for an input of ${group.byteLengths[i] ?? 0} bytes`;
      throw new TritonError('UNAVAILABLE', message, { model: target.name });
    }
  }

  /** Writes the record of a group that has its place. */
  write(group: Group, target: DispatchTarget): void {
    const { shapes, byteLengths, count, rangeBytes } = group;
    const wanted = group.request?.wanted;
    let room = groupWords + (wanted?.length ?? 0);
    let present = 0;
    for (let i = 0; i < shapes.length; i++) {
      const shape = shapes[i];
      if (shape === undefined) continue;
      room += inputWords + shape.length;
      present++;
    }
    if (this.#position + room > submissionWords) this.#full();
    const words = this.#words;
    let position = this.#position;
    words[position++] = target.uid;
    words[position++] = group.index;
    words[position++] = group.generation;
    words[position++] = count;
    words[position++] = present;
    words[position++] = wanted?.length ?? 0;
    words[position++] = group.rows;
    let { offset } = group;
    for (let i = 0; i < shapes.length; i++) {
      const shape = shapes[i];
      if (shape === undefined) continue;
      const length = byteLengths[i] ?? 0;
      words[position++] = i;
      if (rangeBytes > 0) {
        words[position++] = sourceSlab;
        words[position++] = group.slab;
        words[position++] = offset;
        words[position++] = length;
        offset += aligned(length * group.room);
      } else {
        words[position++] = sourceBlock;
        words[position++] = group.blocks[i] ?? -1;
        words[position++] = Math.floor(length / 0x1_0000_0000);
        words[position++] = length | 0;
      }
      words[position++] = shape.length;
      for (let dim = 0; dim < shape.length; dim++) words[position++] = shape[dim] ?? 0;
    }
    if (wanted) for (const index of wanted) words[position++] = index;
    this.#position = position;
  }

  /** @throws {TritonError} UNAVAILABLE without memory. */
  #addSlab(): void {
    const copy = this.#external ? undefined : allocate(slabBytes);
    if (!this.#native.addSlab()) throw noMemory(slabBytes);
    this.#slabs.push(new MemoryViews(copy ?? this.#native.slab(this.#slabs.length)));
    this.#mostSlabs = Math.max(this.#mostSlabs, this.#slabs.length);
  }
}

/** Each input begins at a multiple of 64. */
function aligned(bytes: number): number {
  return (bytes + 63) & ~63;
}

/** Bytes of a range for so many requests. */
function bytesOf(byteLengths: readonly number[], room: number): number {
  let bytes = 0;
  for (let i = 0; i < byteLengths.length; i++) {
    const length = (byteLengths[i] ?? 0) * room;
    if (length > slabMostBytes) return Infinity;
    // The last one ends where it ends.
    bytes = aligned(bytes) + length;
  }
  return bytes;
}
