/** The pages of responses, as JavaScript sees them. They are read in the order in which they arrive. */

import { headerPages, pageBytes } from '../../addon/layout.js';
import type { NativePort } from '../../addon/native/port.js';
import { MemoryViews } from '../../tensor/memory.js';
import type { Header } from '../requests/header.js';
import { allocate } from '../errors/request-errors.js';

/** A page of responses, with the position up to which it has been read. */
export interface OpenPage {
  readonly id: number;
  readonly words: number;
  position: number;
  /** How many responses of the record at `position` have been read. */
  taken: number;
  /** A copy of the page's bytes, once made, if pages are not shared. */
  copy: MemoryViews | undefined;
}

/** See the head of this file. A port has one. */
export class Pages {
  readonly #native: Pick<NativePort, 'page' | 'copyPage' | 'recycle'>;
  readonly #external: boolean;
  readonly #header: Pick<Header, 'word'>;
  /** Views of pages by id. */
  readonly #views: (MemoryViews | undefined)[] = [];
  /** The memory that a page is copied to if no more can be allocated. Only one page is read at a time. */
  readonly #reserve: MemoryViews | undefined;
  #open: OpenPage[] = [];
  #finished = 0;

  /** @throws {@link TritonError} UNAVAILABLE if pages are not shared and there is no memory for copies. */
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

  /** Whether all pages have been read. */
  get empty(): boolean {
    return this.#open.length === 0;
  }

  /** Number of pages read to their end since the port was created. */
  get finished(): number {
    return this.#finished;
  }

  /** Number of pages received since the port was created. */
  get opened(): number {
    return this.#finished + this.#open.length;
  }

  /** Adds `count` pages that the header lists. */
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
   * Reads pages, including those added meanwhile, until `read` leaves one unfinished.
   *
   * @param read - Advances the page's position.
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

  /** Drops the views of pages, because the engine has freed pages. Views of pages in use are made again. */
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
