/** Looks for everything that models may need of a machine: the backends' runtimes, and devices. */

import { availableParallelism, cpus, totalmem } from 'node:os';
import { createEngine } from '../../addon/engine.js';
import { findGpus, gpuFault } from '../../addon/gpus.js';
import { insistOnAnswer } from '../../addon/memory.js';
import type { NativeNvml } from '../../addon/native/gpus.js';
import type { NativeServer } from '../../addon/native/server.js';
import type { NativeStatus } from '../../addon/native/status.js';
import { statusError } from '../../addon/status.js';
import { tritonLibrary } from '../../addon/triton-library.js';
import type { Backend, Runtime } from '../../backends/backend.js';
import { backends } from '../../backends/index.js';
import { isLack, TritonError } from '../../errors.js';
import type { BackendConfig, ResolvedOptions } from '../../options.js';
import { listCustomBackends } from '../../backends/custom-backends.js';
import { listPlugins } from '../../backends/plugin/find-plugin.js';
import { thrownText } from '../../thrown-text.js';
import { backend as plugins } from '../../backends/plugin/index.js';

/** A backend and its runtime. */
export interface SurveyedBackend {
  readonly name: string;
  /** Whether models can use it. */
  readonly ok: boolean;
  /** What runs its models. */
  readonly runtime: string;
  /** The runtime's library or program; undefined if the backend needs none, or there is none. */
  readonly library: { readonly path: string; readonly version: string } | undefined;
  /** Why the runtime cannot be used: what was looked for, where, and what to install. Empty if it can. */
  readonly reason: string;
  /** What some of its models need besides: what there is, or what to install. Empty if nothing. */
  readonly besides: string;
  /** Whether it can run on GPUs if there are any. */
  readonly onGpus: boolean;
  /** What it lacks for that, and what to install; empty if nothing, or if it never runs on GPUs. */
  readonly lacksOnGpus: string;
}

/** A library of NVIDIA's, as it was found. */
export interface SurveyedLibrary {
  readonly ok: boolean;
  readonly path: string;
  readonly version: string;
  readonly reason: string;
}

/** A device, as in the metadata of a server: `cpu` or `gpu:N`. */
export interface SurveyedDevice {
  readonly id: string;
  readonly name: string;
  readonly memoryBytes: number;
  readonly cores?: number;
  readonly uuid?: string;
  readonly computeCapability?: string;
  readonly ok: boolean;
  /** Why instances cannot be on it; empty if they can. */
  readonly reason: string;
}

/** What was found. */
export interface Survey {
  readonly backends: readonly SurveyedBackend[];
  readonly cudaDriver: SurveyedLibrary;
  readonly nvml: SurveyedLibrary;
  readonly devices: readonly SurveyedDevice[];
}

/** Why something cannot be used. Throws what is a fault of the survey itself. */
function reasonOf(error: unknown): string {
  if (error instanceof TritonError) return error.message;
  if (!isLack(error)) throw error;
  // The text of a program that failed has the program's arguments, and ends with what it said.
  const lines = thrownText(error).trim().split('\n');
  const last = lines.at(-1) ?? '';
  return lines.length > 1 ? `${lines[0] ?? ''} …: ${last.trim()}` : last;
}

async function surveyBackend(
  native: NativeServer,
  backend: Backend,
  options: BackendConfig,
  others: ResolvedOptions['backendConfig'] = {},
): Promise<SurveyedBackend> {
  const { name, runtime, onGpus } = backend;
  const lacks = onGpus?.missing(options);
  const common = {
    name,
    runtime: runtime?.title ?? 'none',
    onGpus: onGpus !== undefined && lacks === undefined,
    lacksOnGpus: lacks ?? '',
    besides: '',
  };
  const asked = async (lack?: string): Promise<SurveyedBackend | undefined> => {
    try {
      const found = await runtime?.find?.(options, others, lack);
      return found && { ...common, ok: found.library !== undefined, ...found };
    } catch (error) {
      const why = reasonOf(error);
      const reason = lack === undefined ? why : `${lack}. ${why}`;
      return { ...common, ok: false, library: undefined, reason };
    }
  };
  if (runtime?.find !== undefined && runtime.settings === undefined) {
    const found = await asked();
    if (found !== undefined) return found;
  }
  if (runtime?.settings === undefined) return { ...common, ok: true, library: undefined, reason: '' };
  try {
    const settings = runtime.settings(options);
    const info = await new Promise<Readonly<Record<string, string>>>((resolve, reject) => {
      native.openRuntime(backend.native ?? name, settings, (error, told) => {
        if (error) reject(statusError(error));
        else resolve(told);
      });
    });
    const library = { path: info['library'] ?? '', version: info['version'] ?? '' };
    return { ...common, ok: true, library, reason: '' };
  } catch (error) {
    const reason = reasonOf(error);
    return (await asked(reason)) ?? { ...common, ok: false, library: undefined, reason };
  }
}

/** A plug-in of Triton in the backend directory. It is opened, but not initialised. */
async function surveyPlugin(native: NativeServer, library: string): Promise<Omit<SurveyedBackend, 'name'>> {
  const runtime: Runtime = {
    title: 'plug-in of Triton, TRITONBACKEND',
    settings: () => ({ library, own_library: tritonLibrary() }),
  };
  return await surveyBackend(native, { ...plugins, native: plugins.name, runtime }, {});
}

/** 13000 is 13.0. */
function cudaVersionText(version: number): string {
  return version === 0 ? '' : `CUDA ${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

async function findNvml(native: NativeServer): Promise<NativeNvml> {
  return await insistOnAnswer<NativeNvml>((done) => {
    native.findNvml((error: NativeStatus | null, found) => {
      done(error ? { ...found, reason: error.message } : found);
    });
  });
}

async function surveyDevices(
  native: NativeServer,
  { minSupportedComputeCapability }: ResolvedOptions,
): Promise<Omit<Survey, 'backends'>> {
  const gpus = await findGpus(native);
  const { path, version, driverVersion, reason } = await findNvml(native);
  const processors = cpus();
  const devices: SurveyedDevice[] = [
    {
      id: 'cpu',
      name: processors[0]?.model ?? process.arch,
      memoryBytes: totalmem(),
      cores: availableParallelism(),
      ok: true,
      reason: '',
    },
    ...gpus.devices.map((gpu, id) => {
      const fault = gpuFault(gpu, minSupportedComputeCapability) ?? '';
      const { name, memoryBytes, uuid, major, minor } = gpu;
      return {
        ...{ id: `gpu:${id}`, name, memoryBytes, uuid },
        ...{ computeCapability: `${major}.${minor}`, ok: fault === '', reason: fault },
      };
    }),
  ];
  return {
    cudaDriver: {
      ok: gpus.reason === '',
      path: gpus.driver,
      version: cudaVersionText(gpus.cudaVersion),
      reason: gpus.reason,
    },
    nvml: {
      ok: reason === '',
      path,
      version: driverVersion === '' ? version : `${version}, driver ${driverVersion}`,
      reason,
    },
    devices,
  };
}

/**
 * Looks for the runtimes of all backends, and for devices.
 *
 * @throws {@link TritonError} UNAVAILABLE without the addon, or without a thread.
 */
export async function survey(options: ResolvedOptions): Promise<Survey> {
  const native = createEngine(options);
  try {
    // One after the other: libraries that are opened at once make their errors hard to tell apart.
    const found: SurveyedBackend[] = [];
    for (const [name, backend] of backends())
      found.push(
        await surveyBackend(native, backend, options.backendConfig[name] ?? {}, options.backendConfig),
      );
    for (const { name, place } of await listCustomBackends(options)) {
      const runtime = `Node.js ${process.versions.node}, ${place}`;
      found.push({
        name,
        ok: true,
        runtime,
        library: undefined,
        reason: '',
        besides: '',
        onGpus: false,
        lacksOnGpus: '',
      });
    }
    for (const { name, library } of listPlugins(options)) {
      found.push({ ...(await surveyPlugin(native, library)), name });
    }
    return { backends: found, ...(await surveyDevices(native, options)) };
  } finally {
    await insistOnAnswer<readonly string[]>((done) => {
      native.close(0, done);
    });
    native.join();
  }
}
