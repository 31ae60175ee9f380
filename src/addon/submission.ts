/**
 * The requests of a tick, written for the engine: their bytes in slabs (or in blocks, where they are many), and a
 * record for each, or for all that follow each other and differ in their bytes alone.
 */

import { TritonError } from '../errors.js';
import { MemoryViews } from '../tensor/memory.js';
import type { OnlyInput } from '../tensor/only-input.js';
import { slabBytes, slabRangeBytes, slabUnit, sourceBlock, sourceSlab, submissionWords } from './layout.js';
import type { NativePort, NativeStatus } from './native.js';
import { allocate, noMemory } from './port-errors.js';
import type { PortInput, PortTarget } from './port-types.js';
import { SlabAllocator } from './slab.js';
import type { Slot } from './slot.js';

const slabUnits = slabBytes / slabUnit;

/** Words of a record with one input, without its dims. */
const onlyWords = 7 + 5;

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
    if (this.#external) return this.#native.submit(words, run);
    const slabs = this.#slabs.map(({ Uint8Array }) => Uint8Array);
    return this.#native.submitCopies(words, run, this.#words, slabs);
  }

  /** Gives back the memory of what has ended; the slot keeps a little that more like it would need again. */
  free(slot: Slot): void {
    if (slot.fits === undefined || slot.rangeBytes > slabRangeBytes) this.#freeRange(slot);
  }

  #freeRange(slot: Slot): void {
    if (slot.rangeBytes > 0) this.#ranges.free(slot.range, slot.rangeBytes);
    slot.rangeBytes = 0;
    slot.fits = slot.view = undefined;
  }

  /**
   * Gives the slot room for up to so many requests alike, of one input of so many rows each.
   *
   * @returns False where slabs have none.
   * @throws {TritonError} UNAVAILABLE without memory.
   */
  fit(slot: Slot, input: OnlyInput, rows: number, room: number): boolean {
    if (slot.fits === input && slot.rows === rows && slot.room === room) return true;
    this.#freeRange(slot);
    const bytes = input.bytesOf(rows) * room;
    const range = this.#ranges.take(bytes);
    if (range < 0) return false;
    slot.range = range;
    slot.rangeBytes = bytes;
    slot.slab = (range / slabUnits) | 0;
    slot.offset = (range % slabUnits) * slabUnit;
    const memory = this.#slabs[slot.slab];
    slot.view = memory && input.viewOn(memory.buffer, slot.offset, rows * room);
    slot.width = (slot.view?.length ?? 0) / room;
    slot.fits = input;
    slot.rows = rows;
    slot.room = room;
    return true;
  }

  /** Writes a slot's requests that are alike, whose bytes are in the room that `fit` gave it. */
  writeParts(slot: Slot, target: PortTarget): void {
    const { fits: input, parts, rows } = slot;
    if (input === undefined) return;
    const shape = input.shapeOf(rows);
    if (this.#position + onlyWords + shape.length > submissionWords) this.#flush();
    slot.generation = (slot.generation + 1) & 0x3fffffff;
    const words = this.#words;
    let position = this.#position;
    words[position++] = target.uid;
    words[position++] = slot.index;
    words[position++] = slot.generation;
    words[position++] = parts;
    words[position++] = 1;
    words[position++] = 0;
    words[position++] = parts * rows;
    words[position++] = sourceSlab << 16;
    words[position++] = slot.slab;
    words[position++] = slot.offset;
    words[position++] = parts * input.bytesOf(rows);
    words[position++] = shape.length;
    // Of several parts the first dim is the batch.
    for (let i = 0; i < shape.length; i++) words[position++] = (shape[i] ?? 0) * (i === 0 ? parts : 1);
    this.#position = position;
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
    let room = 7 + (wanted?.length ?? 0);
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
    words[position++] = 1;
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
    let position = begin + 7;
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
