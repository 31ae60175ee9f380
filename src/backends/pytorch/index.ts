/** The PyTorch backend's decisions: the library, its shim, and how TorchScript runs. */

import { keyPath } from '../../config/index.js';
import { TritonError, unavailable } from '../../errors.js';
import type { BackendConfig } from '../../options.js';
import { faultOfTorch } from '../../python/interpreter.js';
import { findTorch, inPython } from './in-python.js';
import type { Backend, FoundProgram } from '../backend.js';
import type { BackendContext } from '../context.js';
import { namesTorch, torchLibrary } from './library.js';
import { common } from './rules.js';
import { orderNote, threadKeys, torchSettings, wantedRuntime } from './settings.js';
import { shimFor } from './shim.js';

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

/**
 * Why libtorch cannot run models, and the library, if there is one; undefined if it can.
 *
 * @throws {@link TritonError} UNAVAILABLE if a library that the user names is not there: another one is not wanted then.
 */
function lackOfLibrary(
  options: BackendConfig,
): { readonly reason: string; readonly library: string | undefined } | undefined {
  let library: string | undefined;
  try {
    library = torchLibrary(options);
    shimFor(library);
    return undefined;
  } catch (error) {
    const isLack = error instanceof TritonError && error.reason === 'MISSING';
    if (!isLack || (library === undefined && namesTorch(options))) throw error;
    return { reason: error.message, library };
  }
}

/** Looks for a Python with torch, which runs models where the library cannot. */
async function find(
  options: BackendConfig,
  others: Readonly<Record<string, BackendConfig>>,
  lack = '',
): Promise<FoundProgram> {
  let library: string | undefined;
  try {
    library = lackOfLibrary(options)?.library;
  } catch {
    // The user names a library that is not there; `lack` says so.
    return { library: undefined, reason: lack, besides: '' };
  }
  const found = await findTorch(others['python'] ?? {}, library);
  const fault = typeof found === 'string' ? found : await faultOfTorch(found);
  if (typeof found === 'string' || fault !== undefined)
    return { library: undefined, reason: `${lack}. ${fault ?? ''}`, besides: '' };
  const { executable: path, version } = found;
  return {
    library: { path, version: `${version}, in processes of Python` },
    reason: '',
    besides: `models run faster with libtorch in the server's own process: ${lack}`,
  };
}

/**
 * PyTorch: models in TorchScript. Each instance has its own module, unless they share one.
 *
 * It reads the parameters of {@link common} from a model's `parameters`, or, if absent there, from `backendConfig.pytorch`.
 * It reads `library` only from `backendConfig.pytorch`.
 */
export const backend: Backend = {
  ...common,
  runtime: { title: 'PyTorch', settings: librarySettings, find },
  async choose(context, others): Promise<Backend> {
    refuseCompiled(context);
    const wanted = wantedRuntime(context);
    if (wanted === 'libtorch') return backend;
    const lack = wanted === 'python' ? undefined : lackOfLibrary(context.options);
    if (wanted === undefined && lack === undefined) return backend;
    const found = await findTorch(others['python'] ?? {}, lack?.library);
    if (typeof found !== 'string') return inPython(found, lack?.reason);
    throw unavailable('MISSING', lack === undefined ? found : `${lack.reason}. ${found}`);
  },
  settings(context: BackendContext): Record<string, string> {
    const { flags, threads, optimize } = torchSettings(context);
    const texts = Object.entries({ ...flags, ...threads }).map(
      ([key, value]) => [key, String(value)] as const,
    );
    return {
      ...librarySettings(context.options),
      cores: String(context.cores),
      optimize: String(optimize),
      ...Object.fromEntries(texts),
    };
  },
  notes(info: Readonly<Record<string, string>>, context: BackendContext): readonly string[] {
    const { threads } = torchSettings(context);
    return [
      ...orderNote(context.config.input, info),
      ...Object.entries(threadKeys).flatMap(([key, setting]) => {
        const wanted = threads[setting];
        const used = info[`${setting}_threads`] ?? '';
        if (wanted === 0 || String(wanted) === used) return [];
        return `${keyPath('parameters', key)}: ${wanted} has no effect, because another model has set ${used} for the process`;
      }),
    ];
  },
};
