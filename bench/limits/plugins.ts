/** Compares a plug-in of Triton that returns its input with this package's own backend of that kind. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createServer, type InferenceServer } from '../../src/index.js';
import { ratioByTurns, turnMs } from '../measuring/turns.js';
import { estimate } from '../reports/statistics.js';
import { writeRepository, type RepositoryModel } from '../../test/support/repository.js';
import type { Measured } from './limits.js';

/** Requests outstanding. */
const together = 64;

const rows = [
  { what: 'a plug-in that returns 64 bytes, 64 outstanding', width: 16, atLeast: 0.8 },
  { what: 'a plug-in that returns an image of 602 KB, 64 outstanding', width: 3 * 224 * 224, atLeast: 0.95 },
] as const;

/** The folder with the plug-ins that are built with the fakes of the tests. */
const folderOfPlugins = fileURLToPath(new URL('../../../build/fakes/plugins', import.meta.url));

function identity(width: number, plugin: boolean): RepositoryModel {
  const chosen = plugin ? 'parameters { key: "plugin" value { string_value: "true" } }' : '';
  return {
    config: `backend: "identity" max_batch_size: ${together} dynamic_batching { }
input [ { name: "x" data_type: TYPE_FP32 dims: [ ${width} ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ ${width} ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ] ${chosen}`,
    versions: { '1': {} },
  };
}

/** Requests per second. */
async function rateOf(server: InferenceServer, name: string, x: Float32Array): Promise<number> {
  const model = server.model(name);
  const start = performance.now();
  let answered = 0;
  await Promise.all(
    Array.from({ length: together }, async () => {
      while (performance.now() < start + turnMs) {
        await model.infer({ x });
        answered++;
      }
    }),
  );
  return (answered * 1000) / (performance.now() - start);
}

/**
 * Measures both sizes in each round. `note` tells what is missing.
 *
 * @param folder - Where the models may be written.
 */
export async function measurePlugins(
  folder: string,
  rounds: number,
  note: (text: string) => void,
): Promise<Measured[]> {
  if (process.platform !== 'linux' || !existsSync(folderOfPlugins)) {
    note('Plug-ins of Triton run on Linux alone, and need those of the tests.');
    return [];
  }
  const models = rows.flatMap(({ width }) => [
    [`own_${width}`, identity(width, false)] as const,
    [`plugin_${width}`, identity(width, true)] as const,
  ]);
  await writeRepository(folder, Object.fromEntries(models));
  const server = await createServer(folder, { backendDirectory: folderOfPlugins });
  try {
    const measured: Measured[] = [];
    for (const { what, width, atLeast } of rows) {
      const x = new Float32Array(width).fill(1);
      const ratios: number[] = [];
      for (let round = -1; round < rounds; round++) {
        const ratio = await ratioByTurns(
          () => rateOf(server, `plugin_${width}`, x),
          () => rateOf(server, `own_${width}`, x),
        );
        if (round >= 0) ratios.push(ratio);
      }
      measured.push({
        what,
        value: estimate(ratios),
        unit: 'x',
        limit: { atLeast },
        detail: "the rate of this package's own backend",
      });
    }
    return measured;
  } finally {
    await server.close();
  }
}
