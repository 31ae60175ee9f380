/** A machine with two fake GPUs: compiles the fakes of `native/test/fakes`, and runs programs with them. */

import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findOnnxRuntimeLibrary } from '../../src/backends/library.js';
import { temporaryFolder } from '../support/repository.js';
import type { Context } from '../support/harness.js';
import type { Asked, Told } from './programs/serve-once.js';

const run = promisify(execFile);
const sources = fileURLToPath(new URL('../../../native/test/fakes/', import.meta.url));
const program = fileURLToPath(new URL('programs/serve-once.js', import.meta.url));

/** Files of the CUDA provider. */
export const providerFiles: readonly string[] = [
  'libonnxruntime_providers_cuda.so',
  'libonnxruntime_providers_shared.so',
];

/** The fake machine. */
export interface Machine {
  /** How many GPUs it has; default 2. */
  readonly gpus?: number;
  /** Whether the runtime has its CUDA provider (default true). */
  readonly provider?: boolean;
  /** Why that provider cannot be loaded. */
  readonly providerError?: string;
}

/** What a server on the fake machine reported. */
export interface Answer extends Told {
  /** Folder of the runtime's library. */
  readonly folder: string;
  /** The options that the CUDA provider got for each session, one a line. */
  readonly providers: readonly string[];
}

/** The compiled fakes. */
export interface FakeGpus {
  /** Starts a server in a process of its own, and makes one request to each of its models. */
  serve(machine: Machine, asked: Omit<Asked, 'library'>): Promise<Answer>;
}

/** Compiles the fakes; undefined without a compiler or without Linux. */
export async function fakeGpus(context: Context): Promise<FakeGpus | undefined> {
  if (process.platform !== 'linux') return undefined;
  const folder = await temporaryFolder(context);
  const build = (source: string, target: string): Promise<unknown> =>
    run('c++', ['-std=c++20', '-shared', '-fPIC', '-o', join(folder, target), join(sources, source), '-ldl']);
  try {
    await Promise.all([
      build('cuda_driver.cc', 'libcuda.so.1'),
      build('onnxruntime.cc', 'libonnxruntime.so.1'),
    ]);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  let count = 0;
  return {
    async serve({ gpus = 2, provider = true, providerError }, asked) {
      const runtime = join(folder, `runtime${count++}`);
      const library = join(runtime, 'libonnxruntime.so.1');
      const log = join(runtime, 'log');
      await mkdir(runtime);
      await copyFile(join(folder, 'libonnxruntime.so.1'), library);
      await writeFile(log, '');
      if (provider) for (const file of providerFiles) await writeFile(join(runtime, file), '');
      const { stdout } = await run(process.execPath, [program, JSON.stringify({ ...asked, library })], {
        env: {
          ...process.env,
          LD_LIBRARY_PATH: folder,
          TRITONTS_FAKE_GPUS: String(gpus),
          TRITONTS_FAKE_CUDA_LOG: log,
          TRITONTS_TEST_ORT_LIBRARY: findOnnxRuntimeLibrary(),
          ...(providerError === undefined ? {} : { TRITONTS_FAKE_CUDA_ERROR: providerError }),
        },
      });
      const providers = (await readFile(log, 'utf8')).split('\n').filter((line) => line !== '');
      return { ...(JSON.parse(stdout) as Told), folder: runtime, providers };
    },
  };
}
