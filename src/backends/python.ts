/** The Python backend's decisions. `src/python` runs its models in processes. */

import { resolve, sep } from 'node:path';
import { invalidArgument } from '../errors.js';
import type { BackendConfig } from '../options.js';
import type { Backend, BackendContext } from './backend.js';
import { confined, ownPlaces } from './trusted-places.js';

/** Parameter: the Python environment that runs the model, a folder or an archive of conda-pack. */
export const environmentKey = 'EXECUTION_ENV_PATH';
/** At the start of an environment's path this stands for the model's folder. */
const modelVariable = '$$TRITON_MODEL_DIRECTORY';
/** Parameter: whether inputs are in host memory. Here they always are. */
const cpuOnlyKey = 'FORCE_CPU_ONLY_INPUT_TENSORS';

/** Runs models that are written in Python. */
export const python: Backend = {
  name: 'python',
  opens: 'process',
  decoupled: true,
  needsFile: false,
  optionKeys: [
    'executable',
    'shm-default-byte-size',
    'shm-growth-byte-size',
    'shm-region-prefix-name',
    'shm_message_queue_size',
    'stub-timeout-seconds',
    'thread-pool-size',
  ],
  settings({ config, options, fault }: BackendContext): Record<string, string> {
    const value = config.parameters[cpuOnlyKey]?.string_value;
    if (value !== undefined && !['yes', 'no'].includes(value.toLowerCase())) {
      throw fault(`parameters["${cpuOnlyKey}"]`, `expected 'yes' or 'no' but received '${value}'`);
    }
    pythonSettings(options);
    return {};
  },
};

/** A model's own Python environment: a folder or an archive. */
export interface Environment {
  readonly written: string;
  /** The path with links resolved. */
  readonly path: string;
}

/**
 * The environment that runs a model; undefined if none is named. It contains the program that is run, so it
 * must lie where libraries may lie. Otherwise a client that loads models over the network could run any program
 * of the machine.
 *
 * @throws {@link TritonError} INVALID_ARG for a path outside of these folders.
 */
export function environmentOf(context: BackendContext): Environment | undefined {
  const written = context.config.parameters[environmentKey]?.string_value ?? '';
  if (written === '') return undefined;
  const folder = context.modelDirectory ?? '';
  const path = written.startsWith(modelVariable)
    ? resolve(folder, `.${sep}${written.slice(modelVariable.length)}`)
    : written;
  return { written, path: confined(context, `parameters["${environmentKey}"]`, path, ownPlaces(context)) };
}

/** The options of the backend, with Triton's defaults filled in. */
export interface PythonSettings {
  /** The interpreter; undefined: `python3` from the PATH. */
  readonly executable: string | undefined;
  readonly initialBytes: number;
  readonly growthBytes: number;
  readonly memoryName: string;
  readonly queueSize: number;
  /** How long a process may take to start Python, in milliseconds. */
  readonly startMs: number;
  /** How many calls of other models may be in progress at once. */
  readonly threads: number;
}

const mebibyte = 1 << 20;

/**
 * Reads the options of the backend.
 *
 * @throws {@link TritonError} INVALID_ARG for an invalid value.
 */
export function pythonSettings(options: BackendConfig): PythonSettings {
  const text = (key: string): string | undefined => {
    const value = options[key];
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '') return value;
    throw invalidArgument(
      `options.backendConfig.python['${key}']: expected a string but received ${String(value)}`,
    );
  };
  const whole = (key: string, usual: number, least: number, most: number): number => {
    const value = options[key];
    if (value === undefined) return usual;
    const number = typeof value === 'boolean' || value === '' ? Number.NaN : Number(value);
    if (Number.isInteger(number) && number >= least && number <= most) return number;
    throw invalidArgument(
      `options.backendConfig.python['${key}']: expected a whole number from ${least} to ${most} but received ${String(value)}`,
    );
  };
  return {
    executable: text('executable'),
    initialBytes: whole('shm-default-byte-size', mebibyte, mebibyte, 2 ** 40),
    growthBytes: whole('shm-growth-byte-size', mebibyte, 1, 2 ** 40),
    memoryName: (text('shm-region-prefix-name') ?? 'tritonts').replaceAll('/', '_').slice(0, 200),
    queueSize: whole('shm_message_queue_size', 1000, 1, 65_536),
    startMs: whole('stub-timeout-seconds', 30, 1, 86_400) * 1000,
    threads: whole('thread-pool-size', 32, 1, 1024),
  };
}
