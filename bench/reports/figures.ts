/**
 * The figures that tritonts has to reach, as data, and their comparison with a run. All functions are pure.
 */
import type { ContestantName, DelayRow, LoadRow, OurName } from './results.js';
import { reaches, staysBelow, type Estimate } from './statistics.js';

/** How many times as many requests per second tritonts must serve as another contestant. */
export interface RatioFigure {
  readonly kind: 'ratio';
  readonly model: string;
  readonly outstanding: number;
  readonly ours: OurName;
  readonly against: ContestantName;
  readonly atLeast: number;
}

/** The allowed additional delay (p99) of a timer under tritonts, compared with `against`. */
export interface DelayFigure {
  readonly kind: 'delay';
  readonly model: string;
  readonly outstanding: number;
  readonly ours: OurName;
  readonly against: ContestantName;
  readonly atMostMs: number;
}

/** A figure of either kind. */
export type Figure = RatioFigure | DelayFigure;

/** A figure with its measured value. */
export interface Verdict {
  readonly figure: Figure;
  /** The ratio, or the additional milliseconds; undefined if this run did not measure it. */
  readonly measured: Estimate | undefined;
  /** Whether the figure is met, within the spread. */
  readonly met: boolean;
}

type Limits = readonly (readonly [against: ContestantName, atLeast: number])[];

function ratios(model: string, outstanding: number, ours: OurName, limits: Limits): RatioFigure[] {
  return limits.map(([against, atLeast]) => ({ kind: 'ratio', model, outstanding, ours, against, atLeast }));
}

/** Only models that run inline have figures for both settings of tritonts. */
const ratioFigures: readonly RatioFigure[] = [
  ...ratios('add', 512, 'tritonts', [
    ['onnxruntime-node', 25],
    ['batched by hand', 0.9],
    ['piscina', 70],
  ]),
  ...ratios('add', 512, 'tritonts, inline off', [
    ['onnxruntime-node', 12],
    ['piscina', 50],
  ]),
  ...ratios('add', 64, 'tritonts', [
    ['onnxruntime-node', 18],
    ['batched by hand', 1.2],
    ['piscina', 60],
  ]),
  ...ratios('add', 64, 'tritonts, inline off', [
    ['onnxruntime-node', 4],
    ['piscina', 25],
  ]),
  ...ratios('add', 1, 'tritonts', [
    ['onnxruntime-node', 1.5],
    ['batched by hand', 1.5],
    ['piscina', 10],
  ]),
  ...ratios('mlp', 64, 'tritonts', [
    ['onnxruntime-node', 3],
    ['batched by hand', 1],
    ['piscina', 6],
    ['bare C++ loop', 0.85],
  ]),
  ...ratios('mlp', 128, 'tritonts', [
    ['onnxruntime-node', 3],
    ['batched by hand', 1],
    ['piscina', 6],
    ['bare C++ loop', 0.92],
  ]),
  ...ratios('text-8', 32, 'tritonts', [
    ['onnxruntime-node', 2.8],
    ['batched by hand', 1],
    ['piscina', 2.2],
    ['bare C++ loop', 0.92],
  ]),
  ...ratios('text-32', 32, 'tritonts', [
    ['onnxruntime-node', 1.6],
    ['batched by hand', 1],
    ['piscina', 1.35],
    ['bare C++ loop', 0.95],
  ]),
  ...ratios('conv', 32, 'tritonts', [
    ['onnxruntime-node', 0.97],
    ['batched by hand', 0.97],
    ['piscina', 1],
    ['bare C++ loop', 0.97],
  ]),
  ...ratios('identity', 512, 'tritonts', [['setImmediate', 0.6]]),
  ...ratios('identity', 64, 'tritonts', [['setImmediate', 0.55]]),
  ...ratios('identity', 512, 'tritonts, inline off', [['setImmediate', 0.4]]),
  ...ratios('identity', 64, 'tritonts, inline off', [['setImmediate', 0.15]]),
];

/** Every figure about loads and about the event loop. */
export const figures: readonly Figure[] = [
  ...ratioFigures,
  { kind: 'delay', model: 'text-32', outstanding: 32, ours: 'tritonts', against: 'idle loop', atMostMs: 1 },
  // Runs on the JS thread are compared with the same loop without them.
  ...[1, 64].map((outstanding): DelayFigure => ({
    kind: 'delay',
    model: 'add',
    outstanding,
    ours: 'tritonts',
    against: 'tritonts, inline off',
    atMostMs: 1,
  })),
];

/** The numbers of outstanding requests for which a model has a required ratio, ascending. */
export function requiredLoads(model: string): number[] {
  const loads = ratioFigures.filter((figure) => figure.model === model).map(({ outstanding }) => outstanding);
  return [...new Set(loads)].sort((a, b) => a - b);
}

/** Whether a required ratio of a model is about this contestant. */
export function isRequired(model: string, against: ContestantName): boolean {
  return ratioFigures.some((figure) => figure.model === model && figure.against === against);
}

/** Compares the rows of a run with the figures. */
export function judge(
  loads: readonly LoadRow[],
  delays: readonly DelayRow[],
  wanted: readonly Figure[] = figures,
): Verdict[] {
  return wanted.map((figure) => {
    if (figure.kind === 'ratio') {
      const measured = loads
        .find((row) => sameLoad(row, figure))
        ?.contestants.find(({ contestant }) => contestant === figure.against)?.ratios[figure.ours];
      return { figure, measured, met: measured !== undefined && reaches(measured, figure.atLeast) };
    }
    const rows = delays.filter((row) => sameLoad(row, figure));
    const ours = rows.find(({ contestant }) => contestant === figure.ours)?.p99;
    const theirs = rows.find(({ contestant }) => contestant === figure.against)?.p99;
    const measured = ours && theirs && beyond(ours, theirs);
    return { figure, measured, met: measured !== undefined && staysBelow(measured, figure.atMostMs) };
  });
}

function sameLoad(row: Pick<LoadRow, 'model' | 'outstanding'>, figure: Figure): boolean {
  return row.model === figure.model && row.outstanding === figure.outstanding;
}

function beyond(ours: Estimate, theirs: Estimate): Estimate {
  return {
    median: ours.median - theirs.median,
    spread: ours.spread === undefined ? undefined : ours.spread + (theirs.spread ?? 0),
    least: ours.least - theirs.greatest,
    greatest: ours.greatest - theirs.least,
  };
}
