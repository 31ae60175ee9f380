/** Makes the steps of a run: from files, a folder, or generated. */

import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { invalidArgument, TritonError } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import type { TensorInput } from '../../tensor/inputs.js';
import { readDataFile, type DataStep, type Row } from './data-file.js';
import type { ExpectedOutput } from './expected.js';
import { generateRow, type Generator } from './generated.js';
import { inputRows } from './input-rows.js';
import { itemOfBytes, type Item } from './item.js';
import type { PlannedModel, PlannedTensor } from './model-inputs.js';
import type { Step, StepStream } from './step.js';

/** All data of a run. */
export interface DataSet {
  readonly streams: readonly [StepStream, ...StepStream[]];
  /** All steps of all streams. */
  readonly steps: readonly Step[];
  /** Whether the data came from files. */
  readonly given: boolean;
}

/**
 * Makes the steps.
 *
 * @param sources - Values of `--input-data`: `random`, `zero`, a folder, or JSON files.
 * @param batch - Rows of each request. Row i of step n is that of step n + i.
 * @throws {@link TritonError} INVALID_ARG for data that do not fit the model.
 */
export async function makeDataSet(
  model: PlannedModel,
  sources: readonly string[],
  generator: Omit<Generator, 'zero'>,
  batch: number,
): Promise<DataSet> {
  const [only = 'random'] = sources;
  if (sources.length > 1 && sources.some((one) => one === 'random' || one === 'zero'))
    throw invalidArgument('--input-data: random and zero stand alone; only files may be given several times');
  if (only === 'random' || only === 'zero') {
    const inputs = generateRow(model, { ...generator, zero: only === 'zero' });
    return dataSetOf(model, `model '${model.name}'`, [[{ inputs, expected: undefined }]], batch, false);
  }
  const streams: (readonly DataStep[])[] = [];
  for (const source of sources) streams.push(...(await readSource(model, source)));
  return dataSetOf(model, sources.map((one) => basename(one)).join(', '), streams, batch, true);
}

async function readSource(model: PlannedModel, source: string): Promise<readonly (readonly DataStep[])[]> {
  try {
    if ((await stat(source)).isDirectory()) return [[await readFolder(model, source)]];
    return readDataFile(basename(source), await readFile(source, 'utf8'), model).streams;
  } catch (error) {
    if (error instanceof TritonError) throw error;
    // Files that cannot be read, or that are too large for the memory of JavaScript.
    throw invalidArgument(
      `--input-data: expected 'random', 'zero', a JSON file or a folder but '${source}' cannot be read: ${thrownText(error)}`,
      { cause: error },
    );
  }
}

/** A file for each input, and perhaps for outputs, in wire layout. */
async function readFolder(model: PlannedModel, folder: string): Promise<DataStep> {
  const files = new Set(await readdir(folder));
  const read = async (tensors: readonly PlannedTensor[], required: boolean): Promise<Row> => {
    const row = new Map<string, Item>();
    for (const { name, datatype, dims, shape, optional } of tensors) {
      if (!files.has(name)) {
        if (required && !optional) throw invalidArgument(`--input-data: ${folder} has no file '${name}'`);
        continue;
      }
      if (shape === undefined)
        throw invalidArgument(
          `--input-data: '${name}' has the variable shape [${dims.join(',')}]; give --shape`,
        );
      row.set(name, itemOfBytes(folder, name, datatype, shape, await readFile(join(folder, name))));
    }
    return row;
  };
  const expected = await read(
    model.outputs.filter(({ shape }) => shape !== undefined),
    false,
  );
  return { inputs: await read(model.inputs, true), expected: expected.size > 0 ? expected : undefined };
}

function dataSetOf(
  model: PlannedModel,
  where: string,
  streams: readonly (readonly DataStep[])[],
  batch: number,
  given: boolean,
): DataSet {
  const batched = model.maxBatchSize > 0;
  const steps: Step[] = [];
  const made = streams.map((stream) => {
    const tables = model.inputs.map(({ name }) => ({
      name,
      of: inputRows(
        where,
        name,
        stream.map(({ inputs }) => inputs.get(name)),
        batch,
        batched,
      ),
    }));
    return stream.map((_, at): Step => {
      const inputs = tables.flatMap(({ name, of }): [string, TensorInput][] => {
        const input = of(at);
        return input === undefined ? [] : [[name, input]];
      });
      const expected = expectedOf(model, stream, at, batch);
      const step = { index: steps.length, inputs: Object.fromEntries(inputs), expected };
      steps.push(step);
      return step;
    });
  });
  const [first, ...rest] = made.flatMap(([head, ...tail]): StepStream[] =>
    head === undefined ? [] : [[head, ...tail]],
  );
  if (first === undefined) throw invalidArgument(`${where} has no data`);
  return { streams: [first, ...rest], steps, given };
}

/** What the outputs of a request must be; undefined if no row of it says so. */
function expectedOf(
  model: PlannedModel,
  stream: readonly DataStep[],
  at: number,
  batch: number,
): readonly ExpectedOutput[] | undefined {
  const rows = Array.from({ length: batch }, (_, i) => stream[(at + i) % stream.length]?.expected);
  if (rows.every((row) => row === undefined)) return undefined;
  const batched = model.maxBatchSize > 0;
  const expected = model.outputs.flatMap(({ name }): ExpectedOutput[] => {
    const items = rows.map((row) => row?.get(name));
    return items.some((item) => item !== undefined) ? [{ name, rows: items, batched }] : [];
  });
  return expected.length > 0 ? expected : undefined;
}
