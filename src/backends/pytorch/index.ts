/** The PyTorch backend's decisions: the library, its shim, and how TorchScript runs. */

import { keyPath, type ModelConfig } from '../../config/index.js';
import type { BackendConfig } from '../../options.js';
import type { Backend } from '../backend.js';
import type { BackendContext } from '../context.js';
import { SettingsReader } from '../settings-reader.js';
import { torchLibrary } from './library.js';
import { rules } from './rules.js';
import { shimFor } from './shim.js';

/** No process needs more threads than this: the largest machines have fewer cores. */
const mostThreads = 1024;

/** The settings of the process, and the number of threads of models that write them. */
const threadKeys = { INTRA_OP_THREAD_COUNT: 'intra_op', INTER_OP_THREAD_COUNT: 'inter_op' } as const;

/** The names of settings that a flag turns on or off. */
const flagKeys = {
  INFERENCE_MODE: 'inference',
  ENABLE_WEIGHT_SHARING: 'share',
  ENABLE_JIT_EXECUTOR: 'executor',
  ENABLE_JIT_PROFILING: 'profiling',
  ENABLE_TENSOR_FUSER: 'fuser',
} as const;

/** Fails for a model that AOTInductor compiled: it is a library of native code and no TorchScript. */
function refuseCompiled({ config, fault }: BackendContext): void {
  const { platform, default_model_filename: file } = config;
  const isPlatform = platform === 'torch_aoti';
  if (!isPlatform && !file.endsWith('.pt2')) return;
  throw fault(
    isPlatform ? 'platform' : 'default_model_filename',
    `models of AOTInductor (${isPlatform ? 'platform torch_aoti' : `'${file}'`}) are not supported: write the model with ` +
      'torch.jit.trace(model, inputs).save(\'model.pt\'), or run it in a model.py with backend "python"',
    'UNSUPPORTED',
  );
}

/** The settings with which the library is opened. */
function librarySettings(options: BackendConfig): { readonly library: string; readonly shim: string } {
  const library = torchLibrary(options);
  return { library, shim: shimFor(library) };
}

/** Whether a name ends with the index of a tensor, as in `INPUT__0`. */
const hasIndex = (name: string): boolean => /^(?:(?!__).)*__\d*$/s.test(name);

/** The note about inputs that are found by their order alone. */
function orderNote(input: ModelConfig['input'], names: readonly string[]): readonly string[] {
  const byName = input.every(({ name }) => names.includes(name));
  if (byName || input.every(({ name }) => hasIndex(name))) return [];
  const list = names.join(', ');
  return [
    `input: the names are neither the arguments of forward (${list}) nor <name>__<index>, so the order of the configuration counts`,
  ];
}

/**
 * PyTorch: models in TorchScript. Each instance has its own module, unless they share one.
 *
 * It reads the parameters of {@link rules} from a model's `parameters`, or, if absent there, from `backendConfig.pytorch`.
 * It reads `library` only from `backendConfig.pytorch`.
 */
export const backend: Backend = {
  name: 'pytorch',
  needsFile: true,
  // Triton fills in the name only if the platform is not written.
  defaultFile: 'model.pt',
  explainsFiles: true,
  describesModels: false,
  rules,
  optionKeys: ['library', ...Object.keys(rules.parameters ?? {})],
  paths: { library: 'library' },
  runtime: { title: 'PyTorch', settings: librarySettings },
  settings(context: BackendContext): Record<string, string> {
    refuseCompiled(context);
    const read = new SettingsReader(context);
    const flags = Object.entries(flagKeys).flatMap(([key, setting]) => {
      const on = read.boolean(key);
      return on === undefined ? [] : [[setting, String(on)] as const];
    });
    const threads = Object.entries(threadKeys).map(
      ([key, setting]) => [setting, String(read.integer(key, mostThreads) ?? 0)] as const,
    );
    // The flags of GPUs have no effect, but a wrong word is an error, as in Triton.
    for (const key of ['DISABLE_CUDNN', 'ENABLE_CACHE_CLEANING']) read.boolean(key);
    return {
      ...librarySettings(context.options),
      cores: String(context.cores),
      optimize: String(read.boolean('DISABLE_OPTIMIZED_EXECUTION') !== true),
      ...Object.fromEntries([...flags, ...threads]),
    };
  },
  notes(info: Readonly<Record<string, string>>, context: BackendContext): readonly string[] {
    const read = new SettingsReader(context);
    const names = (info['arguments'] ?? '').split('\n');
    return [
      ...(info['takes_map'] === '1' ? [] : orderNote(context.config.input, names)),
      ...Object.entries(threadKeys).flatMap(([key, setting]) => {
        const wanted = read.integer(key, mostThreads) ?? 0;
        const used = info[`${setting}_threads`] ?? '';
        if (wanted === 0 || String(wanted) === used) return [];
        return `${keyPath('parameters', key)}: ${wanted} has no effect, because another model has set ${used} for the process`;
      }),
    ];
  },
};
