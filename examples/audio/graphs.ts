/** The two ONNX files of the classifier: for whole sounds, and for sounds that arrive piece by piece. */
import { graph, type Graph } from '../../test/support/onnx/graph.js';
import { columns, rows } from './synthesis.js';

/** Samples a second. */
export const rate = 8000;

/** Samples of a window, and from the begin of a window to that of the next one: 25 ms and 10 ms. */
export const windowLength = 200;
export const hop = 80;

/** Samples that a window shares with the one before it. */
export const heard: number = windowLength - hop;

/** Samples that the second graph takes at a time: 20 ms. */
export const chunk: number = 2 * hop;

/** The frequencies that are looked for, in Hz. */
export const frequencies: readonly number[] = [...rows, ...columns];

/** Power below which there is silence, as a part of that of the loudest sine. */
const silence = 1e-6;

const hann = Float64Array.from(
  { length: windowLength },
  (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / windowLength),
);
const sum = hann.reduce((total, weight) => total + weight, 0);
const power = hann.reduce((total, weight) => total + weight * weight, 0);

/** What finds a frequency in a window: cosines for all frequencies, then sines. A pure tone then has the strength 1. */
export const filters: Float32Array = Float32Array.from(
  [Math.cos, Math.sin].flatMap((wave) =>
    frequencies.flatMap((frequency) =>
      [...hann].map(
        (weight, i) => ((weight * wave((2 * Math.PI * frequency * i) / rate)) / sum) * Math.SQRT2,
      ),
    ),
  ),
);

/** What finds the power of a window. */
export const powerFilter: Float32Array = Float32Array.from(hann, (weight) => (weight * weight) / power);

/** The strength of each frequency in a window, from 0 to 1: what the graphs compute, for training. */
export function strengths(samples: Float32Array): number[] {
  const total =
    silence / 2 + samples.reduce((so, sample, i) => so + sample * sample * (powerFilter[i] ?? 0), 0);
  const product = (filter: number): number =>
    samples.reduce((so, sample, i) => so + sample * (filters[filter * windowLength + i] ?? 0), 0);
  return frequencies.map((_, i) =>
    Math.sqrt((product(i) ** 2 + product(i + frequencies.length) ** 2) / total),
  );
}

/** The weights of a classifier: a row for each class, with a number for each frequency and a bias. */
export type Classifier = readonly (readonly number[])[];

/** Adds windows, their strengths, and the classifier to a graph: from `sound`, FP32 [N, T], to `scores`, FP32 [N, T', classes]. */
function classified(model: Graph, classifier: Classifier): Graph {
  const count = frequencies.length;
  const pairs = Float32Array.from({ length: count * 2 * count }, (_, i) =>
    (i % (2 * count)) % count === Math.floor(i / (2 * count)) ? 1 : 0,
  );
  const weights = Float32Array.from(classifier.flatMap((row) => row.slice(0, count)));
  const biases = Float32Array.from(classifier, (row) => row[count] ?? 0);
  return model
    .initializer('filters', 'FP32', [2 * count, 1, windowLength], filters)
    .initializer('power_filter', 'FP32', [1, 1, windowLength], powerFilter)
    .initializer('pairs', 'FP32', [count, 2 * count, 1], pairs)
    .initializer('silence', 'FP32', [1], [silence / 2])
    .initializer('weights', 'FP32', [classifier.length, count, 1], weights)
    .initializer('biases', 'FP32', [classifier.length], biases)
    .initializer('one', 'INT64', [1], [1])
    .node('Unsqueeze', ['sound', 'one'], ['channel'])
    .node('Conv', ['channel', 'filters'], ['products'], { strides: [hop] })
    .node('Mul', ['products', 'products'], ['squares'])
    .node('Conv', ['squares', 'pairs'], ['powers'])
    .node('Mul', ['channel', 'channel'], ['squared'])
    .node('Conv', ['squared', 'power_filter'], ['power'], { strides: [hop] })
    .node('Add', ['power', 'silence'], ['total'])
    .node('Div', ['powers', 'total'], ['shares'])
    .node('Sqrt', ['shares'], ['strengths'])
    .node('Conv', ['strengths', 'weights', 'biases'], ['logits'])
    .node('Transpose', ['logits'], ['rows'], { perm: [0, 2, 1] })
    .node('Softmax', ['rows'], ['scores'], { axis: 2 });
}

/** The classifier of whole sounds. Before the first sample there was silence, so that it answers as the other one does. */
export function tones(classifier: Classifier): Uint8Array {
  const model = graph('tones')
    .input('samples', 'FP32', ['N', 'T'])
    .initializer('pads', 'INT64', [4], [0, heard, 0, 0])
    .node('Pad', ['samples', 'pads'], ['sound']);
  return classified(model, classifier).output('scores', 'FP32', ['N', 'W', classifier.length]).encode();
}

/** The classifier of sounds that are going on: it takes the last samples of the piece before, and returns those of this one. */
export function listen(classifier: Classifier): Uint8Array {
  const model = graph('listen')
    .input('samples', 'FP32', ['N', chunk])
    .input('heard', 'FP32', ['N', heard])
    .initializer('from', 'INT64', [1], [chunk])
    .initializer('to', 'INT64', [1], [chunk + heard])
    .node('Concat', ['heard', 'samples'], ['sound'], { axis: 1 });
  return classified(model, classifier)
    .node('Slice', ['sound', 'from', 'to', 'one'], ['heard_next'])
    .output('scores', 'FP32', ['N', chunk / hop, classifier.length])
    .output('heard_next', 'FP32', ['N', heard])
    .encode();
}
