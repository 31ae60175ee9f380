// Installs the packages in a new folder, as npm does on a platform, and runs a user's program there:
//
//   node scripts/cross/use.mjs <folder with the tarballs> <platform> [--electron]
//
// Runs on that platform, with the Node that runs this file; --electron: with Electron's Node, from npm.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** The tarball of the package, and that of a platform's binary, among others. */
export function tarballsOf(files, target) {
  const named = (name) =>
    files.find((file) => new RegExp(`(^|[\\\\/])${name}-\\d[^\\\\/]*\\.tgz$`).test(file));
  const [main, binary] = [named('tritonts'), named(`tritonts-${target}`)];
  if (main === undefined || binary === undefined)
    throw new Error(`no tarballs of tritonts and of its binary for ${target} among ${files.join(', ')}`);
  return [main, binary];
}

/** What the program prints, each the beginning of a line. */
const lines = (target, lacksOnnx) => [
  `node ${target.split('-').slice(0, 2).join(' ')} `,
  'identity 1 2 3 4',
  'javascript 2 3 4 5',
  'ensemble 2 3 4 5',
  'error true INVALID_ARG',
  'worker 0',
  lacksOnnx ? 'onnx UNAVAILABLE ' : 'onnx 1x10',
];

function run(cwd, [file, ...args], env = {}) {
  try {
    return execFileSync(file, args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 600_000,
      env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip', TRITONTS_ADDON: '', ...env },
    });
  } catch (error) {
    throw new Error(`${[file, ...args].join(' ')}: ${error.message}\n${error.stdout ?? ''}`, {
      cause: error,
    });
  }
}

/**
 * Runs the program with a platform's Node. Returns the lines that it printed. Throws if one is missing, or if the program
 * does not end with code 0.
 *
 * @param node - The program that runs Node, the version of onnxruntime-node, and whether that has no library for the platform.
 * `electron`: the program is Electron, from npm.
 */
export function use(target, node, tarballs, { keep = false } = {}) {
  const [os, cpu, libc = 'glibc'] = target.split('-');
  const app = mkdtempSync(join(tmpdir(), `tritonts-${target}-`));
  const [main, binary] = tarballs;
  const project = {
    private: true,
    type: 'module',
    dependencies: {
      tritonts: `file:${main}`,
      'onnxruntime-node': node.onnx ?? '1.30.0',
      ...(node.electron ? { electron: '*' } : {}),
    },
    // npm installs it if it is for the platform, as it does with those that the package names.
    optionalDependencies: { [`@tritonts/${target}`]: `file:${binary}` },
  };
  writeFileSync(join(app, 'package.json'), JSON.stringify(project, null, 2));
  cpSync(join(import.meta.dirname, 'program.mjs'), join(app, 'program.mjs'));
  const npm = process.platform === 'win32' ? ['cmd', '/c', 'npm'] : ['npm'];
  const place = ['--os', os, '--cpu', cpu, ...(os === 'linux' ? ['--libc', libc] : [])];
  try {
    run(app, [...npm, 'install', '--no-audit', '--no-fund', ...place]);
    const program = node.electron ? createRequire(join(app, 'package.json'))('electron') : node.program;
    const text = run(app, [program, 'program.mjs'], node.electron ? { ELECTRON_RUN_AS_NODE: '1' } : {});
    const printed = text.trim().split(/\r?\n/);
    const missing = lines(target, node.lacksOnnx).find(
      (line) => !printed.some((one) => one.startsWith(line)),
    );
    if (missing !== undefined) throw new Error(`no line '${missing}' in:\n${text}`);
    return printed;
  } finally {
    if (keep) console.log(`kept: ${app}`);
    else rmSync(app, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { electron: { type: 'boolean', default: false } },
  });
  const [folder, target] = positionals;
  if (target === undefined) throw new RangeError('Expected a folder with tarballs, and a platform');
  const files = readdirSync(folder).map((name) => resolve(folder, name));
  const node = { program: process.execPath, electron: values.electron, lacksOnnx: target.endsWith('-musl') };
  console.log(use(target, node, tarballsOf(files, target)).join('\n'));
}
