/** The Python backend's decisions. `src/python` runs its models in processes. */

import { parameterRow } from '../../config/index.js';
import type { BackendConfig } from '../../options.js';
import { lookAtPython } from '../../python/interpreter.js';
import { requiresRow } from '../required-models.js';
import type { Backend, FoundProgram } from '../backend.js';
import type { BackendContext } from '../context.js';
import { openPython } from './open.js';
import { pythonSettings } from './settings.js';

/** Parameter: whether inputs are in host memory. Here they always are. */
const cpuOnlyKey = 'FORCE_CPU_ONLY_INPUT_TENSORS';

/** Looks for the Python of models that do not bring their own. */
async function find(options: BackendConfig): Promise<FoundProgram> {
  const missing = { library: undefined, besides: '' };
  if (process.platform !== 'linux') return { ...missing, reason: 'Python models run on Linux alone' };
  const found = await lookAtPython(pythonSettings(options).executable ?? 'python3');
  if (typeof found === 'string') return { ...missing, reason: found };
  const { executable: path, version, numpy, numpyFault } = found;
  const without =
    numpyFault === undefined
      ? `without numpy, which models that use arrays need: ${path} -m pip install numpy`
      : `numpy, which models that use arrays need, cannot be imported: ${numpyFault}; install it again with '${path} -m pip install --force-reinstall numpy'`;
  return {
    library: { path, version },
    reason: '',
    besides: numpy === undefined ? without : `numpy ${numpy}`,
  };
}

/** Runs models that are written in Python. */
export const backend: Backend = {
  name: 'python',
  decoupled: true,
  needsFile: false,
  callsModels: true,
  rules: {
    completesItself: true,
    ragged: 'apart',
    parameters: {
      ...requiresRow,
      EXECUTION_ENV_PATH: parameterRow(
        'acted',
        "the environment whose Python runs the model: a folder, or an archive of conda-pack, in the model's folder or a trusted one",
      ),
      FORCE_CPU_ONLY_INPUT_TENSORS: parameterRow('hint', 'inputs are in the memory of the CPU anyway', {
        neutral: ['yes'],
      }),
    },
  },
  optionKeys: [
    'executable',
    'shm-default-byte-size',
    'shm-growth-byte-size',
    'shm-region-prefix-name',
    'shm_message_queue_size',
    'stub-timeout-seconds',
    'thread-pool-size',
  ],
  runtime: { title: 'Python', find },
  settings({ config, options, fault }: BackendContext): Record<string, string> {
    const value = config.parameters[cpuOnlyKey]?.string_value;
    if (value !== undefined && !['yes', 'no'].includes(value.toLowerCase())) {
      throw fault(`parameters["${cpuOnlyKey}"]`, `expected 'yes' or 'no' but received '${value}'`);
    }
    pythonSettings(options);
    return {};
  },
  open: openPython,
};
