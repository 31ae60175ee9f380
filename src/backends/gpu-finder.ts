/** Finds the GPUs that the instances of a model can use. */

import { findGpus, gpuFault, knownGpus, lostGpus } from '../addon/gpus.js';
import type { NativeServer } from '../addon/native/server.js';
import type { GpuFinder, Gpus } from '../config/index.js';
import type { ResolvedOptions } from '../options.js';
import type { Backend } from './backend.js';
import { backends } from './index.js';

/** The server options that affect the use of GPUs. */
export type GpuOptions = Pick<
  ResolvedOptions,
  'backendConfig' | 'instanceKind' | 'minSupportedComputeCapability'
>;

/**
 * What each backend lacks, cached by the server's options, because every model asks and each answer reads the
 * file system.
 */
const lacking = new WeakMap<GpuOptions, Map<string, string | undefined>>();

/**
 * What a backend lacks to run on GPUs, apart from the GPUs. It is determined once per server, because its
 * runtimes are opened once.
 */
function lackOf({ name, onGpus }: Backend, options: GpuOptions): string | undefined {
  const known = lacking.get(options) ?? new Map<string, string | undefined>();
  lacking.set(options, known);
  if (!known.has(name)) known.set(name, onGpus?.missing(options.backendConfig[name] ?? {}));
  return known.get(name);
}

/** Whether a server with these options needs to know the machine's GPUs. */
export function asksForGpus(options: GpuOptions): boolean {
  if (options.instanceKind === 'cpu') return false;
  return [...backends().values()].some(
    (backend) => backend.onGpus !== undefined && lackOf(backend, options) === undefined,
  );
}

/**
 * Asks the CUDA driver, on a thread of the server, if a backend can run on GPUs, or if a configuration asks for
 * GPUs.
 *
 * @param wanted - Whether a configuration asks for instances on GPUs. The error can then contain the driver's
 *   reason.
 * @throws {@link TritonError} CANCELLED if the server closes meanwhile.
 */
export async function askForGpus(server: NativeServer, options: GpuOptions, wanted = false): Promise<void> {
  if (asksForGpus(options) || (wanted && options.instanceKind !== 'cpu')) await findGpus(server);
}

/** The machine's GPUs that can be used, and why others cannot. */
export function usableGpus({ minSupportedComputeCapability }: GpuOptions): Omit<Gpus, 'missing'> {
  const usable: number[] = [];
  const unusable = new Map<number, string>();
  const lost = lostGpus();
  knownGpus().devices.forEach((gpu, id) => {
    const fault = lost.get(id) ?? gpuFault(gpu, minSupportedComputeCapability);
    if (fault === undefined) usable.push(id);
    else unusable.set(id, fault);
  });
  return { usable, unusable };
}

/** Why no GPU of the machine can be used. */
function noGpu({ unusable }: Pick<Gpus, 'unusable'>): string {
  const reasons = [...unusable].map(([id, reason]) => `GPU ${id}: ${reason}`);
  return `there is no GPU to use: ${reasons.length > 0 ? reasons.join('; ') : knownGpus().reason}`;
}

/**
 * Finds the GPUs that a backend can use. KIND_AUTO uses them if there are any; KIND_GPU requires them. Only
 * GPUs that {@link askForGpus} has found count.
 *
 * @param isCustom - Whether a backend in JavaScript of that name exists that is not part of the package. Such backends run
 *   on the CPU.
 * @param withPlugins - Whether other backends may be plug-ins of Triton, which decide themselves whether they run on GPUs.
 */
export function gpuFinder(
  options: GpuOptions,
  isCustom: (name: string) => boolean = () => false,
  withPlugins = false,
): GpuFinder {
  return (name) => {
    const backend = backends().get(name);
    if (backend === undefined && !isCustom(name)) {
      if (!withPlugins) return undefined;
      const gpus = usableGpus(options);
      return { ...gpus, missing: () => ({ code: 'UNAVAILABLE', text: noGpu(gpus) }) };
    }
    if (backend?.onGpus === undefined) {
      const text = `the ${name} backend runs on the CPU only`;
      return { usable: [], unusable: new Map(), missing: () => ({ code: 'UNSUPPORTED', text }) };
    }
    const lacks = lackOf(backend, options);
    const gpus = usableGpus(options);
    const missing: Gpus['missing'] = () => {
      const texts = [
        ...(lacks === undefined ? [] : [lacks]),
        ...(gpus.usable.length > 0 ? [] : [noGpu(gpus)]),
      ];
      return { code: 'UNAVAILABLE', text: texts.join('; and ') };
    };
    return { ...gpus, ...(lacks !== undefined && { usable: [] }), missing };
  };
}
