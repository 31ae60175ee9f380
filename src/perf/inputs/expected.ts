/** Compares outputs with those of `validation_data`. */

import { TritonError } from '../../errors.js';
import type { Datatype } from '../../tensor/datatype.js';
import type { AnyTensor } from '../../tensor/tensor.js';
import { tensorFactory } from '../../tensor/output.js';
import { formatShape } from '../../tensor/shape.js';
import type { Item } from './item.js';

/** What an output must be. */
export interface ExpectedOutput {
  readonly name: string;
  /** The rows of the request; those without an expectation are not compared. */
  readonly rows: readonly (Item | undefined)[];
  /** Whether the output has a batch dimension. If not, there is one row. */
  readonly batched: boolean;
}

/**
 * How far finite floats may be apart, as a share of the expected value or of 1: files have decimals, and libraries round in
 * different orders.
 */
const tolerance = 1e-4;

const floats: ReadonlySet<Datatype> = new Set(['FP16', 'BF16', 'FP32', 'FP64']);

/**
 * Compares the outputs of a request.
 *
 * @returns Why they differ; undefined if they do not.
 */
export function compareOutputs(
  model: string,
  expected: readonly ExpectedOutput[],
  outputs: Readonly<Record<string, AnyTensor | undefined>>,
): TritonError | undefined {
  for (const one of expected) {
    const { name } = one;
    const output = outputs[name];
    const why = output === undefined ? 'it is missing' : difference(one, output);
    if (why !== undefined)
      return new TritonError(
        'UNKNOWN',
        `model '${model}': output '${name}' is not that of validation_data: ${why}`,
        {
          model,
          tensor: name,
        },
      );
  }
  return undefined;
}

function difference({ rows, batched }: ExpectedOutput, output: AnyTensor): string | undefined {
  let got: readonly unknown[] | undefined;
  for (const [at, row] of rows.entries()) {
    if (row === undefined) continue;
    const { datatype, shape, bytes } = row;
    if (output.datatype !== datatype) return `its datatype is ${output.datatype}, not ${datatype}`;
    const wantedShape = formatShape(batched ? [rows.length, ...shape] : shape);
    const hasShape = formatShape(output.shape);
    if (hasShape !== wantedShape) return `it has shape ${hasShape}, not ${wantedShape}`;
    got ??= flat(output.toArray());
    const tensor = tensorFactory(datatype)(shape, bytes.slice().buffer) as AnyTensor;
    const wanted = flat(tensor.toArray());
    const start = at * wanted.length;
    const isFloat = floats.has(datatype);
    for (const [i, value] of wanted.entries()) {
      const found = got[start + i];
      if (!isClose(value, found, isFloat))
        return `element ${start + i} is ${text(found)}, not ${text(value)}`;
    }
  }
  return undefined;
}

function flat(value: unknown): unknown[] {
  return Array.isArray(value) ? value.flatMap(flat) : [value];
}

function isClose(wanted: unknown, got: unknown, isFloat: boolean): boolean {
  if (typeof wanted === 'number' && typeof got === 'number') {
    if (Object.is(wanted, got) || wanted === got) return true;
    // A share of Infinity would be all numbers.
    if (!isFloat || !Number.isFinite(wanted) || !Number.isFinite(got)) return false;
    return Math.abs(wanted - got) <= tolerance * Math.max(1, Math.abs(wanted));
  }
  if (wanted instanceof Uint8Array && got instanceof Uint8Array) return Buffer.compare(wanted, got) === 0;
  return wanted === got;
}

function text(value: unknown): string {
  return value instanceof Uint8Array ? JSON.stringify(Buffer.from(value).toString()) : String(value);
}
