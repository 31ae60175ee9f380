/** The support of known keys of `parameters`, by backend: the part of the class table for `parameters`. */

import type { Support } from './field-support.js';

/** A row: a key of `parameters`. */
export interface ParameterSupport extends Support {
  /** Whether the value must be an integer. */
  readonly integer: boolean;
  /** Values that have no effect, because they ask for the normal behaviour. */
  readonly neutral: readonly string[];
}

type Options = Partial<Pick<ParameterSupport, 'integer' | 'neutral' | 'onCpu'>>;
const row = (kind: Support['class'], text: string, options: Options = {}): ParameterSupport => ({
  class: kind,
  text,
  integer: false,
  neutral: [],
  ...options,
});

/** An option of the CUDA provider. */
const cuda = (text: string, integer = true): ParameterSupport =>
  row('acted', `GPU instances: ${text}`, {
    integer,
    onCpu: { class: 'hint', text: 'an option of the CUDA provider; instances run on the CPU' },
  });

/** Keys that have a meaning for every backend. */
export const commonParameters: Readonly<Record<string, ParameterSupport>> = {
  inline: row(
    'acted',
    "which batches run on the JS thread: auto (50 µs or less), off, or microseconds; the server's option otherwise (not in Triton)",
  ),
  rerun_in_halves: row(
    'acted',
    'false: a batch that fails as a whole is not run again in halves; JavaScript and Python, whose code may do something outside of itself, need true (not in Triton, where it never is)',
  ),
  batch_across_shapes: row(
    'acted',
    "true or false: whether requests of a batch's shape join it from behind others; the server's option otherwise (not in Triton)",
  ),
  conditional: row(
    'acted',
    'ensembles: true lets several steps produce one tensor, and skips steps whose inputs never come (not in Triton)',
    { neutral: ['false'] },
  ),
  TRITON_BATCH_STRATEGY_PATH: row('refused', 'libraries that decide about batches cannot be loaded'),
};

/**
 * Keys by backend. As in Triton, a model with an unknown key loads; the key is noted. A backend that is not
 * listed here defines its own keys.
 */
export const backendParameters: Readonly<Record<string, Readonly<Record<string, ParameterSupport>>>> = {
  onnxruntime: {
    intra_op_thread_count: row('acted', 'threads of a pool of its own; 0: as if absent', { integer: true }),
    inter_op_thread_count: row('acted', 'threads that run operators side by side, with execution_mode 1', {
      integer: true,
    }),
    execution_mode: row('acted', '0: one operator after the other, 1: side by side', { integer: true }),
    enable_mem_arena: row('acted', "0 switches the runtime's arena off", { integer: true }),
    enable_mem_pattern: row('acted', "0 switches the runtime's memory patterns off", { integer: true }),
    'memory.enable_memory_arena_shrinkage': row(
      'acted',
      'arenas to shrink after each run: `cpu:0`, and `gpu:N` where all instances are on GPU N, separated by semicolons',
    ),
    'session.use_device_allocator_for_initializers': row('acted', '1: weights do not live in the arena', {
      integer: true,
    }),
    'session.intra_op.allow_spinning': row(
      'acted',
      '1: threads of its own that wait actively (not in Triton)',
      {
        integer: true,
      },
    ),
    profile_file_prefix: row(
      'acted',
      "writes a profile to <prefix>_<date>.json at unload, in the model's directory or a trusted one (not in Triton)",
    ),
    cudnn_conv_algo_search: cuda('0 exhaustive, 1 heuristic, 2 default'),
    gpu_mem_limit: cuda("most bytes of the runtime's arena on the GPU"),
    arena_extend_strategy: cuda('0 grows to the next power of two, 1 by the requested size'),
    do_copy_in_default_stream: cuda('0 copies in streams of their own', false),
    max_concurrency: cuda(
      'how many batches may be under way at once, so that copies of one overlap kernels of another; default: 2 (not in Triton)',
    ),
  },
  javascript: {
    requires: row('acted', 'names of models, separated by commas, that are loaded first (not in Triton)'),
    max_concurrency: row('acted', 'how many batches an instance may have under way at once (not in Triton)', {
      integer: true,
    }),
  },
  python: {
    requires: row('acted', 'names of models, separated by commas, that are loaded first (not in Triton)'),
    EXECUTION_ENV_PATH: row(
      'acted',
      "the environment whose Python runs the model: a folder, or an archive of conda-pack, in the model's folder or a trusted one",
    ),
    FORCE_CPU_ONLY_INPUT_TENSORS: row('hint', 'inputs are in the memory of the CPU anyway', {
      neutral: ['yes'],
    }),
  },
  tensorrt: {
    max_concurrency: row(
      'acted',
      'how many batches an instance may have under way at once, so that copies of one overlap kernels of another; default: 2 (not in Triton)',
      { integer: true },
    ),
  },
  identity: {
    execute_delay_ms: row('acted', 'how long each execution takes', { integer: true }),
    instance_wise_delay_multiplier: row('acted', 'instance i takes i times as long, times this value', {
      integer: true,
    }),
  },
};
