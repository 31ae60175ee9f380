/** The settings of models in TorchScript, wherever they run, and the notes about their inputs. */

import { runtimeKey, type ModelConfig } from '../../config/index.js';
import type { BackendContext } from '../context.js';
import { SettingsReader, type TextRule } from '../settings-reader.js';

/** No process needs more threads than this: the largest machines have fewer cores. */
export const mostThreads = 1024;

/** The settings of the process, and the number of threads of models that write them. */
export const threadKeys = { INTRA_OP_THREAD_COUNT: 'intra_op', INTER_OP_THREAD_COUNT: 'inter_op' } as const;

/** The names of settings that a flag turns on or off. */
const flagKeys = {
  INFERENCE_MODE: 'inference',
  ENABLE_WEIGHT_SHARING: 'share',
  ENABLE_JIT_EXECUTOR: 'executor',
  ENABLE_JIT_PROFILING: 'profiling',
  ENABLE_TENSOR_FUSER: 'fuser',
} as const;

/** What a model's settings say. Undefined: it is not written. */
export interface TorchSettings {
  readonly flags: Readonly<Partial<Record<(typeof flagKeys)[keyof typeof flagKeys], boolean>>>;
  /** 0: not written. */
  readonly threads: Readonly<Record<(typeof threadKeys)[keyof typeof threadKeys], number>>;
  readonly optimize: boolean;
}

/**
 * Reads the settings of a model.
 *
 * @throws {@link TritonError} INVALID_ARG for an invalid value.
 */
export function torchSettings(context: BackendContext): TorchSettings {
  const read = new SettingsReader(context);
  const flags = Object.entries(flagKeys).flatMap(([key, setting]) => {
    const on = read.boolean(key);
    return on === undefined ? [] : [[setting, on] as const];
  });
  // The flags of GPUs have no effect, but a wrong word is an error, as in Triton.
  for (const key of ['DISABLE_CUDNN', 'ENABLE_CACHE_CLEANING']) read.boolean(key);
  return {
    flags: Object.fromEntries(flags),
    threads: {
      intra_op: read.integer('INTRA_OP_THREAD_COUNT', mostThreads) ?? 0,
      inter_op: read.integer('INTER_OP_THREAD_COUNT', mostThreads) ?? 0,
    },
    optimize: read.boolean('DISABLE_OPTIMIZED_EXECUTION') !== true,
  };
}

const isWay: TextRule = {
  expected: "'libtorch', 'python', or no such parameter,",
  allows: (text) => text === 'libtorch' || text === 'python',
};

/**
 * What is to run a model: libtorch in this process, or Python's torch in others. Undefined: libtorch, if it can be used.
 *
 * @throws {@link TritonError} INVALID_ARG for another value.
 */
export function wantedRuntime(context: BackendContext): 'libtorch' | 'python' | undefined {
  const way = new SettingsReader(context).text(runtimeKey, isWay);
  // The rule allows nothing else.
  return way as 'libtorch' | 'python' | undefined;
}

/** Whether a name ends with the index of a tensor, as in `INPUT__0`. */
const hasIndex = (name: string): boolean => /^(?:(?!__).)*__\d*$/s.test(name);

/** The note about inputs that are found by their order alone. `info`: what is known of the open model. */
export function orderNote(
  input: ModelConfig['input'],
  info: Readonly<Record<string, string>>,
): readonly string[] {
  if (info['takes_map'] === '1') return [];
  const names = (info['arguments'] ?? '').split('\n');
  const byName = input.every(({ name }) => names.includes(name));
  if (byName || input.every(({ name }) => hasIndex(name))) return [];
  const list = names.join(', ');
  return [
    `input: the names are neither the arguments of forward (${list}) nor <name>__<index>, so the order of the configuration counts`,
  ];
}
