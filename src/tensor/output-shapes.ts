/** Shapes of outputs. Shapes that differ only in the batch are made once. */

/** The largest batch whose shape is kept. */
const maxKeptShapes = 1024;

/** The dims in the `rank` words from `position` on. */
function readShape(words: Int32Array, position: number, rank: number): number[] {
  // The common ranks use literals, which are faster than an array that grows.
  if (rank === 2) return [words[position] ?? 0, words[position + 1] ?? 0];
  if (rank === 1) return [words[position] ?? 0];
  const shape: number[] = [];
  for (let dim = 0; dim < rank; dim++) shape.push(words[position + dim] ?? 0);
  return shape;
}

/** Keeps the shapes of one output. */
export class OutputShapes {
  readonly #kept: (readonly number[] | undefined)[] = [];

  /** The shape in the `rank` words from `position` on. It is frozen if several outputs share it. */
  read(words: Int32Array, position: number, rank: number): readonly number[] {
    const rows = words[position] ?? 0;
    if (rank === 0 || rows > maxKeptShapes) return readShape(words, position, rank);
    const kept = this.#kept[rows];
    if (kept === undefined) return this.#keep(rows, readShape(words, position, rank));
    if (kept.length !== rank) return readShape(words, position, rank);
    for (let dim = 1; dim < rank; dim++) {
      if (kept[dim] !== words[position + dim]) return readShape(words, position, rank);
    }
    return kept;
  }

  #keep(rows: number, shape: readonly number[]): readonly number[] {
    this.#kept[rows] = Object.freeze(shape);
    return shape;
  }
}
