/** A terminal as a screen: its own page, frames without flicker, keys. */

import { emitKeypressEvents } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Key } from '../../top/view/live-view.js';

/** The other page of the terminal, without a cursor; lines that are too long are not wrapped. */
const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[H\u001b[2J';
const leave = '\u001b[?7h\u001b[?25h\u001b[?1049l';
/** Terminals that know it show a frame only when it is whole; others ignore it. */
const begin = '\u001b[?2026h';
const end = '\u001b[?2026l';

/** What the screen tells. */
export interface ScreenEvents {
  key(key: Key): void;
  /** The terminal has another size, or is to be drawn anew. */
  resized(): void;
}

/** See the head of this file. */
export class Screen {
  readonly #out: WriteStream;
  readonly #in: ReadStream | undefined;
  readonly #events: ScreenEvents;
  /** The lines on the terminal; undefined: all are to be drawn. */
  #drawn: readonly string[] | undefined;
  #open = false;

  /** @param input - Undefined: there are no keys, because standard input is not a terminal. */
  constructor(out: WriteStream, input: ReadStream | undefined, events: ScreenEvents) {
    this.#out = out;
    this.#in = input;
    this.#events = events;
    if (input !== undefined) emitKeypressEvents(input);
  }

  /** Cells of a line: the last column is left free, where terminals differ. */
  get width(): number {
    return Math.max(1, (this.#out.columns || 80) - 1);
  }

  /** Lines. */
  get height(): number {
    return Math.max(1, this.#out.rows || 24);
  }

  /** Takes the terminal. */
  open(): void {
    if (this.#open) return;
    this.#open = true;
    this.#drawn = undefined;
    this.#out.write(enter);
    this.#out.on('resize', this.#onResize);
    this.#in?.setRawMode(true);
    this.#in?.on('keypress', this.#onKey);
    this.#in?.resume();
    // An error that ends the process must leave a usable terminal.
    process.on('exit', this.#onExit);
  }

  /** Gives the terminal back as it was. Idempotent. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    process.off('exit', this.#onExit);
    this.#out.off('resize', this.#onResize);
    this.#in?.off('keypress', this.#onKey);
    this.#in?.setRawMode(false);
    this.#in?.pause();
    this.#out.write(leave);
  }

  /** Draws a frame: only lines that have changed are written, all at once. */
  draw(lines: readonly string[]): void {
    if (!this.#open) return;
    const before = this.#drawn;
    let text = before === undefined ? '\u001b[H\u001b[2J' : '';
    lines.forEach((line, i) => {
      if (before?.[i] !== line) text += `\u001b[${i + 1};1H${line}\u001b[K`;
    });
    this.#drawn = lines;
    if (text !== '') this.#out.write(`${begin}${text}${end}`);
  }

  /** Draws all lines of the next frame. */
  forget(): void {
    this.#drawn = undefined;
  }

  readonly #onResize = (): void => {
    this.#drawn = undefined;
    this.#events.resized();
  };

  readonly #onKey = (
    text: string | undefined,
    { name, ctrl }: { readonly name?: string | undefined; readonly ctrl?: boolean | undefined },
  ): void => {
    this.#events.key({ name, ctrl: ctrl === true, text });
  };

  readonly #onExit = (): void => {
    this.close();
  };
}
