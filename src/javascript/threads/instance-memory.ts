/** The memory in which an instance and the engine exchange batches and results. */

import type { NativeInstance } from '../../addon/native/instance.js';
import { MemoryViews } from '../../tensor/memory.js';

const firstWords = 16 << 10;
const firstBytes = 256 << 10;

/** See the head of this file. It grows with the largest batch. */
export class InstanceMemory {
  words: Int32Array<ArrayBuffer>;
  bytes: MemoryViews;
  readonly #native: NativeInstance;

  /** @throws An Error if there is no memory. */
  constructor(native: NativeInstance) {
    this.#native = native;
    this.words = new Int32Array(firstWords);
    this.bytes = new MemoryViews(new ArrayBuffer(firstBytes));
    native.setMemory(this.words.buffer, this.bytes.buffer);
  }

  /**
   * Makes room for these numbers of words and bytes. The contents are lost.
   *
   * @throws An Error if there is no memory. Then nothing has changed.
   */
  grow(words: number, bytes: number): void {
    let list = this.words;
    let memory = this.bytes;
    if (words > list.length) list = new Int32Array(2 ** Math.ceil(Math.log2(words)));
    if (bytes > memory.buffer.byteLength) {
      memory = new MemoryViews(new ArrayBuffer(2 ** Math.ceil(Math.log2(bytes))));
    }
    this.#native.setMemory(list.buffer, memory.buffer);
    this.words = list;
    this.bytes = memory;
  }
}
