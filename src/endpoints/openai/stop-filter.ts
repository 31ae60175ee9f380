/** Ends a text before its first complete stop sequence, which may lie across the borders of its pieces. */

/** See the head of this file. */
export class StopFilter {
  readonly #stops: readonly string[];
  /** The end of the text so far, which may be the beginning of a stop sequence. */
  #held = '';
  #stopped = false;

  /** @param stops - None of them is empty. */
  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  /** Whether a stop sequence was found. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Adds a piece. Returns the text that is certainly before each stop sequence. */
  add(piece: string): string {
    if (this.#stopped || piece === '') return '';
    const whole = this.#held + piece;
    const at = this.#find(whole);
    if (at !== undefined) {
      this.#stopped = true;
      this.#held = '';
      return whole.slice(0, at);
    }
    const held = Math.max(0, ...this.#stops.map((stop) => overlap(whole, stop)));
    this.#held = whole.slice(whole.length - held);
    return whole.slice(0, whole.length - held);
  }

  /** The place of the stop sequence that is complete first: so the borders of the pieces make no difference. */
  #find(whole: string): number | undefined {
    let found: { readonly at: number; readonly end: number } | undefined;
    for (const stop of this.#stops) {
      const at = whole.indexOf(stop);
      const end = at + stop.length;
      if (at < 0 || (found && (found.end < end || (found.end === end && found.at < at)))) continue;
      found = { at, end };
    }
    return found?.at;
  }

  /** Ends the text. Returns the rest of it. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }
}

/** The length of the longest end of a text that is the beginning of a stop sequence. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(stop.length - 1, text.length); length > 0; length--)
    if (text.endsWith(stop.slice(0, length))) return length;
  return 0;
}
