/** The rows of the benchmark that the README and docs/performance.md show. */
import type { ContestantName } from '../reports/results.js';

/** A row of the tables. */
export interface ReadmeRow {
  readonly model: string;
  /** The model's title for readers. */
  readonly title: string;
  readonly outstanding: number;
}

/** The rows, from the smallest model to the largest. */
export const readmeRows: readonly ReadmeRow[] = [
  { model: 'add', title: '`x + 1`, 64 bytes', outstanding: 64 },
  { model: 'mlp', title: 'perceptron, 25 MB', outstanding: 64 },
  { model: 'text-8', title: 'text encoder, 8 tokens', outstanding: 32 },
  { model: 'text-32', title: 'text encoder, 32 tokens', outstanding: 32 },
  { model: 'text-128', title: 'text encoder, 128 tokens', outstanding: 8 },
  { model: 'conv', title: 'convolutions, 224 × 224', outstanding: 32 },
];

/** The contestants that are shown, with their titles, in the order of the columns. */
export const columns: readonly (readonly [name: ContestantName, title: string])[] = [
  ['onnxruntime-node', 'onnxruntime-node'],
  ['batched by hand', 'batched by hand'],
  ['piscina', 'Piscina'],
  ['tritonts', 'tritonts'],
];

/** The model whose throughput the picture draws, and with how many requests outstanding. */
export const drawn = {
  model: 'mlp',
  title: 'perceptron of 25 MB',
  outstanding: [1, 4, 16, 64, 256],
} as const;

/** The model under whose load timers are watched. */
export const watched = {
  model: 'text-32',
  title: 'text encoder with 32 tokens',
  outstanding: 32,
} as const;

/** Requests outstanding, load by load, of a model; none for one that is not shown. */
export function readmeLoads(model: string): readonly number[] {
  const loads = readmeRows.filter((row) => row.model === model).map(({ outstanding }) => outstanding);
  return [...new Set([...loads, ...(model === drawn.model ? drawn.outstanding : [])])].toSorted(
    (a, b) => a - b,
  );
}

/** The numbers of outstanding requests under which timers are watched. */
export function readmeDelays(model: string): readonly number[] {
  return model === watched.model ? [watched.outstanding] : [];
}
