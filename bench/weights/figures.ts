/** Measures how many copies of a model's weights are in memory. */
import { addModel, mlpModel } from '../../test/support/models.js';
import { writeRepository } from '../../test/support/repository.js';
import { Child } from '../measuring/child.js';
import { workers as poolWorkers } from '../contestants/piscina.js';
import type { Measured } from '../limits/limits.js';
import { estimate, ratio } from '../reports/statistics.js';

const many = 4;
const width = 512;

/** The tolerance for allocators, as a factor. */
const margin = 1.1;

/** Bytes of the large model's weights. The small model has next to none. */
const weightBytes = 4 * (512 * 2048 + 2048 * 2048 + 2048 * 512);

function config(instances: number): string {
  return `backend: "onnxruntime"
max_batch_size: 4
instance_group [ { kind: KIND_CPU, count: ${instances} } ]
`;
}

/**
 * Measures resident memory of fresh processes. Instances, workers and pools cost something without weights,
 * too. That is measured with a small model, and subtracted.
 *
 * @param folder - Where models may be written.
 */
export async function measureWeights(
  folder: string,
  rounds: number,
  progress: (text: string) => void,
): Promise<Measured[]> {
  const large = mlpModel();
  const small = addModel({ width });
  await writeRepository(
    folder,
    Object.fromEntries(
      [1, many].flatMap((instances) => [
        [`weights${instances}`, { config: config(instances), versions: { '1': large } }],
        [`none${instances}`, { config: config(instances), versions: { '1': small } }],
      ]),
    ),
  );
  const resident = (who: 'ours' | 'piscina', model: string, workers: number): Promise<number> =>
    new Child(
      new URL('holder.js', import.meta.url),
      [who, folder, model, String(width), String(workers)],
      ['--expose-gc'],
    ).answer();
  const copies = async (who: 'ours' | 'piscina', instances: number, workers: number): Promise<number> => {
    progress(`weights: ${who}, ${instances} instance(s), ${workers} worker(s)`);
    // Both run at the same time, because resident memory of one process does not affect the other.
    const [holding, bare] = await Promise.all([
      resident(who, `weights${instances}`, workers),
      resident(who, `none${instances}`, workers),
    ]);
    return (holding - bare) / weightBytes;
  };
  const found = {
    one: [] as number[],
    instances: [] as number[],
    workers: [] as number[],
    pool: [] as number[],
  };
  for (let round = 0; round < rounds; round++) {
    found.one.push(await copies('ours', 1, 0));
    found.instances.push(await copies('ours', many, 0));
    found.workers.push(await copies('ours', 1, many));
    found.pool.push(await copies('piscina', 1, 0));
  }
  const figure = (what: string, values: readonly number[]): Measured => ({
    what: `weights of ${what}, beside those of one instance`,
    value: ratio(values, found.one),
    unit: 'x',
    limit: { atMost: margin },
  });
  return [
    {
      what: 'weights of one instance',
      value: estimate(found.one),
      unit: 'x',
      limit: { atMost: margin },
      detail: `the ${(weightBytes / 2 ** 20).toFixed(0)} MiB of the file; by resident memory, with what a load leaves`,
    },
    figure(`${many} instances`, found.instances),
    figure(`one instance with ${many} workers attached`, found.workers),
    {
      what: `weights of ${many} instances, beside those of ${poolWorkers} workers of piscina`,
      value: ratio(found.instances, found.pool),
      unit: 'x',
      limit: { atMost: margin / poolWorkers },
    },
  ];
}
