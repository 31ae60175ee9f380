/**
 * Measures the time of a row in batches of different sizes, on different numbers of threads: the runtime alone,
 * called from a bare C++ loop. This is the upper bound of the gain from batches with this library file on this
 * machine.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createServer } from '../../src/index.js';
import { writeRepository } from '../../test/support/repository.js';
import { BareLoopProgram, buildProgram, sizes } from '../contestants/bare-loop.js';
import { configOf, models } from '../measuring/models.js';
import { significant } from '../../src/perf/plot/numbers.js';
import { estimate, ratio } from '../reports/statistics.js';
import { table } from '../reports/table.js';

/** Sizes of the text encoder; see test/support/models/text-encoder.ts. */
const encoder = { layers: 6, width: 384 } as const;

/**
 * Multiplications and additions in the matrix products of a text: those with weights, and those of the
 * attention.
 */
function textOperations(tokens: number): number {
  const { layers, width } = encoder;
  const weights = (4 + 2 * 4) * width * width;
  return 2 * layers * tokens * (weights + 2 * tokens * width);
}

/** Multiplications and additions for a row, by model. */
const operations: Readonly<Record<string, number>> = {
  mlp: 2 * (512 * 2048 + 2048 * 2048 + 2048 * 512),
  'text-8': textOperations(8),
  'text-32': textOperations(32),
  'text-128': textOperations(128),
};

/**
 * Measures each model with each batch size and number of threads, interleaved, and prints a table.
 *
 * @param folder - Where models may be written.
 */
export async function studyRows(
  folder: string,
  { rounds, windowMs }: { readonly rounds: number; readonly windowMs: number },
): Promise<void> {
  const program = await buildProgram('bare_loop');
  const cores = availableParallelism();
  const rows: string[][] = [];
  for (const model of models.filter(({ name }) => Object.hasOwn(operations, name))) {
    const { datatype } = model.items();
    const repository = await writeRepository(join(folder, model.name), {
      [model.name]: {
        config: configOf(model, datatype),
        versions: { '1': model.bytes ? model.bytes() : {} },
      },
    });
    const server = await createServer(repository);
    const library = server.model(model.name).runtimeInfo().library?.path;
    await server.close();
    if (library === undefined) throw new Error(`${model.name} runs without ONNX Runtime`);
    const path = join(repository, model.name, '1', 'model.onnx');
    const variants = [...new Set([1, cores])].flatMap((threads) => {
      const loop = new BareLoopProgram({ program, library, path, threads, datatype, model });
      return sizes.map((batch) => ({ threads, batch, loop, perSecond: [] as number[] }));
    });
    for (let round = -1; round < rounds; round++) {
      for (const { loop, batch, perSecond } of variants) {
        const { items, seconds } = await loop.ask(batch, windowMs);
        if (round >= 0) perSecond.push(items / seconds);
      }
    }
    for (const loop of new Set(variants.map((variant) => variant.loop))) await loop.close();
    for (const { threads, batch, perSecond } of variants) {
      const alone = variants.find((other) => other.threads === threads && other.batch === 1);
      const gain = ratio(perSecond, alone?.perSecond ?? []);
      const { median } = estimate(perSecond);
      rows.push([
        model.name,
        String(threads),
        String(batch),
        significant(1000 / median),
        significant(gain.median),
        significant(gain.spread),
        significant((median * (operations[model.name] ?? 0)) / 1e9),
      ]);
    }
  }
  const head = ['model', 'threads', 'rows of a batch', 'ms a row', 'rows/s to one alone', '±', 'GFLOP/s'];
  console.log(`\nrows, without callers\n\n${table(head, rows)}`);
}
