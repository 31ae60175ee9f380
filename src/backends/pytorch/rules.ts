/** The rules for configurations of PyTorch models: their parameters. Triton's own rules have their files. */

import { parameterRow, runtimeKey, type ParameterSupport } from '../../config/index.js';
import type { Backend } from '../backend.js';

/** A number of threads of the process. */
const threads = (text: string): ParameterSupport =>
  parameterRow('acted', `${text}, for all models of the process: the first model that writes it decides`, {
    integer: true,
  });

/** A switch of the process. */
const ofProcess = (text: string): ParameterSupport =>
  parameterRow('acted', `true or false: ${text}, for all models of the process, from this load on`);

const parameters: Readonly<Record<string, ParameterSupport>> = {
  DISABLE_OPTIMIZED_EXECUTION: parameterRow(
    'acted',
    "true: TorchScript's graphs are not optimised; default: false",
  ),
  INFERENCE_MODE: parameterRow('acted', 'false: runs are not in inference mode; default: true'),
  ENABLE_WEIGHT_SHARING: parameterRow(
    'acted',
    'true: the instances of a version share one module; default: false',
  ),
  INTRA_OP_THREAD_COUNT: threads("threads of one operation; default and 0: the server's cores"),
  INTER_OP_THREAD_COUNT: threads("threads for operations side by side; default and 0: libtorch's own number"),
  ENABLE_JIT_EXECUTOR: ofProcess('the executor that specialises graphs'),
  ENABLE_JIT_PROFILING: ofProcess('the profiling of the first runs'),
  ENABLE_TENSOR_FUSER: ofProcess('the fusion of operations'),
  [runtimeKey]: parameterRow(
    'acted',
    "libtorch or python: what runs the model, the shim of libtorch or Python's torch; default: libtorch, or Python where there is no shim (not in Triton)",
  ),
  DISABLE_CUDNN: parameterRow('hint', 'for instances on GPUs'),
  ENABLE_CACHE_CLEANING: parameterRow('hint', 'for instances on GPUs'),
};

/** What libtorch and Python's torch have in common. */
export const common: Omit<Backend, 'settings'> = {
  name: 'pytorch',
  needsFile: true,
  // Triton fills in the name only if the platform is not written.
  defaultFile: 'model.pt',
  explainsFiles: true,
  describesModels: false,
  rules: { ragged: 'joined', parameters },
  optionKeys: ['library', ...Object.keys(parameters)],
  paths: { library: 'library' },
};
