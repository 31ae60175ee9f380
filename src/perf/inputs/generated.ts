/** Inputs made by the tool: random ones, or zeros. */

import { invalidArgument } from '../../errors.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import type { Datatype } from '../../tensor/datatype.js';
import { itemOfElements, type Item } from './item.js';
import type { PlannedModel, PlannedTensor } from './model-inputs.js';
import type { Random } from './random.js';

/** How elements are made. */
export interface Generator {
  readonly random: Random;
  /** Zeros instead of random elements. */
  readonly zero: boolean;
  /** The length of strings. */
  readonly stringLength: number;
  /** The text of all strings; undefined: random letters. */
  readonly stringData: string | undefined;
}

/** Letters and digits of random strings, as in perf_analyzer. */
const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** Generated inputs have at most so many elements, and texts so many letters: larger ones come from a folder. */
const mostElements: number = 2 ** 26;

/** The largest random integer: many integers are places in a table, and all integers' datatypes have it. */
const mostInteger = 127;

/**
 * Makes a row of each input. Optional inputs are left out, unless all are optional: a request needs one.
 *
 * @throws {@link TritonError} INVALID_ARG if an input needs a shape, or cannot be made.
 */
export function generateRow(model: PlannedModel, generator: Generator): ReadonlyMap<string, Item> {
  const row = new Map<string, Item>();
  const onlyOptional = model.inputs.every(({ optional }) => optional);
  for (const input of model.inputs)
    if (!input.optional || (onlyOptional && input.shape !== undefined && !input.isShape))
      row.set(input.name, generateItem(model.name, input, generator));
  return row;
}

function generateItem(model: string, input: PlannedTensor, generator: Generator): Item {
  const { name, datatype, dims, shape, isShape } = input;
  if (isShape)
    throw invalidArgument(
      `model '${model}': the values of input '${name}' are a shape, which cannot be random; give them with --input-data`,
    );
  if (shape === undefined)
    throw invalidArgument(
      `model '${model}': input '${name}' has the variable shape [${dims.join(',')}]; give one with --shape ${name}:${dims.map((dim) => (dim < 0 ? '<n>' : dim)).join(',')}`,
    );
  const count = elementCount(shape);
  const size = datatype === 'BYTES' ? count * Math.max(1, stringSize(generator)) : count;
  if (!(size <= mostElements))
    throw invalidArgument(
      `model '${model}': input '${name}' of shape ${formatShape(shape)} is too large to be generated; expected at most ${mostElements} elements, or letters; give a folder with --input-data`,
    );
  const element = elementsOf(datatype, generator);
  const elements = Array.from({ length: count }, element);
  return itemOfElements(`model '${model}'`, name, datatype, shape, elements);
}

function stringSize({ zero, stringLength, stringData }: Generator): number {
  return stringData?.length ?? (zero ? 0 : stringLength);
}

function elementsOf(
  datatype: Datatype,
  { random, zero, stringLength, stringData }: Generator,
): () => number | boolean | string {
  switch (datatype) {
    case 'BYTES':
      if (stringData !== undefined) return () => stringData;
      if (zero) return () => '';
      return () =>
        Array.from({ length: stringLength }, () => letters[Math.floor(random() * letters.length)]).join('');
    case 'BOOL':
      return () => !zero && random() < 0.5;
    case 'FP16':
    case 'BF16':
    case 'FP32':
    case 'FP64':
      return () => (zero ? 0 : random());
    case 'INT8':
    case 'INT16':
    case 'INT32':
    case 'INT64':
    case 'UINT8':
    case 'UINT16':
    case 'UINT32':
    case 'UINT64':
      return () => (zero ? 0 : Math.floor(random() * (mostInteger + 1)));
  }
}
