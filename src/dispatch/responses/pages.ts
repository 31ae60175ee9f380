/**
 * The pages that responses come in, as JavaScript sees them. They are read in the order in which they came.
 */

import { headerPages, pageBytes } from '../../addon/layout.js';
import type { NativePort } from '../../addon/native/port.js';
import { MemoryViews } from '../../tensor/memory.js';
import type { Header } from '../requests/header.js';
import { allocate } from '../errors/request-errors.js';

/** A page of responses, with the position up to which it was read. */
export interface OpenPage {
  readonly id: number;
  readonly words: number;
  position: number;
  /** How many responses of the record at `position` were read. */
  taken: number;
  /** Its bytes, once they were copied, if pages are not shared. */
  copy: MemoryViews | undefined;
}

/** See the head of this file. A port has one. */
export class Pages {
  readonly #native: Pick<NativePort, 'page' | 'copyPage' | 'recycle'>;
  readonly #external: boolean;
  readonly #header: Pick<Header, 'word'>;
  /** Views of pages by id. */
  readonly #views: (MemoryViews | undefined)[] = [];
  /** What a page is copied to where there is no memory for one more; only one is read at a time. */
  readonly #reserve: MemoryViews | undefined;
  #open: OpenPage[] = [];
  #finished = 0;

  /** @throws {@link TritonError} UNAVAILABLE without memory, if pages are not shared. */
  constructor(
    native: Pick<NativePort, 'page' | 'copyPage' | 'recycle'>,
    external: boolean,
    header: Pick<Header, 'word'>,
  ) {
    this.#native = native;
    this.#external = external;
    this.#header = header;
    if (!external) this.#reserve = new MemoryViews(allocate(pageBytes));
  }

  /** Whether all pages were read. */
  get empty(): boolean {
    return this.#open.length === 0;
  }

  /** How many pages were read to their end, since the port exists. */
  get finished(): number {
    return this.#finished;
  }

  /** How many pages came, since the port exists. */
  get opened(): number {
    return this.#finished + this.#open.length;
  }

  /** Adds `count` pages, which the header lists. */
  open(count: number): void {
    for (let word = headerPages; word < headerPages + count * 2; word += 2) {
      this.#open.push({
        id: this.#header.word(word),
        words: this.#header.word(word + 1),
        position: 0,
        taken: 0,
        copy: undefined,
      });
    }
  }

  /**
   * Reads pages, including those that are added meanwhile, until `read` leaves one unfinished.
   *
   * @param read - It moves the page's position.
   */
  readEach(read: (view: MemoryViews, page: OpenPage) => void): void {
    for (;;) {
      const page = this.#open[0];
      if (page === undefined) return;
      read(this.#view(page), page);
      if (page.position < page.words) return;
      this.#open.shift();
      this.#finished++;
      if (!this.#native.recycle(page.id)) this.#views[page.id] = undefined;
    }
  }

  /**
   * Drops the views of pages, because the engine has freed pages. Memory of pages in use is asked for again.
   */
  forget(): void {
    this.#views.length = 0;
  }

  #view(page: OpenPage): MemoryViews {
    if (this.#external) {
      return (this.#views[page.id] ??= new MemoryViews(this.#native.page(page.id)));
    }
    if (page.copy === undefined) {
      page.copy = this.#memoryFor(page.id);
      this.#native.copyPage(page.id, page.copy.Uint8Array);
    }
    return page.copy;
  }

  #memoryFor(id: number): MemoryViews {
    try {
      return (this.#views[id] ??= new MemoryViews(allocate(pageBytes)));
    } catch (error) {
      if (this.#reserve === undefined) throw error;
      return this.#reserve;
    }
  }
}
