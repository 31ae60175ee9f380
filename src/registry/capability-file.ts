/** Which file of a version's directory is its model, where that depends on the GPU. */

import { knownGpus } from '../addon/gpus.js';
import type { ModelConfig } from '../config/index.js';

/** A place of an instance. */
interface Place {
  readonly kind: string;
  readonly device: number;
}

/**
 * The file that `cc_model_filenames` names for the GPUs of the instances, and `default_model_filename` for others, as in
 * Triton.
 *
 * @param fault - Makes the error for a field, with code UNSUPPORTED.
 * @throws {@link TritonError} UNSUPPORTED if the instances would take different files: those of a version share one.
 */
export function modelFileOf(
  config: ModelConfig,
  instances: readonly Place[],
  fault: (field: string, text: string) => Error,
): string {
  const { cc_model_filenames: byCapability, default_model_filename: otherwise } = config;
  if (Object.keys(byCapability).length === 0) return otherwise;
  const { devices } = knownGpus();
  const files = new Map<string, string>();
  for (const { kind, device } of instances) {
    const gpu = kind === 'KIND_GPU' ? devices[device] : undefined;
    const capability = gpu === undefined ? '' : `${gpu.major}.${gpu.minor}`;
    const file = Object.hasOwn(byCapability, capability) ? byCapability[capability] : undefined;
    const where = gpu === undefined ? 'the CPU' : `GPU ${device} (compute capability ${capability})`;
    if (!files.has(file ?? otherwise)) files.set(file ?? otherwise, where);
  }
  const [first, second] = files;
  if (first !== undefined && second !== undefined) {
    throw fault(
      'cc_model_filenames',
      `${first[1]} takes '${first[0]}' and ${second[1]} '${second[0]}', but a version has one file: give each kind of GPU a model of its own, by the instance group's gpus`,
    );
  }
  return first?.[0] ?? otherwise;
}
