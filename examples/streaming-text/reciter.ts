/** A recurrent model that recites lines letter by letter. Its weights are the lines. */
import { graph } from '../../test/support/onnx/graph.js';
import { elementType } from '../../test/support/onnx/tensor.js';

/** The code of the letter at the end of each line. */
export const endOfLine = 10;

/**
 * line, INT64 [N, 1], the number of a line; start, FP32 [N, 1], 1 for its first letter, else 0; here, FP32 [N, T], the
 * place of the last letter among all T letters, as a 1 among zeros. To letter, INT64 [N, 1], the code of the next letter,
 * and next, FP32 [N, T], its place. The letter behind a line is {@link endOfLine}.
 */
export function reciterModel(lines: readonly string[]): Uint8Array {
  const letters = Array.from(
    lines.map((line) => `${line}\n`).join(''),
    (letter) => letter.codePointAt(0) ?? 0,
  );
  const count = letters.length;
  const shift = new Float32Array(count * count);
  for (let place = 0; place + 1 < count; place++) shift[place * count + place + 1] = 1;
  const starts = new Float32Array(lines.length * count);
  let start = 0;
  lines.forEach((line, number) => {
    starts[number * count + start] = 1;
    start += Array.from(line).length + 1;
  });
  const bytes = (values: Float32Array): Uint8Array => new Uint8Array(values.buffer);
  return graph('reciter')
    .input('line', 'INT64', ['N', 1])
    .input('start', 'FP32', ['N', 1])
    .input('here', 'FP32', ['N', count])
    .initializer('shift', 'FP32', [count, count], bytes(shift))
    .initializer('starts', 'FP32', [lines.length, count], bytes(starts))
    .initializer('codes', 'FP32', [count, 1], bytes(Float32Array.from(letters)))
    .initializer('axis', 'INT64', [1], [1])
    .node('Gather', ['starts', 'line'], ['begin_down'])
    .node('Squeeze', ['begin_down', 'axis'], ['begin'])
    .node('Mul', ['begin', 'start'], ['first'])
    .node('MatMul', ['here', 'shift'], ['moved'])
    .node('Add', ['first', 'moved'], ['next'])
    .node('MatMul', ['next', 'codes'], ['code'])
    .node('Cast', ['code'], ['letter'], { to: elementType.INT64 })
    .output('letter', 'INT64', ['N', 1])
    .output('next', 'FP32', ['N', count])
    .encode();
}
