/** A machine with two fake GPUs, of the fakes in `native/test/fakes`, and programs that run on it. */

import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findOnnxRuntimeLibrary } from '../../src/backends/onnxruntime/library.js';
import { temporaryFolder } from '../support/repository.js';
import type { Context } from '../support/harness.js';
import type { Regions } from './programs/cuda-regions.js';
import type { Lost } from './programs/lose-gpu.js';
import type { Reloaded } from './programs/reload-files.js';
import type { Shaped } from './programs/serve-shapes.js';
import type { Asked, Told } from './programs/serve-once.js';
import type { Surveyed } from './programs/survey.js';

const run = promisify(execFile);
/** The fakes that the build of the addon leaves. */
const built = fileURLToPath(new URL('../../../build/fakes/', import.meta.url));
/** TensorRT, version 10.16.1, which servers find only by its path. */
const tensorrt = join(built, '10.16', 'libnvinfer.so.10');
const program = fileURLToPath(new URL('programs/serve-once.js', import.meta.url));
const loseProgram = fileURLToPath(new URL('programs/lose-gpu.js', import.meta.url));
const reloadProgram = fileURLToPath(new URL('programs/reload-files.js', import.meta.url));
const regionsProgram = fileURLToPath(new URL('programs/cuda-regions.js', import.meta.url));
const shapesProgram = fileURLToPath(new URL('programs/serve-shapes.js', import.meta.url));
const surveyProgram = fileURLToPath(new URL('programs/survey.js', import.meta.url));
const command = fileURLToPath(new URL('../../command/main.js', import.meta.url));

/** Files of the CUDA provider. */
export const providerFiles: readonly string[] = [
  'libonnxruntime_providers_cuda.so',
  'libonnxruntime_providers_shared.so',
];
const tensorRtFile = 'libonnxruntime_providers_tensorrt.so';

/** The fake machine. */
export interface Machine {
  /** How many GPUs it has; default 2. */
  readonly gpus?: number;
  /** Whether the runtime has its CUDA provider (default true). */
  readonly provider?: boolean;
  /** Their compute capabilities, by id (default 9.0). */
  readonly capabilities?: string;
  /** Id of a GPU that is lost (default: none). */
  readonly lost?: number;
  /** Which GPU is lost while it computes, and at which of its kernels, such as `0:3` (default: none). */
  readonly lose?: string;
  /** The error with which the provider fails to load. */
  readonly providerError?: string;
}

/** The report of a server on the fake machine. */
export interface Answer extends Told {
  /** Folder of the runtime's library. */
  readonly folder: string;
  /** The options that the CUDA provider got, one line for each session. */
  readonly providers: readonly string[];
}

/** The machine's programs. */
export interface FakeGpus {
  /** Path of TensorRT's library. */
  readonly tensorrt: string;
  /** Starts a server in a process of its own, and makes one request to each of its models. */
  serve(machine: Machine, asked: Omit<Asked, 'library'>): Promise<Answer>;
  /** Surveys the GPUs, and serves a repository. */
  survey(machine: Machine, repository: string): Promise<Surveyed>;
  /** Loads a plan with different files for the GPUs, given and from a folder whose files change. */
  reload(machine: Machine): Promise<Reloaded>;
  /** Serves a repository of plans while a GPU is lost. */
  lose(machine: Machine, repository: string): Promise<Lost>;
  /** Serves a repository of plans with shape tensors. */
  shapes(machine: Machine, repository: string): Promise<Shaped>;
  /** Serves a repository to clients whose tensors are in memory of GPUs. */
  regions(machine: Machine, repository: string): Promise<Regions>;
  /** Runs `tritonts` with arguments, and `--library`. Returns its output. */
  run(machine: Machine, ...args: readonly string[]): Promise<string>;
}

/** Makes the machine; undefined without Linux. */
export async function fakeGpus(context: Context): Promise<FakeGpus | undefined> {
  if (process.platform !== 'linux') return undefined;
  const folder = await temporaryFolder(context);
  // Not the folder of all fakes, where servers would find TensorRT, too.
  for (const file of ['libcuda.so.1', 'libnvidia-ml.so.1'])
    await symlink(join(built, file), join(folder, file));
  let count = 0;
  /** Runs a program on the machine. A call of the driver on the main thread ends it. */
  const runOn = async (
    { gpus = 2, provider = true, providerError, capabilities, lost, lose }: Machine,
    args: (library: string) => readonly string[],
  ): Promise<{ stdout: string; folder: string; providers: string[] }> => {
    const runtime = join(folder, `runtime${count++}`);
    const library = join(runtime, 'libonnxruntime.so.1');
    const log = join(runtime, 'log');
    await mkdir(runtime);
    await copyFile(join(built, 'libfakeonnxruntime.so'), library);
    await writeFile(log, '');
    if (provider)
      for (const file of [...providerFiles, tensorRtFile]) await writeFile(join(runtime, file), '');
    const { stdout } = await run(process.execPath, [...args(library)], {
      env: {
        ...process.env,
        LD_LIBRARY_PATH: folder,
        TRITONTS_FAKE_GPUS: String(gpus),
        TRITONTS_FAKE_OFF_MAIN: '1',
        TRITONTS_FAKE_CUDA_LOG: log,
        TRITONTS_TEST_ORT_LIBRARY: findOnnxRuntimeLibrary(),
        ...(capabilities === undefined ? {} : { TRITONTS_FAKE_CAPABILITIES: capabilities }),
        ...(lost === undefined ? {} : { TRITONTS_FAKE_CUDA_LOST: String(lost) }),
        ...(lose === undefined ? {} : { TRITONTS_FAKE_LOSE: lose }),
        ...(providerError === undefined ? {} : { TRITONTS_FAKE_CUDA_ERROR: providerError }),
      },
    });
    const providers = (await readFile(log, 'utf8')).split('\n').filter((line) => line !== '');
    return { stdout, folder: runtime, providers };
  };
  return {
    tensorrt,
    async serve(machine, asked) {
      const { stdout, ...rest } = await runOn(machine, (library) => [
        program,
        JSON.stringify({ ...asked, library }),
      ]);
      return { ...(JSON.parse(stdout) as Told), ...rest };
    },
    async survey(machine, repository) {
      const { stdout } = await runOn(machine, (library) => [surveyProgram, library, repository]);
      return JSON.parse(stdout) as Surveyed;
    },
    async reload(machine) {
      const repository = await temporaryFolder(context);
      const { stdout } = await runOn(machine, () => [reloadProgram, repository, tensorrt]);
      return JSON.parse(stdout) as Reloaded;
    },
    async lose(machine, repository) {
      const { stdout } = await runOn(machine, () => [loseProgram, repository, tensorrt]);
      return JSON.parse(stdout) as Lost;
    },
    async shapes(machine, repository) {
      const { stdout } = await runOn(machine, () => [shapesProgram, repository, tensorrt]);
      return JSON.parse(stdout) as Shaped;
    },
    async regions(machine, repository) {
      const memory = await temporaryFolder(context);
      const { stdout } = await runOn(machine, () => [regionsProgram, repository, memory, tensorrt]);
      return JSON.parse(stdout) as Regions;
    },
    async run(machine, ...args) {
      return (await runOn(machine, (library) => [command, ...args, '--library', library])).stdout;
    },
  };
}
