/**
 * Loads a plan with different files for the GPUs, from bytes and from a folder whose files change. Prints
 * `max_batch_size` after each load: the smallest limit of the files.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer } from '../../../src/index.js';

/** The output of the program. */
export interface Reloaded {
  /** The error of a load with a missing file. */
  readonly missing: string;
  /** The results if the second, and if the first file takes 6 rows, and the other one more. */
  readonly given: readonly number[];
  /**
   * The results for the folder: at first, after a change of the second file, without a change, after another
   * change.
   */
  readonly changed: readonly number[];
}

const [, , repository = '', library = ''] = process.argv;
const plan = (rows: number): Buffer =>
  Buffer.from(`fake-plan 10\nop add\ninput x 0 0 0 -1 4\noutput y 0 0 0 -1 4\nprofile x 1 4 4 4 ${rows} 4\n`);
const config = { platform: 'tensorrt_plan', cc_model_filenames: { '8.6': 'other.plan' } };
const folder = join(repository, 'folder', '1');
await mkdir(folder, { recursive: true });
const other = join(folder, 'other.plan');
await writeFile(
  join(repository, 'folder', 'config.pbtxt'),
  'platform: "tensorrt_plan" cc_model_filenames { key: "8.6" value: "other.plan" }',
);
await writeFile(join(folder, 'model.plan'), plan(8));
await writeFile(other, plan(16));

const server = await createServer(repository, {
  modelControlMode: 'explicit',
  backendConfig: { tensorrt: { library } },
});
const load = async (name: string, files?: Record<string, Buffer>): Promise<number> => {
  await server.loadModel(name, files && { config, files });
  return server.model(name).config.max_batch_size;
};
const missing = await load('folder', { 'model.plan': plan(8) }).catch((error: unknown) => String(error));
const given = [
  await load('folder', { 'model.plan': plan(8), 'other.plan': plan(6) }),
  await load('folder', { 'model.plan': plan(6), 'other.plan': plan(8) }),
];
await server.unloadModel('folder');
const changed = [await load('folder')];
await writeFile(other, plan(5));
changed.push(await load('folder'), await load('folder'));
await writeFile(other, plan(7));
changed.push(await load('folder'));
await server.close();
console.log(JSON.stringify({ missing: String(missing), given, changed } satisfies Reloaded));
