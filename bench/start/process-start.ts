/** Programs as processes: from their start to their last line. */

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { turnOrder } from '../measuring/rounds.js';

const run = promisify(execFile);

/** Tells the time in milliseconds, by a clock that all processes share. */
const clock = 'performance.timeOrigin + performance.now()';

/** The statement with which a program ends its measurement. */
const tell = `console.log(${clock});`;

/** A program to start. */
export interface Program {
  readonly name: string;
  /** Its statements, up to where the measurement ends. */
  readonly statements: string;
  /** Those after that. */
  readonly after?: string;
}

/** Node alone, the import of the package, and the first answer of a model. */
export const programs: readonly Program[] = [
  { name: 'bare Node', statements: '' },
  { name: 'import tritonts', statements: `import 'tritonts';` },
  {
    name: 'first answer of the digits',
    statements: `import { createServer } from 'tritonts';
const server = await createServer('node_modules/tritonts/examples/digits/models');
const { outputs } = await server.model('digits').infer({ image: new Float32Array(64) });
if (outputs.scores.shape.join('x') !== '1x10') throw new Error(outputs.scores.shape);`,
    after: 'await server.close();',
  },
];

/** Milliseconds from the start of a new process until a program has run. */
async function timeOf(app: string, file: string): Promise<number> {
  const start = performance.timeOrigin + performance.now();
  const env = { ...process.env, TRITONTS_ADDON: '' };
  const { stdout } = await run(process.execPath, [file], { cwd: app, env });
  return Number(stdout) - start;
}

/**
 * Measures programs in fresh processes, alternately. Returns the milliseconds of each, round by round.
 *
 * @param app - A folder in which the package is installed. The programs are written there.
 */
export async function processTimes(app: string, rounds: number): Promise<readonly (readonly number[])[]> {
  const measured = programs.map(({ statements, after = '' }, at) => {
    const file = join(app, `program-${at}.mjs`);
    writeFileSync(file, `${statements}\n${tell}\n${after}\n`);
    return { file, milliseconds: [] as number[] };
  });
  // Round -1 fills the disk's cache, and is not kept.
  for (let round = -1; round < rounds; round++) {
    for (const { file, milliseconds } of turnOrder(measured, round + 1)) {
      const time = await timeOf(app, file);
      if (round >= 0) milliseconds.push(time);
    }
  }
  return measured.map(({ milliseconds }) => milliseconds);
}
