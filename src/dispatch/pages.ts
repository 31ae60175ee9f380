/** The engine's memory that responses come in, as JavaScript sees it: pages, read in the order they came in. */

import { headerPages, pageBytes } from '../addon/layout.js';
import type { NativePort } from '../addon/native.js';
import { MemoryViews } from '../tensor/memory.js';
import type { Header } from './header.js';

/** A page of responses and how far it is read. */
export interface OpenPage {
  readonly id: number;
  readonly words: number;
  position: number;
  /** Of the responses of the record at `position`, so many are read. */
  taken: number;
  /** Whether its copy is there, where pages are not seen in place. */
  copied: boolean;
}

/** See the head of this file. One a port. */
export class Pages {
  readonly #native: Pick<NativePort, 'page' | 'copyPage' | 'recycle'>;
  readonly #external: boolean;
  readonly #header: Pick<Header, 'word'>;
  /** By id. */
  readonly #views: (MemoryViews | undefined)[] = [];
  #open: OpenPage[] = [];
  #finished = 0;

  constructor(
    native: Pick<NativePort, 'page' | 'copyPage' | 'recycle'>,
    external: boolean,
    header: Pick<Header, 'word'>,
  ) {
    this.#native = native;
    this.#external = external;
    this.#header = header;
  }

  /** Whether all are read. */
  get empty(): boolean {
    return this.#open.length === 0;
  }

  /** How many were read to their ends, of all that there ever were. */
  get finished(): number {
    return this.#finished;
  }

  /** How many there ever were. */
  get opened(): number {
    return this.#finished + this.#open.length;
  }

  /** Takes note of `count` pages, which the header names. */
  open(count: number): void {
    for (let word = headerPages; word < headerPages + count * 2; word += 2) {
      this.#open.push({
        id: this.#header.word(word),
        words: this.#header.word(word + 1),
        position: 0,
        taken: 0,
        copied: false,
      });
    }
  }

  /**
   * Reads pages, also those that are opened meanwhile, until `read` leaves one unfinished.
   *
   * @param read - Moves the page's position.
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

  /** The engine has given back memory of pages; those that it has are to be asked for anew. */
  forget(): void {
    this.#views.length = 0;
  }

  #view(page: OpenPage): MemoryViews {
    let view = this.#views[page.id];
    if (!view) {
      view = new MemoryViews(this.#external ? this.#native.page(page.id) : new ArrayBuffer(pageBytes));
      this.#views[page.id] = view;
    }
    if (!this.#external && !page.copied) {
      this.#native.copyPage(page.id, view.Uint8Array);
      page.copied = true;
    }
    return view;
  }
}
