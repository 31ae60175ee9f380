/**
 * Reads the records of groups that JavaScript has submitted; `native/engine/port/port_layout.h` has the format. No record names a
 * region, because nothing can register one with this engine.
 */

import {
  markedBit,
  parameterDouble,
  parameterFlag,
  parameterInteger,
  parameterString,
  sequenceEnd,
  sequenceStart,
  sourceBlock,
} from '../../addon/layout.js';
import type { ReceivedSequence } from '../../api/request-sequence.js';
import { EngineRequest, type EngineInput, type RequestHead, type ResponseSink } from './request.js';

/** The memory that records refer to. */
export interface SubmittedMemory {
  slab(number: number): ArrayBuffer;
  /** The bytes of a staged block. */
  block(id: number): Uint8Array<ArrayBuffer>;
}

/** The requests of a group. */
export interface SubmittedGroup {
  readonly uid: number;
  readonly slot: number;
  readonly generation: number;
  readonly requests: readonly EngineRequest[];
}

/** The id of a request among its parameters. */
const idParameter = 'triton_request_id';
const utf8 = new TextDecoder();
const littleEndian = new Uint8Array(Int32Array.of(1).buffer)[0] === 1;

type Parameters = RequestHead['parameters'];

/** See the head of this file. */
export class SubmissionReader {
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #memory: SubmittedMemory;
  readonly #sink: ResponseSink;
  #at = 0;

  constructor(submission: ArrayBuffer, memory: SubmittedMemory, sink: ResponseSink) {
    this.#words = new Int32Array(submission);
    this.#bytes = new Uint8Array(submission);
    this.#view = new DataView(submission);
    this.#memory = memory;
    this.#sink = sink;
  }

  /** Reads all groups in the first `words` words. */
  read(words: number): SubmittedGroup[] {
    const groups: SubmittedGroup[] = [];
    this.#at = 0;
    while (this.#at < words) groups.push(this.#group());
    return groups;
  }

  #next(): number {
    return this.#words[this.#at++] ?? 0;
  }

  /** A number of two words, the lower one first. */
  #long(): number {
    const low = this.#next() >>> 0;
    return low + (this.#next() >>> 0) * 2 ** 32;
  }

  #group(): SubmittedGroup {
    const uid = this.#next();
    const slot = this.#next();
    const generation = this.#next();
    const marked = this.#next();
    const count = marked & ~markedBit;
    const places = this.#next();
    const wants = this.#next();
    const rows = this.#next();
    const inputs: EngineInput[][] = Array.from({ length: count }, () => []);
    for (let left = places; left > 0; left--) this.#input(inputs);
    const wanted = Array.from({ length: wants & 0xffff }, () => this.#next());
    const attributes = this.#attributes(wants >>> 16);
    const sequences = (marked & markedBit) === 0 ? [] : inputs.map(() => this.#mark());
    const requests = inputs.map(
      (own, position) =>
        new EngineRequest(
          {
            ...{ sink: this.#sink, slot, generation, position, rows, ...attributes },
            wanted: wanted.length === 0 ? undefined : wanted,
            sequence: sequences[position],
          },
          own,
        ),
    );
    return { uid, slot, generation, requests };
  }

  /** Reads an input of all requests of a group. */
  #input(requests: readonly EngineInput[][]): void {
    const index = this.#next();
    const source = this.#next();
    const place = this.#next();
    const offset = this.#next();
    const size = this.#next();
    const rank = this.#next();
    const shape = Array.from({ length: rank }, () => this.#next());
    for (const [k, inputs] of requests.entries()) {
      inputs.push(
        source === sourceBlock
          ? { index, shape, bytes: this.#memory.block(place), block: place }
          : {
              index,
              shape,
              bytes: new Uint8Array(this.#memory.slab(place), offset + k * size, size).slice(),
            },
      );
    }
  }

  #attributes(words: number): Pick<RequestHead, 'id' | 'priority' | 'timeoutUs' | 'parameters'> {
    if (words === 0) return { id: '', priority: 0, timeoutUs: 0, parameters: [] };
    const priority = this.#long();
    const timeoutUs = this.#long();
    const all: Parameters[number][] = [];
    let id = '';
    for (let left = this.#next(); left > 0; left--) {
      const kind = this.#next();
      const nameBytes = this.#next();
      const valueBytes = this.#next();
      const name = this.#text(nameBytes);
      const at = 4 * this.#at;
      if (kind === parameterString) {
        const text = this.#text(valueBytes);
        if (name === idParameter) id = text;
        else all.push([name, text]);
        continue;
      }
      this.#at += Math.ceil(valueBytes / 4);
      if (kind === parameterFlag) all.push([name, (this.#words[at / 4] ?? 0) !== 0]);
      else if (kind === parameterDouble) all.push([name, this.#view.getFloat64(at, littleEndian)]);
      else if (kind === parameterInteger) all.push([name, this.#view.getBigInt64(at, littleEndian)]);
      // The others are not for the model: the calling batch, and a trace, of which this engine makes none.
    }
    return { id, priority, timeoutUs, parameters: all };
  }

  #mark(): ReceivedSequence {
    const word = this.#next();
    const bytes = word >>> 8;
    const id = bytes > 0 ? this.#text(bytes) : this.#view.getBigUint64(4 * this.#skip(2), littleEndian);
    return { id, start: (word & sequenceStart) !== 0, end: (word & sequenceEnd) !== 0 };
  }

  #skip(words: number): number {
    const at = this.#at;
    this.#at += words;
    return at;
  }

  /** A text of some bytes, which fills words of its own. */
  #text(bytes: number): string {
    const at = 4 * this.#skip(Math.ceil(bytes / 4));
    return utf8.decode(this.#bytes.subarray(at, at + bytes));
  }
}
