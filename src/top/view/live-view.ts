/** The view of a terminal: what its user has chosen, and the lines of a frame. */

import type { TopFigures } from '../figures/top-figures.js';
import { cut, ending, fitted, safe } from './cells.js';
import { columns } from './columns.js';
import { machineLines, serverLine } from './head.js';
import { helpLines } from './help.js';
import type { Paint } from './paint.js';
import { notesOf } from './plain.js';
import { columnOf, rowsOf, type RowChoice } from './rows.js';
import { tableOf } from './table.js';

/** A key that was pressed. */
export interface Key {
  /** `up`, `escape`, `return`, a letter, …; undefined: another character. */
  readonly name: string | undefined;
  readonly ctrl: boolean;
  /** The character, if it is one. */
  readonly text: string | undefined;
}

/** What a key asks of the program. */
export type KeyAction = 'quit' | 'interrupt' | 'suspend' | 'draw' | undefined;

/** What is known of the server. */
export interface Shown {
  /** Undefined: it has not answered yet. */
  readonly figures: TopFigures | undefined;
  /** Why the last reading failed; undefined: it did not. */
  readonly failure: string | undefined;
}

/** See the head of this file. */
export class LiveView {
  readonly #place: string;
  readonly #intervalS: number;
  #choice: RowChoice;
  #shown: Shown = { figures: undefined, failure: undefined };
  #newest: Shown = this.#shown;
  #paused = false;
  #help = false;
  /** The first line of the help that is shown. */
  #firstOfHelp = 0;
  /** Whether keys are letters of the filter. */
  #writes = false;
  /** The first row that is shown. */
  #first = 0;
  /** Rows that the last frame had room for. */
  #room = 1;
  #rows = 0;

  constructor(place: string, intervalS: number, choice: RowChoice) {
    this.#place = place;
    this.#intervalS = intervalS;
    this.#choice = choice;
  }

  /** Takes new figures, which are shown unless the view is paused. */
  show(shown: Shown): void {
    this.#newest = shown;
    if (!this.#paused) this.#shown = shown;
  }

  /** Takes a key. */
  press(key: Key): KeyAction {
    const { name, ctrl, text } = key;
    if (ctrl && name === 'c') return 'interrupt';
    if (ctrl && name === 'z') return 'suspend';
    if (ctrl && name === 'l') return 'draw';
    if (this.#writes) return this.#write(key);
    if (this.#help && (name === 'escape' || text === 'q')) {
      this.#help = false;
      return 'draw';
    }
    switch (name) {
      case 'up':
        return this.#move(-1);
      case 'down':
        return this.#move(1);
      case 'pageup':
        return this.#move(-this.#room);
      case 'pagedown':
        return this.#move(this.#room);
      case 'home':
        return this.#move(-Infinity);
      case 'end':
        return this.#move(Infinity);
      case 'left':
        return this.#sortBy(-1);
      case 'right':
        return this.#sortBy(1);
      case 'escape':
        this.#choice = { ...this.#choice, filter: '' };
        return 'draw';
      case undefined:
      default:
        return this.#letter(text);
    }
  }

  /** Keys that are letters or signs. */
  #letter(text: string | undefined): KeyAction {
    switch (text) {
      case 'q':
        return 'quit';
      case ' ':
      case 'p':
        this.#paused = !this.#paused;
        if (!this.#paused) this.#shown = this.#newest;
        return 'draw';
      case 's':
        return this.#sortBy(1);
      case 'r':
        this.#choice = { ...this.#choice, reverse: !this.#choice.reverse };
        return 'draw';
      case '/':
        this.#writes = true;
        return 'draw';
      case '?':
      case 'h':
        this.#help = !this.#help;
        this.#firstOfHelp = 0;
        return 'draw';
      case undefined:
      default:
        return undefined;
    }
  }

  /**
   * The lines of a frame, none of which is longer than the width.
   *
   * @param width - Cells of a line.
   * @param height - Lines.
   */
  frame(width: number, height: number, paint: Paint): string[] {
    const { figures, failure } = this.#shown;
    const line = (text: string): string => cut(text, width);
    if (this.#help) return this.#helpFrame(width, height, paint);
    const last = this.#lastLine(width, paint);
    const lines: string[] = [];
    if (failure !== undefined) lines.push(paint.bad(line(safe(`gone, trying again: ${failure}`))));
    if (figures === undefined) {
      if (failure === undefined) lines.push(line(`${safe(this.#place)}: waiting for an answer`));
      return this.#whole(lines, last, height);
    }
    const server = line(serverLine(figures, this.#place));
    lines.push(failure === undefined ? paint.bold(server) : paint.pale(server));
    // The head takes a third of the height at most, so that there is room for models.
    lines.push(
      ...machineLines(figures)
        .slice(0, Math.floor(height / 3))
        .map(line),
    );
    lines.push('');
    const rows = rowsOf(figures.models, this.#choice);
    const notes = notesOf(figures, rows).slice(0, Math.max(0, Math.floor(height / 4)));
    this.#rows = rows.length;
    this.#room = Math.max(1, height - lines.length - 2 - notes.length);
    this.#first = Math.min(this.#first, Math.max(0, rows.length - this.#room));
    // Widths are those of all rows, so that columns stay while the list moves.
    const table = tableOf(rows, width);
    const titles = table.head
      .map(({ id, text }) => (id === this.#choice.sort ? this.#marked(text) : text))
      .join('');
    lines.push(paint.titles(fitted(titles, width, 'left')));
    for (const row of table.rows.slice(this.#first, this.#first + this.#room)) {
      const text = row.map((span) => paint.tone(span.text, failure === undefined ? span.tone : 'pale'));
      lines.push(text.join(''));
    }
    if (rows.length === 0)
      lines.push(
        line(figures.models.length === 0 ? 'the server has no models' : 'no model passes the filter'),
      );
    lines.push(...notes.map((note) => paint.pale(line(note))));
    return this.#whole(lines, last, height);
  }

  /** The help has the whole frame. */
  #helpFrame(width: number, height: number, paint: Paint): string[] {
    this.#room = Math.max(1, height - 1);
    this.#firstOfHelp = Math.min(this.#firstOfHelp, Math.max(0, helpLines.length - this.#room));
    const end = Math.min(helpLines.length, this.#firstOfHelp + this.#room);
    const lines = helpLines.slice(this.#firstOfHelp, end).map((text) => cut(text, width));
    const isWhole = helpLines.length <= this.#room;
    const where = isWhole ? '' : `lines ${this.#firstOfHelp + 1} to ${end} of ${helpLines.length}  `;
    return this.#whole(lines, paint.pale(cut(`${where}? q back`, width)), height);
  }

  /** The title of the column that rows are sorted by: an arrow takes the place of a space, if there is one. */
  #marked(text: string): string {
    const arrow = this.#choice.reverse ? '\u25b2' : '\u25bc';
    if (text.startsWith(' ')) return text.replace(/ (?=\S)/, arrow);
    return / $/.test(text) ? text.replace(/(\S) /, `$1${arrow}`) : text;
  }

  /** Frames have all lines of the terminal; the last one is at its end. */
  #whole(lines: readonly string[], last: string, height: number): string[] {
    const above = lines.slice(0, Math.max(0, height - 1));
    return [...above, ...Array<string>(Math.max(0, height - 1 - above.length)).fill(''), last];
  }

  #lastLine(width: number, paint: Paint): string {
    const { filter, sort } = this.#choice;
    // What is written stays to be seen in a narrow terminal: its end counts.
    if (this.#writes) return ending(`filter: ${safe(filter)}_`, width);
    const end = Math.min(this.#rows, this.#first + this.#room);
    const parts = [
      ...(this.#paused ? ['PAUSED'] : []),
      `every ${this.#intervalS} s`,
      `sorted by ${columnOf(sort).title}`,
      ...(filter === '' ? [] : [`filter '${safe(filter)}'`]),
      ...(this.#rows > this.#room ? [`rows ${this.#first + 1} to ${end} of ${this.#rows}`] : []),
      '? help  q quit',
    ];
    return paint.pale(cut(parts.join('  '), width));
  }

  #move(by: number): KeyAction {
    if (this.#help) {
      const mostOfHelp = Math.max(0, helpLines.length - this.#room);
      this.#firstOfHelp = Math.min(mostOfHelp, Math.max(0, this.#firstOfHelp + by));
      return 'draw';
    }
    const most = Math.max(0, this.#rows - this.#room);
    this.#first = Math.min(most, Math.max(0, this.#first + by));
    return 'draw';
  }

  #sortBy(by: number): KeyAction {
    const at = columns.findIndex(({ id }) => id === this.#choice.sort);
    const next = columns[(at + by + columns.length) % columns.length];
    if (next !== undefined) this.#choice = { ...this.#choice, sort: next.id, reverse: false };
    return 'draw';
  }

  #write({ name, ctrl, text }: Key): KeyAction {
    const { filter } = this.#choice;
    const set = (changed: string): void => {
      this.#choice = { ...this.#choice, filter: changed };
    };
    if (name === 'return' || name === 'enter') this.#writes = false;
    else if (name === 'escape') {
      this.#writes = false;
      set('');
    } else if (name === 'backspace') set(Array.from(filter).slice(0, -1).join(''));
    else if (ctrl && name === 'u') set('');
    else if (!ctrl && text !== undefined && text !== '' && safe(text) === text) set(filter + text);
    return 'draw';
  }
}
