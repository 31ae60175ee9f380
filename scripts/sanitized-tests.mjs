// Builds the addon under a sanitizer, in its own folder, and runs the compiled tests with it in an ordinary
// Node:
//
//   node scripts/sanitized-tests.mjs address | thread [part of a path]… [--option of node --test]…
//
// Node is not instrumented, so the sanitizer's library is preloaded, and only the addon is checked. The
// reports of all processes, including those that tests start, go to files, which this command prints and
// counts:
//   address  any report is a failure. A report of UBSan ends the process with a message, and so fails its test.
//   thread   reports with a frame of the addon are failures. Others are only counted, because synchronisation inside Node
//            is not seen.
// Needs Linux, CMake and g++ with its sanitizers.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const suppressions = (name) => join(root, 'native', 'test', name);

/** For each sanitizer: its flags, library, options, and the tests that run if none are named. */
const sanitizers = {
  address: {
    flags: 'address,undefined',
    library: 'libasan.so',
    env: (log) => ({
      ASAN_OPTIONS: [
        // V8 does not free most of its memory at exit. The native tests under the same sanitizer find leaks of the
        // engine, and so does npm test -- leak.
        'detect_leaks=0',
        // Tests ask for more memory than there is, and malloc returns null then.
        'allocator_may_return_null=1',
        `log_path=${log}`,
      ].join(':'),
      // UBSan ends the process and writes to stderr only. No test expects this code.
      UBSAN_OPTIONS: 'print_stacktrace=1:exitcode=99',
    }),
    tests: [],
    counts: () => true,
  },
  thread: {
    flags: 'thread',
    library: 'libtsan.so',
    env: (log) => ({
      TSAN_OPTIONS: [
        'ignore_noninstrumented_modules=1',
        `suppressions=${suppressions('tsan.supp')}`,
        // As in native-tests.mjs.
        'intercept_tls_get_addr=0',
        // This command judges the reports, so the process goes on and ends as usual.
        'exitcode=0',
        // A process that exits during a run that hangs leaves its threads on purpose. Tests count threads if
        // they matter.
        'report_thread_leaks=0',
        // Tests measure how long an ending takes. By default it would wait a second for late races.
        'atexit_sleep_ms=100',
        'allocator_may_return_null=1',
        `log_path=${log}`,
      ].join(':'),
    }),
    // These are all tests with threads. The others (configurations, datatypes, examples) run the same native
    // code again.
    tests: ['addon/', 'backends/', 'ending/', 'environments/', 'faults/', 'memory/', 'server/'],
    counts: (report) => /\(tritonts(_faults)?\.node\+0x/.test(report),
  },
};

const [name = '', ...args] = process.argv.slice(2);
const sanitizer = sanitizers[name];
if (!sanitizer)
  throw new RangeError(`Expected ${Object.keys(sanitizers).join(' or ')} but received '${name}'`);

const library = execFileSync('g++', [`-print-file-name=${sanitizer.library}`], { encoding: 'utf8' }).trim();
if (!isAbsolute(library)) throw new Error(`g++ has no ${sanitizer.library}`);

const build = join(root, 'build', `addon-${name}`);
const addon = join(build, 'Release', 'tritonts.node');
const defines = [`TRITONTS_SANITIZE=${sanitizer.flags}`, 'TRITONTS_CHECKS=ON', 'TRITONTS_FAULTS=ON'];
const built = spawnSync(
  process.execPath,
  [join(root, 'scripts', 'build-addon.mjs'), '--out', build, ...defines.flatMap((one) => ['--define', one])],
  { cwd: root, stdio: 'inherit' },
);
if (built.status !== 0) process.exit(built.status ?? 1);

const reports = join(build, 'reports');
rmSync(reports, { recursive: true, force: true });
mkdirSync(reports);
const named = args.some((argument) => !argument.startsWith('--'));
const { status } = spawnSync(
  process.execPath,
  [join(root, 'scripts', 'node-tests.mjs'), '--all', ...(named ? [] : sanitizer.tests), ...args],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      LD_PRELOAD: library,
      TRITONTS_ADDON: addon,
      ...sanitizer.env(join(reports, 'report')),
    },
  },
);

/** The reports of all processes. A file has several if the sanitizer lets the process go on. */
const texts = readdirSync(reports)
  .sort()
  .flatMap((file) => readFileSync(join(reports, file), 'utf8').split(/^={18}$/m))
  .filter((text) => /(ERROR|WARNING): \w+Sanitizer: /.test(text));
const counted = texts.filter((text) => sanitizer.counts(text));
for (const text of counted) console.log(text);
console.log(
  `${name} sanitizer: tests ${status === 0 ? 'passed' : 'failed'}, ` +
    `reports of the addon: ${counted.length}, others: ${texts.length - counted.length}` +
    (texts.length > 0 ? ` (all in ${reports})` : ''),
);
if (!existsSync(addon)) throw new Error(`the addon is not at ${addon}`);
process.exitCode = status === 0 && counted.length === 0 ? 0 : 1;
