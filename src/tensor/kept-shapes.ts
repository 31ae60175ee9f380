/** The shapes of one input's requests: those that are like earlier ones are the same arrays. */

/** Batches up to this have a shape that is kept. */
const maxKeptShapes = 1024;

/** See the head of this file. Shapes are not frozen, but not to be changed: those who read them meet arrays of one kind. */
export class KeptShapes {
  readonly #dims: readonly number[];
  readonly #batched: boolean;
  /** Of inputs whose dims are all fixed, by batch. */
  readonly #byBatch: (readonly number[] | undefined)[] = [];
  #last: readonly number[] = [];

  /** @param dims - As configured. */
  constructor(dims: readonly number[], batched: boolean) {
    this.#dims = dims;
    this.#batched = batched;
  }

  /** The shape of a batch; of an input whose dims are all fixed. */
  ofBatch(batch: number): readonly number[] {
    return this.#byBatch[batch] ?? this.#make(batch);
  }

  /** The shape of a batch whose one variable dim is `rest`. */
  withVariable(batch: number, rest: number): readonly number[] {
    const last = this.#last;
    const first = this.#batched ? 1 : 0;
    if (last.length === this.#dims.length + first && (first === 0 || last[0] === batch)) {
      const at = this.#dims.indexOf(-1);
      if (last[at + first] === rest) return last;
    }
    const shape: number[] = this.#batched ? [batch] : [];
    for (const dim of this.#dims) shape.push(dim === -1 ? rest : dim);
    this.#last = shape;
    return shape;
  }

  /**
   * The shape that a caller gave, as an array of ours; undefined where it is not one of the rank or has other dims than
   * the configured ones. Reads each dim once.
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
