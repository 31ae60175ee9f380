/** Keeps the shapes of one input's requests, so that equal shapes are the same array. */

/** The largest batch whose shape is kept. */
const maxKeptShapes = 1024;

/**
 * See the head of this file. The shapes are not frozen, so that V8 sees one kind of array everywhere. Callers
 * must not change them.
 */
export class KeptShapes {
  readonly #dims: readonly number[];
  readonly #batched: boolean;
  /** The position of the first variable dim in a full shape. */
  readonly #variable: number;
  /** Shapes by batch, for an input whose dims are all fixed. */
  readonly #byBatch: (readonly number[] | undefined)[] = [];
  #last: readonly number[] = [];

  /** @param dims - The configured dims. */
  constructor(dims: readonly number[], batched: boolean) {
    this.#dims = dims;
    this.#batched = batched;
    this.#variable = dims.indexOf(-1) + (batched ? 1 : 0);
  }

  /** The shape for a batch, for an input whose dims are all fixed. */
  ofBatch(batch: number): readonly number[] {
    return this.#byBatch[batch] ?? this.#make(batch);
  }

  /** The shape for a batch and a value of the one variable dim. */
  withVariable(batch: number, rest: number): readonly number[] {
    const last = this.#last;
    const first = this.#batched ? 1 : 0;
    if (last.length === this.#dims.length + first && (first === 0 || last[0] === batch)) {
      if (last[this.#variable] === rest) return last;
    }
    const shape: number[] = this.#batched ? [batch] : [];
    for (const dim of this.#dims) shape.push(dim === -1 ? rest : dim);
    this.#last = shape;
    return shape;
  }

  /**
   * The caller's shape as a kept array; undefined if it does not fit the configured dims. Each dim is read
   * once.
   */
  read(given: readonly unknown[]): readonly number[] | undefined {
    const last = this.#last;
    const first = this.#batched ? 1 : 0;
    const rank = this.#dims.length + first;
    if (given.length !== rank) return undefined;
    let same = last.length === rank;
    let shape: number[] | undefined;
    for (let i = 0; i < rank; i++) {
      const dim = given[i];
      if (same && dim === last[i]) continue;
      if (same || shape === undefined) shape = last.slice(0, i);
      same = false;
      if (typeof dim !== 'number' || !isDim(dim)) return undefined;
      const configured = i < first ? -1 : this.#dims[i - first];
      if (configured !== -1 && configured !== dim) return undefined;
      shape.push(dim);
    }
    if (shape === undefined) return last;
    this.#last = shape;
    return shape;
  }

  #make(batch: number): readonly number[] {
    const shape: readonly number[] = this.#batched ? [batch, ...this.#dims] : [...this.#dims];
    if (batch <= maxKeptShapes) this.#byBatch[batch] = shape;
    return shape;
  }
}

function isDim(value: number): boolean {
  return value >= 0 && value <= 2 ** 31 - 1 && Math.trunc(value) === value;
}
