/**
 * The requests of a tick, written for the engine: their bytes in slabs (or in blocks, where they are many), and one
 * record each, or one for all that differ in their bytes alone.
 */

import { TritonError } from '../errors.js';
import { MemoryViews } from '../tensor/memory.js';
import type { OnlyInput } from '../tensor/only-input.js';
import type { TypedArray } from '../tensor/types.js';
import { copyInto, type WireArray } from '../tensor/views.js';
import {
  recordMore,
  slabBytes,
  slabRangeBytes,
  slabUnit,
  sourceBlock,
  sourceSlab,
  submissionWords,
} from './layout.js';
import type { NativePort, NativeStatus } from './native.js';
import { allocate, noMemory } from './port-errors.js';
import type { PortInput, PortTarget } from './port-types.js';
import { SlabAllocator } from './slab.js';
import type { Slot } from './slot.js';

const slabUnits = slabBytes / slabUnit;

/** Words of a record of one request with one input, without its dims; and of one more like it. */
const onlyWords = 6 + 5;
const moreWords = 2 + 4;

/** See the head of this file. One a port. */
export class Submission {
  readonly #native: NativePort;
  readonly #external: boolean;
  /** Hands over what is written, when there is no room for more. */
  readonly #flush: () => void;
  readonly #words: Int32Array;
  readonly #slabs: MemoryViews[] = [];
  readonly #ranges: SlabAllocator;
  /** Words that are written. */
  #position = 0;
  /** What the last request was, where more can be like it: one small input, and nothing else. */
  #likeTarget: PortTarget | undefined;
  #likeRows = 0;
  /** Where its record of more says how many; 0: there is none yet. */
  #more = 0;

  /** @param limit - Bytes of slabs, at most. */
  constructor(native: NativePort, external: boolean, limit: number, flush: () => void) {
    this.#native = native;
    this.#external = external;
    this.#flush = flush;
    this.#words = external ? new Int32Array(native.submission()) : new Int32Array(submissionWords);
    this.#ranges = new SlabAllocator(() => {
      this.#addSlab();
    }, limit);
  }

  get empty(): boolean {
    return this.#position === 0;
  }

  /** Gives the engine what is written; see `NativePort.submit` for what comes back. */
  submit(run: boolean): NativeStatus | number {
    const words = this.#position;
    this.#position = 0;
    this.#likeTarget = undefined;
    if (this.#external) return this.#native.submit(words, run);
    const slabs = this.#slabs.map(({ Uint8Array }) => Uint8Array);
    return this.#native.submitCopies(words, run, this.#words, slabs);
  }

  /** Gives back the memory of a request that has ended; its slot keeps what another one like it would need again. */
  free(slot: Slot): void {
    if (slot.fits === undefined) this.#freeRange(slot);
  }

  #freeRange(slot: Slot): void {
    if (slot.rangeBytes > 0) this.#ranges.free(slot.range, slot.rangeBytes);
    slot.rangeBytes = 0;
    slot.fits = slot.room = undefined;
  }

  /** Gives the slot room for so many rows; undefined where slabs have none. */
  #fit(slot: Slot, input: OnlyInput, rows: number): WireArray | undefined {
    this.#freeRange(slot);
    const bytes = input.bytesOf(rows);
    const range = this.#ranges.take(bytes);
    if (range < 0) return undefined;
    slot.range = range;
    slot.rangeBytes = bytes;
    slot.slab = (range / slabUnits) | 0;
    slot.offset = (range % slabUnits) * slabUnit;
    const memory = this.#slabs[slot.slab];
    slot.room = memory && input.viewOn(memory.buffer, slot.offset, rows);
    slot.fits = input;
    slot.fitsRows = rows;
    return slot.room;
  }

  /**
   * Writes a request that is one small input.
   *
   * @param value - What `input.rowsOf` returned `rows` for, none of the caller's code having run since; at most
   *   slabRangeBytes long.
   * @returns False where slabs have no room for it, or it has grown since; then nothing is kept.
   * @throws {TritonError} UNAVAILABLE without memory.
   */
  writeOnly(slot: Slot, target: PortTarget, input: OnlyInput, value: TypedArray, rows: number): boolean {
    const room = slot.fits === input && slot.fitsRows === rows ? slot.room : this.#fit(slot, input, rows);
    if (room === undefined) return false;
    try {
      copyInto(room, value, 0);
    } catch {
      return false;
    }
    slot.generation = (slot.generation + 1) & 0x3fffffff;
    const shape = input.shapeOf(rows);
    if (this.#position + onlyWords + moreWords + shape.length > submissionWords) this.#flush();
    const words = this.#words;
    let position = this.#position;
    if (this.#likeTarget === target && this.#likeRows === rows) {
      if (this.#more === 0) {
        words[position++] = recordMore;
        this.#more = position;
        words[position++] = 0;
      }
      words[this.#more] = (words[this.#more] ?? 0) + 1;
      words[position++] = slot.index;
      words[position++] = slot.generation;
      words[position++] = slot.slab;
      words[position++] = slot.offset;
    } else {
      words[position++] = target.uid;
      words[position++] = slot.index;
      words[position++] = slot.generation;
      words[position++] = 1;
      words[position++] = 0;
      words[position++] = rows;
      words[position++] = sourceSlab << 16;
      words[position++] = slot.slab;
      words[position++] = slot.offset;
      words[position++] = slot.rangeBytes;
      words[position++] = shape.length;
      for (let i = 0; i < shape.length; i++) words[position++] = shape[i] ?? 0;
      this.#likeTarget = target;
      this.#likeRows = rows;
      this.#more = 0;
    }
    this.#position = position;
    return true;
  }

  /**
   * Writes a request; an error where there is no memory, and then nothing is kept.
   *
   * @throws {TritonError} UNAVAILABLE without memory.
   */
  write(
    slot: Slot,
    target: PortTarget,
    inputs: readonly (PortInput | undefined)[],
    rows: number,
    wanted: readonly number[] | undefined,
  ): TritonError | undefined {
    let bytes = 0;
    let room = 6 + (wanted?.length ?? 0);
    let present = 0;
    for (const input of inputs) {
      if (!input) continue;
      // Each input begins at a multiple of 64.
      bytes = ((bytes + 63) & ~63) + input.byteLength;
      room += 5 + input.shape.length;
      present++;
    }
    if (room > submissionWords) {
      const message = `model '${target.name}': a request of so many inputs and dims is too big`;
      return new TritonError('INVALID_ARG', message, { model: target.name });
    }
    if (this.#position + room > submissionWords) this.#flush();
    this.#likeTarget = undefined;
    this.#freeRange(slot);
    // Empty inputs have a place too. Where the slabs are used up, or all cut up for requests of other sizes, a small
    // request goes to blocks like a large one: how much may be in flight is for the engine to say.
    const reserved = bytes <= slabRangeBytes && present > 0 ? Math.max(bytes, 1) : 0;
    slot.range = reserved > 0 ? this.#ranges.take(reserved) : -1;
    const small = slot.range >= 0;
    slot.rangeBytes = small ? reserved : 0;
    slot.generation = (slot.generation + 1) & 0x3fffffff;
    const words = this.#words;
    let position = this.#position;
    words[position++] = target.uid;
    words[position++] = slot.index;
    words[position++] = slot.generation;
    words[position++] = present;
    words[position++] = wanted?.length ?? 0;
    words[position++] = rows;
    const slab = small ? (slot.range / slabUnits) | 0 : 0;
    let offset = (slot.range % slabUnits) * slabUnit;
    for (let index = 0; index < inputs.length; index++) {
      const input = inputs[index];
      if (!input) continue;
      if (small) {
        offset = (offset + 63) & ~63;
        words[position++] = index | (sourceSlab << 16);
        words[position++] = slab;
        words[position++] = offset;
        words[position++] = input.byteLength;
        if (input.byteLength > 0) this.#slabs[slab]?.write(input.data, offset);
        offset += input.byteLength;
      } else {
        const block = this.#native.stage(input.data);
        if (block < 0) {
          this.#unstage(this.#position, position);
          const message = `model '${target.name}': no memory for an input of ${input.byteLength} bytes`;
          return new TritonError('UNAVAILABLE', message, { model: target.name });
        }
        words[position++] = index | (sourceBlock << 16);
        words[position++] = block;
        words[position++] = Math.floor(input.byteLength / 0x1_0000_0000);
        words[position++] = input.byteLength | 0;
      }
      const { shape } = input;
      words[position++] = shape.length;
      for (let i = 0; i < shape.length; i++) words[position++] = shape[i] ?? 0;
    }
    if (wanted) for (const index of wanted) words[position++] = index;
    this.#position = position;
    return undefined;
  }

  /** Gives back the blocks of a record that is not complete. */
  #unstage(begin: number, end: number): void {
    let position = begin + 6;
    while (position < end) {
      this.#native.unstage(this.#words[position + 1] ?? 0);
      position += 5 + (this.#words[position + 4] ?? 0);
    }
  }

  /** @throws {TritonError} UNAVAILABLE without memory. */
  #addSlab(): void {
    const copy = this.#external ? undefined : allocate(slabBytes);
    if (!this.#native.addSlab()) throw noMemory(slabBytes);
    this.#slabs.push(new MemoryViews(copy ?? this.#native.slab(this.#slabs.length)));
  }
}
