/** Surveys GPUs as `tritonts backends` and a server do, and prints the results as JSON. */

import { createServer } from '../../../src/index.js';
import { survey, type Survey } from '../../../src/registry/files/survey.js';
import { resolveOptions } from '../../../src/resolve-options.js';

/** The output of the program. */
export interface Surveyed {
  readonly survey: Survey;
  /** Lines of the server's metrics that are about GPUs, without comments. */
  readonly metrics: readonly string[];
  /** The number of such lines with `metricsConfig: { gpus: false }`. */
  readonly silent: number;
}

const [, , library = '', repository = ''] = process.argv;
const backendConfig = { onnxruntime: { library } };
const found = await survey(resolveOptions({ modelRepository: repository, backendConfig }));

/** The series of GPUs, once they have been sampled. */
async function seriesOf(gpus: boolean): Promise<string[]> {
  const server = await createServer(repository, {
    backendConfig,
    metricsConfig: { gpus, intervalMs: 1 },
    exitOnError: false,
  });
  const read = (): string[] =>
    server
      .metrics()
      .split('\n')
      .filter((line) => /^nv_(gpu|energy)/.test(line));
  while (gpus && read().length === 0) await new Promise(setImmediate);
  const series = read();
  await server.close();
  return series;
}

const metrics = await seriesOf(true);
const silent = (await seriesOf(false)).length;
console.log(JSON.stringify({ survey: found, metrics, silent } satisfies Surveyed));
