/** Writes responses to pages; `native/engine/port/port_layout.h` has the format of their records. */

import {
  countedBit,
  emptyBit,
  finalBit,
  limitedBit,
  pageBytes,
  parametersBit,
  ranBit,
  recordTimings,
  streamedBytes,
  unservedBit,
} from '../../addon/layout.js';
import type { BatchTimes, EngineOutput, EngineRequest, Refusal } from './request.js';

/** An output of at least this size is not cut from its page, nor those of a response beyond {@link cutBytes}. */
const largeOutput = 64 << 10;
const cutBytes: number = pageBytes / 2;
/** Words of timings, and of a response without its outputs, with those that align what follows. */
const timingWords = 12;
const responseWords = 9;
/** Words about the parameters of a response, with one that aligns them. */
const parametersWords = 4;
/** Words of an output without its dims, in the engine's own count. */
const outputWords = 7;
const mostWords = (pageBytes - cutBytes) / 4;
const encoder = new TextEncoder();

/** Whether outputs are too many for one response, which has to fit in a page. */
export function areTooMany(outputs: readonly EngineOutput[], parameters: Int32Array | undefined): boolean {
  const first = parameters === undefined ? 0 : parametersWords + parameters.length;
  const words = outputs.reduce((sum, { shape }) => sum + outputWords + shape.length, first);
  return timingWords + responseWords + words > mostWords;
}

/** A page of responses. */
interface Page {
  readonly id: number;
  readonly memory: ArrayBuffer;
  readonly words: Int32Array;
  readonly bytes: Uint8Array;
  readonly doubles: Float64Array;
  /** How many words are written. */
  used: number;
  /** Where the bytes at its back begin. */
  payload: number;
  /** Outputs that are too large for it, by their number. */
  readonly large: Uint8Array<ArrayBuffer>[];
}

/** See the head of this file. */
export class ResponsePages {
  readonly #all: Page[] = [];
  readonly #free: Page[] = [];
  readonly #full: Page[] = [];
  #open: Page | undefined;

  /** The pages that were written since the last call, with the words in each. */
  take(): (readonly [id: number, words: number])[] {
    if (this.#open !== undefined && this.#open.used > 0) {
      this.#full.push(this.#open);
      this.#open = undefined;
    }
    return this.#full.splice(0).map(({ id, used }) => [id, used]);
  }

  page(id: number): Page {
    const page = this.#all[id];
    if (page === undefined) throw new RangeError(`there is no page ${id}`);
    return page;
  }

  recycle(id: number): void {
    const page = this.page(id);
    page.used = 0;
    page.payload = pageBytes;
    page.large.length = 0;
    this.#free.push(page);
  }

  /** Writes a response. Returns the bytes that it counts until its caller has read it, if the model is decoupled. */
  write(
    { head, arrived }: EngineRequest,
    outputs: readonly EngineOutput[],
    isFinal: boolean,
    isCounted: boolean,
    { rows, begun, inputsReady, computed }: BatchTimes,
    parameters?: Int32Array,
  ): number {
    let words =
      timingWords + responseWords + (parameters === undefined ? 0 : parametersWords + parameters.length);
    let cut = 0;
    const isCut = outputs.map(({ shape, bytes: { length } }) => {
      words += 4 + shape.length;
      if (length >= largeOutput || cut + aligned(length) > cutBytes) return false;
      cut += aligned(length);
      return true;
    });
    const page = this.#room(4 * words + cut);
    page.words[page.used++] = recordTimings;
    page.used += page.used & 1;
    const times = [rows, begun - arrived, inputsReady - begun, computed - inputsReady, 0];
    page.doubles.set(times, page.used / 2);
    page.used += 2 * times.length;
    const flags =
      (isFinal ? finalBit : 0) |
      ranBit |
      (isCounted ? countedBit : 0) |
      (parameters === undefined ? 0 : parametersBit) |
      (outputs.length << 16);
    page.words.set([head.slot, head.generation, flags, head.position, 1], page.used);
    page.used += 5;
    let counted = streamedBytes;
    if (parameters !== undefined) {
      const { buffer, byteOffset, byteLength } = parameters;
      page.words.set([put(page, new Uint8Array(buffer, byteOffset, byteLength)), byteLength], page.used);
      page.used += 2;
      counted += byteLength;
    }
    for (const [i, { index, datatype, shape, bytes }] of outputs.entries()) {
      const place = isCut[i] === true ? put(page, bytes) : ~(page.large.push(bytes) - 1);
      page.words.set([index | (datatype << 16), place, bytes.length, shape.length, ...shape], page.used);
      page.used += 4 + shape.length;
      counted += bytes.length;
    }
    return isCounted ? counted : 0;
  }

  writeFailure({ head }: EngineRequest, { status, limited, unserved }: Refusal): void {
    const text = encoder.encode(status.message).subarray(0, cutBytes);
    const page = this.#room(4 * responseWords + aligned(text.length));
    const flags =
      (status.code & 0xff) |
      finalBit |
      (limited === true ? limitedBit : 0) |
      (unserved === true ? unservedBit : 0) |
      ((status.code >> 8) << 16);
    const place = put(page, text);
    page.words.set([head.slot, head.generation, flags, head.position, 1, place, text.length], page.used);
    page.used += 7;
  }

  /** Writes the end of a request of a decoupled model. */
  writeEnd({ head }: EngineRequest): void {
    const page = this.#room(4 * responseWords);
    page.words.set([head.slot, head.generation, finalBit | emptyBit, head.position, 1], page.used);
    page.used += 5;
  }

  /** The page that is written to, with at least this many bytes left. */
  #room(bytes: number): Page {
    const open = this.#open;
    if (open !== undefined && open.payload - 4 * open.used >= bytes) return open;
    if (open !== undefined) this.#full.push(open);
    return (this.#open = this.#free.pop() ?? this.#make());
  }

  #make(): Page {
    const memory = new ArrayBuffer(pageBytes);
    const page = {
      id: this.#all.length,
      memory,
      words: new Int32Array(memory),
      bytes: new Uint8Array(memory),
      doubles: new Float64Array(memory),
      used: 0,
      payload: pageBytes,
      large: [],
    };
    this.#all.push(page);
    return page;
  }
}

function aligned(bytes: number): number {
  return (bytes + 7) & ~7;
}

/** Puts bytes at the back of a page. Returns their offset. */
function put(page: Page, bytes: Uint8Array): number {
  page.payload = (page.payload - bytes.length) & ~7;
  page.bytes.set(bytes, page.payload);
  return page.payload;
}
