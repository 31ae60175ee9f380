/**
 * Writes a tick's groups for the engine: their bytes to slabs, or to blocks if they are large, and one record
 * for each group.
 */

import {
  markedBit,
  slabBytes,
  slabMostBytes,
  slabRangeBytes,
  slabUnit,
  sourceBlock,
  sourceRegion,
  sourceSlab,
  submissionWords,
} from '../../addon/layout.js';
import type { NativePort } from '../../addon/native/port.js';
import type { NativeStatus } from '../../addon/native/status.js';
import { invalidArgument, TritonError, unavailable } from '../../errors.js';
import type { EncodedInputs } from '../../tensor/encoded.js';
import { maxTensorBytes } from '../../tensor/max-bytes.js';
import { MemoryViews } from '../../tensor/memory.js';
import { viewOf } from '../../tensor/views.js';
import { allocate, noMemory } from '../errors/request-errors.js';
import type { Group } from './group.js';
import { markWords, mostMarkWords, writeMark } from './marks.js';
import { SlabAllocator } from './slabs.js';
import type { DispatchRequest, DispatchTarget, EngineConnectionOptions, RequestRegions } from '../types.js';

const slabUnits = slabBytes / slabUnit;
/** How many slabs are kept when nothing is in flight. */
const keptSlabs = 4;
const noSlab = new Uint8Array();
/**
 * Words of a record before its inputs, and words of an input before its dims. An input from a region has two
 * more. A target of an output has six.
 */
const groupWords = 7;
const inputWords = 6;
const regionInputWords = 2;
const targetWords = 6;

/** See the head of this file. An engine connection has one. */
export class Submission {
  readonly #native: NativePort;
  readonly #external: boolean;
  /** Submits the written records when the area is full. It runs no code of callers. */
  readonly #full: () => void;
  /** Frees the ranges of groups that are not in use. */
  readonly #reclaim: () => void;
  /** Told of each request that begins a sequence. */
  readonly #begun: EngineConnectionOptions['onSequence'];
  readonly #words: Int32Array;
  /** The bytes of {@link words}. */
  readonly #bytes: Buffer;
  readonly #slabs: MemoryViews[] = [];
  /** The maximum number of slabs so far. */
  #mostSlabs = 0;
  readonly #ranges: SlabAllocator;
  /** Number of words written. */
  #position = 0;

  /** @param limit - The maximum total size of slabs, in bytes. */
  constructor(
    native: NativePort,
    external: boolean,
    limit: number,
    {
      full,
      reclaim,
      begun,
    }: {
      readonly full: () => void;
      readonly reclaim: () => void;
      readonly begun: EngineConnectionOptions['onSequence'];
    },
  ) {
    this.#begun = begun;
    this.#reclaim = reclaim;
    this.#native = native;
    this.#external = external;
    this.#full = full;
    this.#words = external ? new Int32Array(native.submission()) : new Int32Array(submissionWords);
    this.#bytes = Buffer.from(this.#words.buffer);
    this.#ranges = new SlabAllocator(() => {
      this.#addSlab();
    }, limit);
  }

  get empty(): boolean {
    return this.#position === 0;
  }

  /** The submission area. While {@link empty}, it may be used for other data. */
  get words(): Int32Array {
    return this.#words;
  }

  /** {@link words}, if they are not shared with the engine. */
  get ownWords(): Int32Array | undefined {
    return this.#external ? undefined : this.#words;
  }

  /** Drops the blocks of a group that the engine did not accept. */
  unstage(group: Group): void {
    if (group.rangeBytes > 0) return;
    for (const block of group.blocks) if (block >= 0) this.#native.unstage(block);
    group.blocks.length = 0;
  }

  /** Submits the written records to the engine. Returns as `NativePort.submit` does. */
  submit(run: boolean): NativeStatus | number {
    const words = this.#position;
    this.#position = 0;
    if (this.#external) return this.#native.submit(words, run);
    const slabs = this.#slabs.map(({ Uint8Array }) => Uint8Array);
    // Dropped slabs keep their numbers, so empty arrays take their places.
    while (slabs.length < this.#mostSlabs) slabs.push(noSlab);
    return this.#native.submitCopies(words, run, this.#words, slabs);
  }

  /** Frees the memory of a group. */
  free(group: Group): void {
    if (group.rangeBytes > 0) this.#ranges.free(group.range, group.rangeBytes);
    group.rangeBytes = 0;
    group.placed = undefined;
  }

  /** Drops slabs that remained after a burst. No group may have a range. */
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
   * Allocates memory for a group's inputs: a range of a slab, with room for as many requests as the version's
   * recent groups had; or, if the inputs are large, blocks for this one request.
   *
   * @throws {@link TritonError} UNAVAILABLE if there is no memory; INVALID_ARG if the request is too large for
   *   a record. The group then has no memory.
   */
  place(group: Group, target: DispatchTarget, encoded: EncodedInputs): void {
    // Free the old range before anything can fail, because it was made for other sizes.
    this.free(group);
    const { shapes, byteLengths } = group;
    const { request } = group;
    const words = recordWords(shapes, request) + (request?.sequence === undefined ? 0 : mostMarkWords);
    const present = shapes.reduce((count, shape) => count + (shape === undefined ? 0 : 1), 0);
    if (words > submissionWords) {
      const message = `model '${target.name}': the request's ${present} inputs, their dims and its parameters exceed the limit of a request: send fewer inputs, dims or parameters`;
      throw new TritonError('INVALID_ARG', message, { model: target.name });
    }
    if (group.views.length !== shapes.length) group.views.length = shapes.length;
    group.room = 1;
    if (present === 0 || bytesOf(byteLengths, 1) > slabRangeBytes || !this.#placeInSlab(group, target)) {
      this.#stage(group, target, encoded);
    }
  }

  /** The number of requests that a group gets room for, by its first request. */
  roomOf(
    { shapes, byteLengths }: Form,
    target: DispatchTarget,
    request: DispatchRequest | undefined,
  ): number {
    // The regions of two requests rarely follow each other.
    if (request?.regions !== undefined) return 1;
    if (request?.sequence !== undefined) {
      // Their sequences have to fit in the record, whatever their ids are.
      if (recordWords(shapes, request) + target.mostRoom * mostMarkWords > submissionWords) return 1;
    }
    let room = target.groupRoom;
    while (room > 1 && bytesOf(byteLengths, room) > slabMostBytes) room >>= 1;
    return room;
  }

  #placeInSlab(group: Group, target: DispatchTarget): boolean {
    const { byteLengths, shapes, views, lengths } = group;
    let room = this.roomOf(group, target, group.request);
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
    // The slabs are used up, or divided into other sizes. The request uses blocks like a large one; the engine
    // limits how much may be in flight.
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
      // The view covers only this input's place. So if another thread makes the array longer during the copy,
      // it cannot overwrite other inputs.
      const view = viewOf(kind, memory.buffer, offset, length * room);
      views[i] = view;
      lengths[i] = view.length / room;
      offset += aligned(length * room);
    }
    return true;
  }

  /**
   * Copies the inputs to blocks.
   *
   * @throws {@link TritonError} UNAVAILABLE if there is no memory; INVALID_ARG if an input is too large for a
   *   tensor.
   */
  #stage(group: Group, target: DispatchTarget, { data }: EncodedInputs): void {
    const { blocks, views, byteLengths } = group;
    blocks.length = 0;
    // Check all inputs before any byte is copied.
    for (let i = 0; i < data.length; i++) {
      const length = byteLengths[i] ?? 0;
      if (data[i] === undefined || length <= maxTensorBytes) continue;
      const message = `model '${target.name}', input '${target.inputs[i]?.name ?? ''}': expected at most ${maxTensorBytes} bytes (4 GiB), but got ${length}`;
      throw invalidArgument(message, { model: target.name });
    }
    for (let i = 0; i < data.length; i++) {
      views[i] = undefined;
      const bytes = data[i];
      blocks.push(bytes === undefined ? -1 : this.#native.stage(bytes, target.uid));
      if (bytes === undefined || blocks[i] !== -1) continue;
      for (const block of blocks) if (block >= 0) this.#native.unstage(block);
      const message = `model '${target.name}': no memory for an input of ${group.byteLengths[i] ?? 0} bytes`;
      throw unavailable('NO_MEMORY', message, { model: target.name });
    }
  }

  /** Writes the record of a group whose memory is allocated. */
  write(group: Group, target: DispatchTarget): void {
    const { shapes, byteLengths, count, rangeBytes } = group;
    const wanted = group.request?.wanted;
    const attributes = group.request?.attributes;
    const regions = group.request?.regions;
    const marked = group.request?.sequence !== undefined;
    let room = recordWords(shapes, group.request);
    if (marked) room += marksWords(group);
    let present = 0;
    for (let i = 0; i < shapes.length; i++) if (shapes[i] !== undefined) present++;
    if (this.#position + room > submissionWords) this.#full();
    const words = this.#words;
    let position = this.#position;
    words[position++] = target.uid;
    words[position++] = group.index;
    words[position++] = group.generation;
    words[position++] = marked ? count | markedBit : count;
    words[position++] = present;
    words[position++] = (wanted?.length ?? 0) | ((attributes?.length ?? 0) << 16);
    words[position++] = group.rows;
    if (regions !== undefined) position = writeTargets(words, position, regions);
    let { offset } = group;
    for (let i = 0; i < shapes.length; i++) {
      const shape = shapes[i];
      if (shape === undefined) continue;
      const length = byteLengths[i] ?? 0;
      words[position++] = i;
      const range = regions?.sources[i];
      if (range !== undefined) {
        words[position++] = sourceRegion;
        words[position++] = range.region;
        words[position++] = lowWord(range.offset);
        words[position++] = lowWord(range.byteSize);
        words[position++] = shape.length;
        words[position++] = highWord(range.offset);
        words[position++] = highWord(range.byteSize);
        for (let dim = 0; dim < shape.length; dim++) words[position++] = shape[dim] ?? 0;
        continue;
      }
      if (rangeBytes > 0) {
        words[position++] = sourceSlab;
        words[position++] = group.slab;
        words[position++] = offset;
        words[position++] = length;
        offset += aligned(length * group.room);
      } else {
        words[position++] = sourceBlock;
        words[position++] = group.blocks[i] ?? -1;
        words[position++] = highWord(length);
        words[position++] = lowWord(length);
      }
      words[position++] = shape.length;
      for (let dim = 0; dim < shape.length; dim++) words[position++] = shape[dim] ?? 0;
    }
    if (wanted) for (const index of wanted) words[position++] = index;
    if (attributes) {
      words.set(attributes, position);
      position += attributes.length;
    }
    if (marked) {
      for (let i = 0; i < count; i++) {
        const mark = group.requestOf(i)?.sequence;
        if (mark?.start === true) this.#begun?.(target, mark.id);
        if (mark !== undefined) position = writeMark(words, this.#bytes, position, mark);
      }
    }
    this.#position = position;
  }

  /**
   * Adds a slab.
   *
   * @throws {@link TritonError} UNAVAILABLE if there is no memory.
   */
  #addSlab(): void {
    const copy = this.#external ? undefined : allocate(slabBytes);
    if (!this.#native.addSlab()) throw noMemory(slabBytes);
    this.#slabs.push(new MemoryViews(copy ?? this.#native.slab(this.#slabs.length)));
    this.#mostSlabs = Math.max(this.#mostSlabs, this.#slabs.length);
  }
}

/** The form of a group's requests: the shapes of present inputs, and the size of each input in bytes. */
interface Form {
  readonly shapes: readonly (readonly number[] | undefined)[];
  readonly byteLengths: readonly number[];
}

/** Words of a record without the sequences of its requests. */
function recordWords(shapes: Form['shapes'], request: DispatchRequest | undefined): number {
  let words = groupWords + (request?.wanted?.length ?? 0) + (request?.attributes?.length ?? 0);
  if (request?.regions !== undefined) words += regionWords(request.regions);
  for (let i = 0; i < shapes.length; i++) {
    const shape = shapes[i];
    if (shape !== undefined) words += inputWords + shape.length;
  }
  return words;
}

/** Words of the sequences of a group's requests. */
function marksWords(group: Group): number {
  let words = 0;
  for (let i = 0; i < group.count; i++) {
    const mark = group.requestOf(i)?.sequence;
    if (mark !== undefined) words += markWords(mark);
  }
  return words;
}

function lowWord(number: number): number {
  return number | 0;
}

function highWord(number: number): number {
  return Math.floor(number / 0x1_0000_0000);
}

/** How many more words the record of a request has that uses regions. */
function regionWords({ sources, targets }: RequestRegions): number {
  let words = 0;
  for (const source of sources) if (source !== undefined) words += regionInputWords;
  for (const target of targets) if (target !== undefined) words += targetWords;
  return words;
}

/** Writes the targets of a group whose record begins 7 words before. Returns the position after them. */
function writeTargets(words: Int32Array, begin: number, { targets }: RequestRegions): number {
  let position = begin;
  let count = 0;
  for (let output = 0; output < targets.length; output++) {
    const target = targets[output];
    if (target === undefined) continue;
    words[position++] = output;
    words[position++] = target.region;
    words[position++] = lowWord(target.offset);
    words[position++] = highWord(target.offset);
    words[position++] = lowWord(target.byteSize);
    words[position++] = highWord(target.byteSize);
    count++;
  }
  const inputs = begin - groupWords + 4;
  words[inputs] = (words[inputs] ?? 0) | (count << 16);
  return position;
}

/** Rounds up to a multiple of 64, where an input may begin. */
function aligned(bytes: number): number {
  return (bytes + 63) & ~63;
}

/** Size of a range with room for `room` requests. */
function bytesOf(byteLengths: readonly number[], room: number): number {
  let bytes = 0;
  for (let i = 0; i < byteLengths.length; i++) {
    const length = (byteLengths[i] ?? 0) * room;
    if (length > slabMostBytes) return Infinity;
    // The last input needs no padding.
    bytes = aligned(bytes) + length;
  }
  return bytes;
}
