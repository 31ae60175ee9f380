// Builds and runs the engine's C++ tests, which need no Node; the program that makes memory and threads fail; the one
// that runs random schedules against a model of the engine; and the stress program.
//
//   node scripts/native-tests.mjs [--sanitize address,undefined | thread] [--filter TEXT | --property | --trees]
//                                 [--seconds SECONDS] [--seed NUMBER] [--sequences NUMBER] [FILE]...
//
// --filter: runs only tests whose name contains TEXT, and no other program. --property: runs only random
// schedules, for --seconds (60), with a random seed unless --seed is given. --trees: in the same way, runs only
// the program that reads damaged model files of trees, which begins with the FILEs and its own models. Otherwise
// the schedules are always the same, and --seconds (3), --seed, and --sequences, how many sequences it runs with each
// strategy, are for the stress program. Needs CMake and a compiler. Tests
// of the onnxruntime backend run if onnxruntime-node is installed, those of the openvino and tensorflow backends if
// TRITONTS_OPENVINO_PATH and TRITONTS_TENSORFLOW_PATH name the folders of their libraries, and those of the
// pytorch backend if TRITONTS_TORCH_PATH names a libtorch, for which the built package makes the shim.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildPrograms } from './native-programs.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sanitize: { type: 'string', default: '' },
    filter: { type: 'string' },
    property: { type: 'boolean', default: false },
    trees: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    seed: { type: 'string' },
    sequences: { type: 'string' },
  },
});

/** Runs a program. If it fails, this process exits. */
function run(program, args, env = {}) {
  const result = spawnSync(program, args, { stdio: 'inherit', cwd: root, env: { ...process.env, ...env } });
  if (result.error) throw result.error;
  if (result.status !== 0) {
    console.error(`${program} ended with ${result.status ?? result.signal}`);
    process.exit(result.status ?? 1);
  }
}

/** The library file of the installed onnxruntime-node for this system. */
function runtimeLibrary() {
  let carrier;
  try {
    carrier = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'));
  } catch {
    return undefined;
  }
  for (const abi of readdirSync(join(carrier, 'bin'))) {
    const folder = join(carrier, 'bin', abi, process.platform, process.arch);
    if (!existsSync(folder)) continue;
    const file = readdirSync(folder).find((name) => /^(lib)?onnxruntime\.(so|dll|[\d.]*dylib)/.test(name));
    if (file) return join(folder, file);
  }
  return undefined;
}

/** The file of a library in the folder that a variable of the environment names. */
function libraryIn(variable, pattern) {
  const folder = process.env[variable];
  if (!folder) return undefined;
  const file = readdirSync(folder).find((name) => pattern.test(name));
  return file && join(folder, file);
}

/** The shim for the libtorch that the environment names. */
function torchShim() {
  if (!process.env.TRITONTS_TORCH_PATH) return undefined;
  const command = [join(root, 'dist', 'command', 'main.js'), 'build-backend', 'pytorch'];
  const { stdout, status } = spawnSync(process.execPath, command, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 2],
  });
  if (status !== 0) process.exit(status ?? 1);
  return stdout.trim().split('\n').at(-1);
}

const only = values.property ? 'tritonts_property' : values.trees ? 'tritonts_tree_fuzz' : undefined;
const isWhole = !values.filter && !only;
const hasScarcity = process.platform === 'linux' && values.sanitize === '';
const build = buildPrograms(
  [
    only ?? 'tritonts_tests',
    ...(isWhole ? ['tritonts_property', 'tritonts_stress'] : []),
    // The program for GPUs is only compiled.
    ...(isWhole && hasScarcity ? ['tritonts_scarcity', 'tritonts_gpu'] : []),
  ],
  values.sanitize,
);

const suppressions = (name) => `suppressions=${join(root, 'native', 'test', name)}:print_suppressions=0`;
const library = process.env.TRITONTS_TEST_ORT_LIBRARY ?? runtimeLibrary();
const openVino = libraryIn('TRITONTS_OPENVINO_PATH', /^libopenvino_c\.(so|[\d.]*dylib)/);
const tensorFlow = libraryIn('TRITONTS_TENSORFLOW_PATH', /^libtensorflow(_cc)?\.(so\.2|2[\d.]*dylib)/);
const shim = torchShim();
const env = {
  ...(shim ? { TRITONTS_TEST_PYTORCH: shim } : {}),
  ...(openVino ? { TRITONTS_TEST_OPENVINO_LIBRARY: openVino } : {}),
  ...(tensorFlow ? { TRITONTS_TEST_TENSORFLOW_LIBRARY: tensorFlow } : {}),
  // AddressSanitizer does not take libraries that TBB opens with RTLD_DEEPBIND.
  TBB_ENABLE_SANITIZERS: '1',
  ...(library ? { TRITONTS_TEST_ORT_LIBRARY: library } : {}),
  UBSAN_OPTIONS: 'print_stacktrace=1',
  // As below: the search for leaks would read that range of garbage, and end with signal 11.
  ASAN_OPTIONS: 'intercept_tls_get_addr=0',
  LSAN_OPTIONS: suppressions('lsan.supp'),
  // libtsan of GCC 12 reads a header that glibc has not had since 2.25 in front of a library's thread-locals, where these
  // lie at 16 modulo 4096, and then fails to reset a range of garbage ("failed to allocate"). The C library
  // allocates them with malloc, which is intercepted anyway.
  TSAN_OPTIONS: `${suppressions('tsan.supp')}:intercept_tls_get_addr=0`,
};
const property = join(build, 'tritonts_property');
const seed = values.seed ? ['--seed', values.seed] : [];
if (only) run(join(build, only), ['--seconds', values.seconds ?? '60', ...seed, ...positionals], env);
else run(join(build, 'tritonts_tests'), values.filter ? [values.filter] : [], env);
if (isWhole) {
  if (hasScarcity) run(join(build, 'tritonts_scarcity'), [], env);
  else
    console.log(
      'skipped: the scarcity program, which takes the place of functions that sanitizers replace, too, and needs Linux',
    );
  run(property, ['--schedules', '5000', '--seed', '1'], env);
  const stressed = values.sequences
    ? [values.seed ?? '1', values.sequences]
    : values.seed
      ? [values.seed]
      : [];
  run(join(build, 'tritonts_stress'), [values.seconds ?? '3', ...stressed], env);
}
