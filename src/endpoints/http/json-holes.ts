/** Finds the varying parts in the JSON of a request: its id, and its inputs' shapes and data. */

/** A range of the text that varies between requests. */
export interface Hole {
  readonly start: number;
  readonly end: number;
  /**
   * An `id` includes its quotes. A shape is a hole only if the data comes after it: reading the data needs the
   * shape.
   */
  readonly kind: 'id' | 'shape' | 'data';
  /** The index in `inputs`; -1 for the id. */
  readonly input: number;
}

/** Thrown for a text that has a member twice, or a name with escapes. Only the parser knows which member counts. */
class Unclear extends Error {}

/** Walks through a text that is known to be JSON. */
class Walk {
  readonly holes: Hole[] = [];
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  request(): void {
    let names = '';
    this.#object((name) => {
      if (name !== 'id' && name !== 'inputs') {
        this.#skip();
        return;
      }
      if (names.includes(name)) throw new Unclear();
      names += name;
      if (name === 'inputs') this.#inputs();
      else if (this.#look() === 0x22) this.#hole('id', -1);
      else this.#skip();
    });
  }

  #inputs(): void {
    if (this.#look() !== 0x5b) throw new Unclear();
    this.#at++;
    for (let input = 0; this.#look() !== 0x5d; input++) {
      if (this.#look() === 0x2c) this.#at++;
      let seen = '';
      this.#object((name) => {
        if (name !== 'data' && name !== 'shape') {
          this.#skip();
          return;
        }
        if (seen.includes(name)) throw new Unclear();
        if (name === 'shape' && seen !== '') this.#skip();
        else this.#hole(name, input);
        seen += name;
      });
      if (seen === 'shape') this.holes.pop();
    }
    this.#at++;
  }

  /** Calls `member` with each name. `member` must walk over the value. */
  #object(member: (name: string) => void): void {
    if (this.#look() !== 0x7b) throw new Unclear();
    this.#at++;
    while (this.#look() !== 0x7d) {
      if (this.#look() === 0x2c) this.#at++;
      this.#look();
      const start = this.#at;
      this.#skip();
      const name = this.#bytes.subarray(start + 1, this.#at - 1);
      if (name.includes(0x5c)) throw new Unclear();
      this.#look();
      this.#at++; // The colon.
      member(name.toString('latin1'));
    }
    this.#at++;
  }

  #hole(kind: Hole['kind'], input: number): void {
    this.#look();
    const start = this.#at;
    this.#skip();
    this.holes.push({ start, end: this.#at, kind, input });
  }

  /** The next byte after spaces. */
  #look(): number {
    for (;;) {
      const byte = this.#bytes[this.#at] ?? 0;
      if (byte === 0) throw new Unclear();
      if (byte > 0x20) return byte;
      this.#at++;
    }
  }

  /** Walks over a value. */
  #skip(): void {
    const bytes = this.#bytes;
    let depth = 0;
    do {
      const byte = this.#look();
      this.#at++;
      if (byte === 0x22) {
        while (bytes[this.#at] !== 0x22) this.#at += bytes[this.#at] === 0x5c ? 2 : 1;
        this.#at++;
      } else if (byte === 0x5b || byte === 0x7b) depth++;
      else if (byte === 0x5d || byte === 0x7d) depth--;
      else if (depth === 0) {
        // A number, true, false or null.
        while (!isEnd(bytes[this.#at] ?? 0)) this.#at++;
      }
    } while (depth > 0);
  }
}

/** Whether a number or a word has ended. */
function isEnd(byte: number): boolean {
  return byte <= 0x20 || byte === 0x2c || byte === 0x5d || byte === 0x7d;
}

/**
 * Finds the holes of a request.
 *
 * @param bytes - A text that was parsed as a request.
 * @returns The holes in order; undefined if they are ambiguous.
 */
export function findHoles(bytes: Buffer): readonly Hole[] | undefined {
  const walk = new Walk(bytes);
  try {
    walk.request();
    return walk.holes;
  } catch (error) {
    if (error instanceof Unclear) return undefined;
    throw error;
  }
}
