/** Finds the GPUs that the instances of a model can use. */

import { findGpus, gpuFault, knownGpus, lostGpus } from '../addon/gpus.js';
import type { NativeServer } from '../addon/native/server.js';
import type { GpuFinder, Gpus } from '../config/index.js';
import type { ResolvedOptions } from '../options.js';
import type { Backend } from './backend.js';
import { backends } from './index.js';

/** The options that say what is used of GPUs. */
export type GpuOptions = Pick<
  ResolvedOptions,
  'backendConfig' | 'instanceKind' | 'minSupportedComputeCapability'
>;

/** What backends lack, as long as the options of a server exist. Every model asks, and files are looked at for it. */
const lacking = new WeakMap<GpuOptions, Map<string, string | undefined>>();

/** What a backend lacks to run on GPUs, if there are any. A server asks once, as its runtimes are opened once. */
function lackOf({ name, onGpus }: Backend, options: GpuOptions): string | undefined {
  const known = lacking.get(options) ?? new Map<string, string | undefined>();
  lacking.set(options, known);
  if (!known.has(name)) known.set(name, onGpus?.missing(options.backendConfig[name] ?? {}));
  return known.get(name);
}

/** Whether it matters to a server with these options which GPUs there are. */
export function asksForGpus(options: GpuOptions): boolean {
  if (options.instanceKind === 'cpu') return false;
  return [...backends().values()].some(
    (backend) => backend.onGpus !== undefined && lackOf(backend, options) === undefined,
  );
}

/**
 * Asks the CUDA driver on a thread of a server, if a backend can run on GPUs, or a configuration wants that.
 *
 * @param wanted - Whether a configuration wants instances on GPUs. The error may then say what the driver says.
 * @throws {@link TritonError} CANCELLED if the server ends meanwhile.
 */
export async function askForGpus(server: NativeServer, options: GpuOptions, wanted = false): Promise<void> {
  if (asksForGpus(options) || (wanted && options.instanceKind !== 'cpu')) await findGpus(server);
}

/** The GPUs of the machine that may be used, and why others may not. */
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

/** Why no GPU of the machine may be used. */
function noGpu({ unusable }: Pick<Gpus, 'unusable'>): string {
  const reasons = [...unusable].map(([id, reason]) => `GPU ${id}: ${reason}`);
  return `there is no GPU to use: ${reasons.length > 0 ? reasons.join('; ') : knownGpus().reason}`;
}

/**
 * Finds the GPUs that a backend can use. KIND_AUTO means them if there are any; KIND_GPU needs them. Only what
 * {@link askForGpus} has found counts.
 *
 * @param isCustom - Whether there is such a backend besides those of the package. These run on the CPU.
 */
export function gpuFinder(options: GpuOptions, isCustom: (name: string) => boolean = () => false): GpuFinder {
  return (name) => {
    const backend = backends().get(name);
    if (backend === undefined && !isCustom(name)) return undefined;
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
