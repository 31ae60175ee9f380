/** Models that return their inputs, and requests to them. */

import type { Inputs } from '../../src/index.js';
import { identity, type ConfigOptions } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';
import type { Dice } from './dice.js';
import { writeNumbers, writeTexts, type Expected, type NumberType, type Written } from './tensors.js';

/** A request to a model. */
export interface Drawn {
  readonly inputs: Inputs;
  /** The expected outputs by name. */
  readonly expected: Readonly<Record<string, Expected>>;
  /** Overwrites the memory that the caller passed. */
  spoil(): void;
}

/** A model, and a function that makes random requests to it. */
export interface Kind {
  readonly model: RepositoryModel;
  /** A random shape. Requests with equal shapes are alike. */
  shape(dice: Dice): readonly number[];
  draw(dice: Dice, shape: readonly number[], request: number, aside: () => void): Drawn;
}

type Dims = readonly (readonly [datatype: NumberType | 'BYTES', dims: readonly number[]])[];

/** Inputs x0, x1, … and outputs y0, y1, … that are their copies. */
function modelOf(dims: Dims, options: ConfigOptions & { readonly delayMs?: number }): RepositoryModel {
  const tensors = (name: string): ConfigOptions['inputs'] =>
    dims.map(([datatype, list], i) => ({ name: `${name}${i}`, datatype, dims: list }));
  return identity({ ...options, inputs: tensors('x') ?? [], outputs: tensors('y') ?? [] });
}

/** @param order - Names come in this order. */
function together(written: readonly Written[], reverse: boolean): Drawn {
  const inputs = written.map(({ value }, i): [string, Inputs[string]] => [`x${i}`, value]);
  return {
    inputs: Object.fromEntries(reverse ? inputs.reverse() : inputs),
    expected: Object.fromEntries(written.map(({ expected }, i) => [`y${i}`, expected])),
    spoil: () => {
      for (const one of written) one.spoil();
    },
  };
}

/** Mostly a few bytes; sometimes more than a range of a slab, an array of its own, or a page holds. */
function width(dice: Dice): number {
  return dice.pick([1, 2, 3, 7, 16, 16, 17, 64, 300, dice.oneIn(6) ? 1100 : 5, dice.oneIn(10) ? 20_000 : 6]);
}

function numbers(datatype: NumberType, options: ConfigOptions & { readonly delayMs?: number }): Kind {
  return {
    model: modelOf([[datatype, [-1]]], options),
    shape: (dice) => [1 + (dice.oneIn(3) ? dice.below(3) : 0), width(dice)],
    draw: (dice, shape, request, aside) =>
      together([writeNumbers(dice, datatype, shape, request, shape[0] === 1, aside)], false),
  };
}

/** The models by name. */
export const kinds: Readonly<Record<string, Kind>> = {
  fixed: {
    model: modelOf([['FP32', [16]]], { maxBatchSize: 64 }),
    shape: (dice) => [dice.oneIn(3) ? 1 + dice.below(5) : 1, 16],
    draw: (dice, shape, request, aside) =>
      together([writeNumbers(dice, 'FP32', shape, request, true, aside)], false),
  },
  floats: numbers('FP32', { maxBatchSize: 16 }),
  bytes: numbers('UINT8', { maxBatchSize: 8, instances: 2, delayMs: 1 }),
  shorts: numbers('INT16', { maxBatchSize: 4, batching: false }),
  doubles: numbers('FP64', { maxBatchSize: 1024, batching: 'max_queue_delay_microseconds: 300' }),
  alone: {
    model: modelOf([['FP32', [-1, 3]]], { maxBatchSize: 0, batching: false, instances: 2 }),
    shape: (dice) => [1 + dice.below(dice.oneIn(10) ? 3000 : 9), 3],
    draw: (dice, shape, request, aside) =>
      together([writeNumbers(dice, 'FP32', shape, request, true, aside)], false),
  },
  pair: {
    model: modelOf(
      [
        ['INT64', [-1]],
        ['FP32', [2, -1]],
      ],
      { maxBatchSize: 32 },
    ),
    shape: (dice) => [1 + dice.below(2), width(dice), 1 + dice.below(4)],
    draw: (dice, [rows = 1, first = 1, second = 1], request, aside) => {
      const one = writeNumbers(dice, 'INT64', [rows, first], request, false, aside);
      const other = writeNumbers(dice, 'FP32', [rows, 2, second], request + 1, false, aside);
      return together([one, other], dice.oneIn(2));
    },
  },
  texts: {
    model: modelOf([['BYTES', [-1]]], { maxBatchSize: 16 }),
    shape: (dice) => [1 + dice.below(2), 1 + dice.below(dice.oneIn(8) ? 200 : 4)],
    draw: (dice, shape, request, aside) => together([writeTexts(dice, shape, request, aside)], false),
  },
};
