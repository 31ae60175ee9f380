/** Runs models in TorchScript with the torch of a Python, in a process for each instance: slower, but without a compiler. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { keyPath } from '../../config/index.js';
import { TritonError, unavailable } from '../../errors.js';
import type { BackendConfig } from '../../options.js';
import { torchProgram } from '../../python/files.js';
import { lookForTorch, type FoundTorch } from '../../python/interpreter.js';
import { PythonVersion } from '../../python/python-version.js';
import { rerunsInHalves } from '../../scheduling/policy.js';
import type { Backend } from '../backend.js';
import type { BackendContext } from '../context.js';
import { openInstances } from '../open-instances.js';
import { pythonSettings } from '../python/settings.js';
import type { OpenedInstances, VersionSource } from '../version-source.js';
import { buildCommand } from './library.js';
import { common } from './rules.js';
import { orderNote, torchSettings } from './settings.js';

/** The Python of the installation whose package torch a library is in; undefined: it is in none. */
function pythonOf(library: string): string | undefined {
  const prefix = /^(.*)\/lib\/python3[\d.]*\/(?:site|dist)-packages\/torch\/lib\/[^/]*$/.exec(library)?.[1];
  if (prefix === undefined) return undefined;
  const path = prefix === '' ? '/bin/python3' : join(prefix, 'bin', 'python3');
  return existsSync(path) ? path : undefined;
}

/**
 * Finds a Python that has torch: the one that the options of the backend `python` name, or else that of a library, or the first in
 * PATH. If there is none, returns a text with the reasons and the commands that help.
 *
 * @param library - Path of a libtorch; undefined: there is none.
 */
export async function findTorch(
  options: BackendConfig,
  library: string | undefined,
): Promise<FoundTorch | string> {
  if (process.platform !== 'linux')
    return `Python's torch runs models on Linux alone, and this is ${process.platform}`;
  const named = pythonSettings(options).executable;
  const own = library === undefined ? undefined : pythonOf(library);
  const reasons: string[] = [];
  for (const path of named === undefined ? [...(own === undefined ? [] : [own]), 'python3'] : [named]) {
    const found = await lookForTorch(path);
    if (typeof found !== 'string') return found;
    reasons.push(found);
  }
  return `Python cannot run the model either: ${reasons.join('; ')}`;
}

/** Opens a version: its processes read the file. */
async function openTorch(source: VersionSource, python: FoundTorch): Promise<OpenedInstances> {
  const { server, options, prepared, version, backend, instances, host, file } = source;
  const { modelName: model } = prepared.context;
  if (file === undefined) {
    const text = `a model that Python's torch runs cannot be given as bytes: put it into a model repository, or run '${buildCommand}'`;
    throw new TritonError('UNSUPPORTED', `model '${model}': ${text}`, { model });
  }
  if (!existsSync(file))
    throw unavailable('MISSING', `model '${model}': unable to find '${file}'`, { model });
  const { flags, threads, optimize } = torchSettings(backend);
  const { inference = true, executor, profiling, fuser } = flags;
  const settings = JSON.stringify({
    ...{ file, inference, executor, profiling, fuser, optimize },
    intra_op: threads.intra_op > 0 ? threads.intra_op : backend.cores,
    inter_op: threads.inter_op,
    reruns: rerunsInHalves(prepared.config),
  });
  const opened = new PythonVersion({
    model,
    version,
    path: torchProgram(),
    // No code of the model's folder is run.
    modelDirectory: '',
    instances,
    settings: { ...pythonSettings(options.backendConfig['python'] ?? {}), executable: python.path },
    environment: undefined,
    args: { settings },
    cores: options.spinCores,
    unloadTimeoutMs: options.workers.unloadTimeoutMs,
    finalizeTimeoutMs: options.finalizeTimeoutMs,
    log: options.log,
    native: server,
    host,
  });
  return { ...(await openInstances(source, opened)), info: () => opened.info };
}

/**
 * The backend with a Python that has torch.
 *
 * @param lack - Why libtorch cannot be used; undefined: the configuration wants Python.
 */
export function inPython(python: FoundTorch, lack: string | undefined): Backend {
  const { executable, version, folder } = python;
  const where = `it runs in processes of Python with torch ${version} ('${executable}')`;
  const faster =
    lack === undefined ? '' : `, which is slower than libtorch in the server's own process: ${lack}`;
  return {
    ...common,
    native: 'python',
    // Each process gets its requests one by one, and puts them together by the same rules.
    rules: { ...common.rules, ragged: 'apart' },
    ...(lack !== undefined && { detour: `${where}${faster}` }),
    open: (source) => openTorch(source, python),
    settings(context: BackendContext): Record<string, string> {
      const { threads } = torchSettings(context);
      return {
        library: join(folder, 'lib', 'libtorch_cpu.so'),
        version,
        intra_op_threads: String(threads.intra_op > 0 ? threads.intra_op : context.cores),
      };
    },
    notes(info, context): readonly string[] {
      const { flags } = torchSettings(context);
      const unshared = flags.share === true && context.devices.length > 1;
      return [
        `${where}${faster}`,
        ...orderNote(context.config.input, info),
        ...(unshared
          ? [
              `${keyPath('parameters', 'ENABLE_WEIGHT_SHARING')}: it has no effect, because each instance is a process with weights of its own`,
            ]
          : []),
      ];
    },
  };
}
