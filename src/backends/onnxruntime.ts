/** The ONNX Runtime backend's decisions: which library, how many threads, and what the config asks of a session. */

import { dirname, isAbsolute } from 'node:path';
import { indexPath, keyPath } from '../config/index.js';
import { cpu, type Backend, type BackendContext } from './backend.js';
import { cudaSettings, gpusOfLibrary } from './cuda.js';
import { libraryToOpenFirst, onnxRuntimeLibrary } from './library.js';
import { confined, confinedPrefix, ownPlaces, realPath } from './places.js';
import { Reader } from './reader.js';

/** ONNX Runtime's numbers for the levels of a config's `optimization.graph.level`. */
const graphLevels: ReadonlyMap<number, string> = new Map([
  [-1, '1'],
  [0, '99'],
  [1, '2'],
  [2, '0'],
]);

function graphLevel({ config, fault }: BackendContext): string {
  const level = config.optimization?.graph?.level ?? 0;
  const known = graphLevels.get(level);
  if (known !== undefined) return known;
  const expected = 'expected -1 (basic), 0 (all), 1 (extended) or 2 (off)';
  throw fault('optimization.graph.level', `${expected} but received ${level}`);
}

/** The field that names a library of operators. */
function libraryField(index: number): string {
  return indexPath('model_operations.op_library_filename', index);
}

/**
 * Paths of the libraries of operators, in the order of the configuration. They may lie in the model's folder, in that of the
 * runtime's library, and where the server's options say.
 */
function operatorLibraries(context: BackendContext): string[] {
  const files = context.config.model_operations?.op_library_filename ?? [];
  if (files.length === 0) return [];
  const library = onnxRuntimeLibrary(context.options);
  const places = [
    ...ownPlaces(context),
    // A name without a folder is looked up by the system.
    ...(isAbsolute(library)
      ? [{ folder: dirname(realPath(library) ?? library), name: 'the folder of the ONNX Runtime library' }]
      : []),
  ];
  return files.map((file, index) => confined(context, libraryField(index), file, places));
}

/** Where profiles are written: as the server's options say, or, if the model says it, in a place that it may write to. */
function profilePrefix(read: Reader, context: BackendContext): string | undefined {
  const key = 'profile_file_prefix';
  const own = read.own(key);
  if (own === undefined) return read.text(key);
  return confinedPrefix(context, keyPath('parameters', key), own, ownPlaces(context));
}

/** Most threads that anybody can mean: more than the largest machines have cores for one model. */
const mostThreads = 1024;

/**
 * Threads of a session. Unless something is said, a version with one instance runs on the runtime's one pool for all
 * models, and one with more on a pool of its own of max(1, cores − instances + 1) threads.
 */
function threads(read: Reader, { cores, devices }: BackendContext): Record<string, string> {
  const instances = devices.length;
  const own = Math.max(1, cores - instances + 1);
  const intra = read.integer('intra_op_thread_count', mostThreads) ?? 0;
  const inter = read.integer('inter_op_thread_count', mostThreads) ?? 0;
  const mode = read.flag('execution_mode');
  const spinning = read.flag('session.intra_op.allow_spinning');
  const pool = read.generalFlag('enable-global-threadpool');
  const settings: Record<string, string> = { global_threads: String(cores), fallback_threads: String(own) };
  const wantsOwn = intra > 0 || inter > 0 || mode === '1' || spinning === '1';
  // As in Triton: with a global pool, what is said about threads is ignored.
  if (pool === '1' || (pool === undefined && !wantsOwn && instances === 1))
    return { ...settings, shared_pool: '1' };
  settings['intra_op_threads'] = String(intra > 0 ? intra : own);
  settings['allow_spinning'] = spinning ?? '0';
  if (mode !== undefined) settings['execution_mode'] = mode;
  if (mode === '1' && inter > 0) settings['inter_op_threads'] = String(inter);
  return settings;
}

/**
 * The arenas to shrink after each run, `cpu:0;gpu:1`. The runtime looks at them at each run and not before: what it would
 * refuse then is refused at load, which is an arena that the sessions do not have.
 */
function shrinkage(read: Reader, { devices }: BackendContext): string | undefined {
  const key = 'memory.enable_memory_arena_shrinkage';
  if (!read.says(key)) return undefined;
  const [gpu, ...others] = new Set(devices.filter((device) => device !== cpu));
  const arenas = read.flag('enable_mem_arena') === '0' ? [] : ['cpu:0'];
  // All sessions are told the same, also those that are elsewhere.
  if (gpu !== undefined && others.length === 0 && !devices.includes(cpu)) arenas.push(`gpu:${gpu}`);
  return read.text(key, {
    expected:
      arenas.length === 0
        ? 'nothing, because the sessions have no arena'
        : `arenas that every session has, ${arenas.join(' or ')}, separated by semicolons`,
    allows: (text) => text.split(';').every((arena) => arenas.includes(arena)),
  });
}

/**
 * ONNX Runtime. One session a version and device, shared by its instances there; weights exist once on each.
 *
 * Reads, from a model's `parameters` and, where they say nothing, from `backendConfig.onnxruntime`:
 * `intra_op_thread_count`, `inter_op_thread_count`, `execution_mode`, `enable_mem_arena`, `enable_mem_pattern`,
 * `memory.enable_memory_arena_shrinkage`, `session.use_device_allocator_for_initializers`,
 * `session.intra_op.allow_spinning` and `profile_file_prefix`; and from the latter alone `library`,
 * `enable-global-threadpool` and `default-max-batch-size`. For instances on GPUs see {@link cudaSettings}.
 */
export const onnxruntime: Backend = {
  name: 'onnxruntime',
  needsFile: true,
  optionKeys: [
    'library',
    'default-max-batch-size',
    'enable-global-threadpool',
    'intra_op_thread_count',
    'inter_op_thread_count',
    'execution_mode',
    'enable_mem_arena',
    'enable_mem_pattern',
    'memory.enable_memory_arena_shrinkage',
    'session.use_device_allocator_for_initializers',
    'session.intra_op.allow_spinning',
    'profile_file_prefix',
  ],
  paths: { library: 'library', profile_file_prefix: 'path' },
  gpus: gpusOfLibrary,
  settings(context: BackendContext): Record<string, string> {
    const { options } = context;
    const read = new Reader(context);
    const settings: Record<string, string> = {
      library: onnxRuntimeLibrary(options),
      graph_optimization_level: graphLevel(context),
      ...threads(read, context),
      ...cudaSettings(read, context),
    };
    const set = (key: string, value: string | undefined): void => {
      if (value !== undefined) settings[key] = value;
    };
    set('open_first', libraryToOpenFirst(options));
    set('enable_cpu_mem_arena', read.flag('enable_mem_arena'));
    set('enable_mem_pattern', read.flag('enable_mem_pattern'));
    set('profile_prefix', profilePrefix(read, context));
    set('run_config.memory.enable_memory_arena_shrinkage', shrinkage(read, context));
    set(
      'session_config.session.use_device_allocator_for_initializers',
      read.flag('session.use_device_allocator_for_initializers'),
    );
    const operators = operatorLibraries(context);
    if (operators.length > 0) settings['custom_op_libraries'] = operators.join('\n');
    return settings;
  },
  blame(message: string, context: BackendContext): string | undefined {
    const library = operatorLibraries(context).findIndex((path) => message.includes(path));
    return library < 0 ? undefined : libraryField(library);
  },
};
