/** A recurrent model that recites lines letter by letter. Its weights are the lines. */
import { graph } from '../../test/support/onnx/graph.js';
import { elementType } from '../../test/support/onnx/tensor.js';

/** The code of the letter at the end of each line. */
export const endOfLine = 10;

/** Vectors of the same length that are orthogonal to each other, one for each place among the letters. */
interface Places {
  /** How many elements each has. */
  readonly units: number;
  /** An element of the vector of a place. */
  at(place: number, unit: number): number;
}

/** As few units as possible: each place has one of its own. */
function fewest(count: number): Places {
  return { units: count, at: (place, unit) => (place === unit ? 1 : 0) };
}

/** Each place is in all units: the rows of a Hadamard matrix. `units` is a power of two. */
function spread(units: number): Places {
  const size = 1 / Math.sqrt(units);
  return {
    units,
    at: (place, unit) => {
      let bits = place & unit;
      let sign = size;
      for (; bits !== 0; bits &= bits - 1) sign = -sign;
      return sign;
    },
  };
}

/** The letters of all lines, one after the other. */
function lettersOf(lines: readonly string[]): readonly number[] {
  return Array.from(lines.map((line) => `${line}\n`).join(''), (letter) => letter.codePointAt(0) ?? 0);
}

/** The units of a reciter's state; see {@link reciterModel}. */
export function unitsOf(lines: readonly string[], units?: number): number {
  return units ?? lettersOf(lines).length;
}

/**
 * line, INT64 [N, 1], the number of a line; start, FP32 [N, 1], 1 for its first letter, else 0; here, FP32 [N, U], the
 * place of the last letter among all letters, as a vector. To letter, INT64 [N, 1], the code of the next letter, and
 * next, FP32 [N, U], its place. The letter behind a line is {@link endOfLine}.
 *
 * @param units - The U units of its recurrent layer, a power of two that is larger than the number of letters. The
 *   layer has U * U weights, none of them 0. Left out: one unit for each letter, which is the least.
 */
export function reciterModel(lines: readonly string[], units?: number): Uint8Array {
  const letters = lettersOf(lines);
  const places = units === undefined ? fewest(letters.length) : spread(units);
  const count = places.units;
  const vectors = letters.map((_, place) =>
    Float32Array.from({ length: count }, (_, unit) => places.at(place, unit)),
  );
  const starts = new Float32Array(lines.length * count);
  let start = 0;
  lines.forEach((line, number) => {
    starts.set(vectors[start] ?? [], number * count);
    start += Array.from(line).length + 1;
  });
  // Takes the vector of each place to that of the next one.
  const shift = new Float32Array(count * count);
  const codes = new Float32Array(count);
  vectors.forEach((vector, place) => {
    const next = vectors[place + 1];
    for (let unit = 0; unit < count; unit++) {
      const value = vector[unit] ?? 0;
      codes[unit] = (codes[unit] ?? 0) + value * (letters[place] ?? 0);
      if (value === 0 || next === undefined) continue;
      const row = shift.subarray(unit * count, (unit + 1) * count);
      for (let i = 0; i < count; i++) row[i] = (row[i] ?? 0) + value * (next[i] ?? 0);
    }
  });
  const bytes = (values: Float32Array): Uint8Array => new Uint8Array(values.buffer);
  return graph('reciter')
    .input('line', 'INT64', ['N', 1])
    .input('start', 'FP32', ['N', 1])
    .input('here', 'FP32', ['N', count])
    .initializer('shift', 'FP32', [count, count], bytes(shift))
    .initializer('starts', 'FP32', [lines.length, count], bytes(starts))
    .initializer('codes', 'FP32', [count, 1], bytes(codes))
    .initializer('axis', 'INT64', [1], [1])
    .node('Gather', ['starts', 'line'], ['begin_down'])
    .node('Squeeze', ['begin_down', 'axis'], ['begin'])
    .node('Mul', ['begin', 'start'], ['first'])
    .node('MatMul', ['here', 'shift'], ['moved'])
    .node('Add', ['first', 'moved'], ['next'])
    .node('MatMul', ['next', 'codes'], ['code'])
    .node('Round', ['code'], ['whole'])
    .node('Cast', ['whole'], ['letter'], { to: elementType.INT64 })
    .output('letter', 'INT64', ['N', 1])
    .output('next', 'FP32', ['N', count])
    .encode();
}
