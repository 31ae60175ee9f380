/** The ONNX Runtime backend's decisions: the library, the number of threads, and the options of a session. */

import { keyPath } from '../../config/index.js';
import type { BackendConfig } from '../../options.js';
import type { Backend } from '../backend.js';
import { cpu, type BackendContext } from '../context.js';
import { cudaSettings, missingProvider } from './cuda.js';
import { libraryToOpenFirst, onnxRuntimeLibrary } from './library.js';
import { confinedPrefix, operatorLibraries, operatorsField, ownPlaces } from '../trusted-places.js';
import { SettingsReader } from '../settings-reader.js';
import { rules } from './rules.js';

/**
 * The settings that choose the library, which is about to be opened. From 1.29 on it would otherwise write a database of its
 * use to the user's home before it can be told not to.
 */
function librarySettings(options: BackendConfig): Record<string, string> {
  process.env['ORT_DISABLE_TELEMETRY'] ??= '1';
  const first = libraryToOpenFirst(options);
  return { library: onnxRuntimeLibrary(options), ...(first !== undefined && { open_first: first }) };
}

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

/** The libraries of custom operators. */
function librariesOf(context: BackendContext): string[] {
  return operatorLibraries(context, () => onnxRuntimeLibrary(context.options), 'ONNX Runtime');
}

/**
 * The path prefix of profiles. The server's options may name any path; a model may name only paths that it may
 * write to.
 */
function profilePrefix(read: SettingsReader, context: BackendContext): string | undefined {
  const key = 'profile_file_prefix';
  const own = read.own(key);
  if (own === undefined) return read.text(key);
  return confinedPrefix(context, keyPath('parameters', key), own, ownPlaces(context));
}

/** No model needs more threads than this: the largest machines have fewer cores. */
const mostThreads = 1024;

/**
 * Threads of a session. By default, a version with one instance uses the runtime's single pool for all models, or, if it is
 * large, a pool of its own whose threads spin within runs (see native/backends/onnxruntime/settings.h). A version with more
 * instances has its own pool of max(1, cores − instances + 1) threads. So has one with a host policy, on the cores of
 * the policy.
 */
function threads(read: SettingsReader, context: BackendContext): Record<string, string> {
  const { boundCores, devices } = context;
  const cores = Math.min(context.cores, boundCores ?? context.cores);
  const instances = devices.length;
  const own = Math.max(1, cores - instances + 1);
  const intra = read.integer('intra_op_thread_count', mostThreads) ?? 0;
  const inter = read.integer('inter_op_thread_count', mostThreads) ?? 0;
  const mode = read.flag('execution_mode');
  const spinning = read.flag('session.intra_op.allow_spinning');
  const pool = read.generalFlag('enable-global-threadpool');
  const settings: Record<string, string> = {
    global_threads: String(context.cores),
    fallback_threads: String(own),
  };
  // Threads beyond the cores would only spin in each other's way.
  const count = intra > 0 ? intra : own;
  const maySpin = context.spinCores > 0 && count <= context.spinCores + 1 && devices[0] === cpu;
  const spinsInRuns = maySpin && spinning === undefined && mode !== '1' && instances === 1 && pool !== '1';
  if (spinsInRuns) settings['spin_in_runs'] = '1';
  const wantsOwn = boundCores !== undefined || intra > 0 || inter > 0 || mode === '1' || spinning === '1';
  // As in Triton, a model's thread counts are ignored if it uses the global pool.
  if (pool === '1' || (pool === undefined && !wantsOwn && instances === 1))
    return { ...settings, shared_pool: '1' };
  settings['intra_op_threads'] = String(count);
  if (!spinsInRuns) settings['allow_spinning'] = spinning ?? '0';
  if (mode !== undefined) settings['execution_mode'] = mode;
  if (mode === '1' && inter > 0) settings['inter_op_threads'] = String(inter);
  return settings;
}

/**
 * The arenas to shrink after each run, such as `cpu:0;gpu:1`. The runtime parses this text only at each run. So
 * an arena that the sessions do not have is refused when the model is loaded, not at the first run.
 */
function shrinkage(read: SettingsReader, { devices }: BackendContext): string | undefined {
  const key = 'memory.enable_memory_arena_shrinkage';
  if (!read.says(key)) return undefined;
  const [gpu, ...others] = new Set(devices.filter((device) => device !== cpu));
  const arenas = read.flag('enable_mem_arena') === '0' ? [] : ['cpu:0'];
  // All sessions get the same text, including those on other devices.
  if (gpu !== undefined && others.length === 0 && !devices.includes(cpu)) arenas.push(`gpu:${gpu}`);
  return read.text(key, {
    expected:
      arenas.length === 0
        ? 'no value, because the sessions have no arena'
        : `arenas that every session has, ${arenas.join(' or ')}, separated by semicolons`,
    allows: (text) => text.split(';').every((arena) => arenas.includes(arena)),
  });
}

/**
 * ONNX Runtime. A version has one session on each device. Its instances there share the session, so the weights
 * exist once on each device.
 *
 * It reads `intra_op_thread_count`, `inter_op_thread_count`, `execution_mode`, `enable_mem_arena`,
 * `enable_mem_pattern`, `memory.enable_memory_arena_shrinkage`,
 * `session.use_device_allocator_for_initializers`, `session.intra_op.allow_spinning` and `profile_file_prefix`
 * from a model's `parameters`, or, if absent there, from `backendConfig.onnxruntime`. It reads `library`,
 * `enable-global-threadpool` and `default-max-batch-size` only from `backendConfig.onnxruntime`.
 * {@link cudaSettings} documents the settings of instances on GPUs.
 */
export const backend: Backend = {
  name: 'onnxruntime',
  needsFile: true,
  confinesWeights: true,
  rules,
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
  runtime: { title: 'ONNX Runtime', settings: librarySettings },
  onGpus: { missing: missingProvider },
  settings(context: BackendContext): Record<string, string> {
    const { options } = context;
    const read = new SettingsReader(context);
    const settings: Record<string, string> = {
      ...librarySettings(options),
      graph_optimization_level: graphLevel(context),
      ...threads(read, context),
      ...cudaSettings(read, context),
    };
    const set = (key: string, value: string | undefined): void => {
      if (value !== undefined) settings[key] = value;
    };
    set('enable_cpu_mem_arena', read.flag('enable_mem_arena'));
    set('enable_mem_pattern', read.flag('enable_mem_pattern'));
    set('profile_prefix', profilePrefix(read, context));
    set('run_config.memory.enable_memory_arena_shrinkage', shrinkage(read, context));
    set(
      'session_config.session.use_device_allocator_for_initializers',
      read.flag('session.use_device_allocator_for_initializers'),
    );
    const operators = librariesOf(context);
    if (operators.length > 0) settings['custom_op_libraries'] = operators.join('\n');
    return settings;
  },
  blame(message: string, context: BackendContext): string | undefined {
    const library = librariesOf(context).findIndex((path) => message.includes(path));
    return library < 0 ? undefined : operatorsField(library);
  },
  foundNoModel: (message) =>
    /protobuf parsing failed|no graph was found|does not have a graph/i.test(message),
};
