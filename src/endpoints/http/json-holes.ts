/**
 * Finds the varying parts in the JSON of a request: its id, its inputs' shapes and data, and the ranges of shared memory
 * that its inputs and outputs are in.
 */

/** A range of the text that varies between requests. */
export interface Hole {
  readonly start: number;
  readonly end: number;
  /**
   * An `id` and a `region` include their quotes. A shape is a hole only if the data comes after it, because reading the
   * data needs the shape, or if the input is in shared memory. What is `null` is absent, and not a hole: a request
   * that has it differs in more than its values.
   */
  readonly kind: 'id' | 'shape' | 'data' | 'region' | 'offset' | 'byteSize';
  /** The index in `inputs`, or in `outputs`; -1 for the id. */
  readonly index: number;
  readonly ofOutput: boolean;
}

/** The parameters that vary, with the kinds of their holes. */
const ranges: ReadonlyMap<string, Hole['kind']> = new Map([
  ['shared_memory_region', 'region'],
  ['shared_memory_offset', 'offset'],
  ['shared_memory_byte_size', 'byteSize'],
]);

/** Thrown for a text that has a member twice, or a name with escapes. Only the parser knows which member counts. */
class Unclear extends Error {}

/** What was found of an input so far. */
interface SeenOfInput {
  /** Its members that may have holes. */
  names: string;
  /** Those that are null. */
  nulls: string;
  shape: Hole | undefined;
  inRegion: boolean;
}

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
      if (name !== 'id' && name !== 'inputs' && name !== 'outputs') {
        this.#skip();
        return;
      }
      if (names.includes(name)) throw new Unclear();
      names += name;
      if (name === 'inputs') this.#inputs();
      else if (this.#isNull()) this.#skip();
      else if (name === 'outputs') this.#outputs();
      else this.#hole('id', -1);
    });
  }

  #inputs(): void {
    this.#list((input) => {
      const seen: SeenOfInput = { names: '', nulls: '', shape: undefined, inRegion: false };
      this.#object((name) => {
        if (name !== 'data' && name !== 'shape' && name !== 'parameters') {
          this.#skip();
          return;
        }
        if (seen.names.includes(name) || seen.nulls.includes(name)) throw new Unclear();
        if (this.#isNull()) {
          seen.nulls += name;
          this.#skip();
          return;
        }
        if (name === 'parameters') seen.inRegion = this.#parameters(input, false);
        else if (name === 'shape' && seen.names.includes('data')) this.#skip();
        else {
          const hole = this.#hole(name, input);
          if (name === 'shape') seen.shape = hole;
        }
        seen.names += name;
      });
      const { shape, names, inRegion } = seen;
      if (shape !== undefined && !names.includes('data') && !inRegion)
        this.holes.splice(this.holes.indexOf(shape), 1);
    });
  }

  #outputs(): void {
    this.#list((output) => {
      let seen = false;
      this.#object((name) => {
        if (name !== 'parameters') {
          this.#skip();
          return;
        }
        if (seen) throw new Unclear();
        seen = true;
        if (this.#isNull()) this.#skip();
        else this.#parameters(output, true);
      });
    });
  }

  /** Walks over the parameters of a tensor. Returns whether they name a region. */
  #parameters(index: number, ofOutput: boolean): boolean {
    let seen = '';
    let inRegion = false;
    this.#object((name) => {
      const kind = ranges.get(name);
      if (kind === undefined) {
        this.#skip();
        return;
      }
      if (seen.includes(kind)) throw new Unclear();
      seen += kind;
      if (this.#isNull()) {
        this.#skip();
        return;
      }
      if (kind === 'region') inRegion = true;
      this.#hole(kind, index, ofOutput);
    });
    return inRegion;
  }

  /** Calls `element` for each element. `element` must walk over it. */
  #list(element: (index: number) => void): void {
    if (this.#look() !== 0x5b) throw new Unclear();
    this.#at++;
    for (let index = 0; this.#look() !== 0x5d; index++) {
      if (this.#look() === 0x2c) this.#at++;
      element(index);
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

  #hole(kind: Hole['kind'], index: number, ofOutput: boolean = false): Hole {
    this.#look();
    const start = this.#at;
    this.#skip();
    const hole = { start, end: this.#at, kind, index, ofOutput };
    this.holes.push(hole);
    return hole;
  }

  /** Whether the value here is null. */
  #isNull(): boolean {
    return this.#look() === 0x6e;
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
