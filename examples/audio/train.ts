/**
 * Makes the two ONNX files of the classifier: `node dist/examples/audio/train.js` in the top folder.
 *
 * The classifier is a softmax regression over the strengths of eight frequencies in a window of 25 ms. It learns from windows that are
 * made here: keys of different loudness under noise, and what is no key, such as noise and single tones.
 */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { randomOf } from '../../src/perf/inputs/random.js';
import { modelRepository } from './folder.js';
import { frequencies, listen, rate, strengths, tones, windowLength, type Classifier } from './graphs.js';
import { addTone, columns, keys, rows } from './synthesis.js';

const classes = keys.length + 1;
const windowsOfKey = 40;
const windowsOfNoKey = 640;
const steps = 300;
const learningRate = 8;

/** A window as the classifier sees it, and its class. */
interface Example {
  readonly strengths: readonly number[];
  readonly label: number;
}

/** The windows to learn from: the same ones each time. */
export function examples(seed = 1): Example[] {
  const random = randomOf(seed);
  const between = (low: number, high: number): number => low + (high - low) * random();
  const tone = (samples: Float32Array, frequency: number, level: number): void => {
    addTone(samples, (frequency * between(0.985, 1.015)) / rate, level, random());
  };
  const noisy = (samples: Float32Array, noise: number): readonly number[] =>
    strengths(samples.map((sample) => sample + noise * (2 * random() - 1)));

  const found: Example[] = [];
  for (let label = 0; label < keys.length; label++)
    for (let i = 0; i < windowsOfKey; i++) {
      const level = 10 ** between(-2, -0.5);
      const samples = new Float32Array(windowLength);
      tone(samples, rows[Math.floor(label / 4)] ?? 0, level);
      tone(samples, columns[label % 4] ?? 0, level * 10 ** between(-0.3, 0.3));
      found.push({ strengths: noisy(samples, level * between(0, 0.8)), label });
    }
  for (let i = 0; i < windowsOfNoKey; i++) {
    const samples = new Float32Array(windowLength);
    // One tone, two of one group, a dial tone or a voice, or nothing.
    const level = 10 ** between(-2, -0.5);
    if (i % 4 === 0) tone(samples, frequencies[(i / 4) % frequencies.length] ?? 0, level);
    else if (i % 4 === 1)
      for (const one of i % 8 === 1 ? rows : columns) tone(samples, one, level * random());
    else if (i % 4 === 2)
      for (let harmonic = 1, base = between(90, 450); harmonic < 8; harmonic++)
        tone(samples, harmonic * base, (level * random()) / harmonic);
    found.push({ strengths: noisy(samples, level * between(0.02, 1)), label: keys.length });
  }
  return found;
}

/** The classifier of the examples: gradient descent over all of them at each step. */
export function train(from: readonly Example[]): Classifier {
  const size = frequencies.length + 1;
  const weights = Array.from({ length: classes }, () => new Float64Array(size));
  for (let step = 0; step < steps; step++) {
    const gradient = weights.map(() => new Float64Array(size));
    for (const { strengths: values, label } of from) {
      const features = [...values, 1];
      const logits = weights.map((row) =>
        row.reduce((sum, weight, i) => sum + weight * (features[i] ?? 0), 0),
      );
      const largest = Math.max(...logits);
      const scores = logits.map((logit) => Math.exp(logit - largest));
      const total = scores.reduce((sum, score) => sum + score, 0);
      for (const [one, row] of gradient.entries()) {
        const fault = (scores[one] ?? 0) / total - (one === label ? 1 : 0);
        for (const [i, feature] of features.entries()) row[i] = (row[i] ?? 0) + fault * feature;
      }
    }
    for (const [one, row] of weights.entries())
      for (let i = 0; i < size; i++)
        row[i] = (row[i] ?? 0) - (learningRate * (gradient[one]?.[i] ?? 0)) / from.length;
  }
  // Few digits: so that a last bit that differs on another machine makes no other file.
  return weights.map((row) => Array.from(row, (weight) => Math.round(weight * 1000) / 1000));
}

/** The files that training makes, by their path in the repository of models. */
export function trainedFiles(): Record<string, Uint8Array> {
  const classifier = train(examples());
  return { 'tones/1/model.onnx': tones(classifier), 'listen/1/model.onnx': listen(classifier) };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  for (const [path, content] of Object.entries(trainedFiles()))
    writeFileSync(new URL(path, modelRepository), content);
