// Packs examples/electron with electron-builder and @electron/packager, which npm installs into build/electron-pack, and checks the results. The
// program of Electron is a stand-in: a file without meaning, since npm alone does not install the real one. So nothing is run in Electron.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../package/paths.mjs';
import { run, write } from '../package/project.mjs';
import { pythonWith } from '../python-environment.mjs';

const tools = join(root, 'build', 'electron-pack');
const stand = join(root, 'scripts', 'electron', 'stand-in.mjs');

/** The version that the packers are told. */
const version = '45.0.0';

/** What Electron's documents say of fuses: a mark in the program, the version of what follows, its length, and a character for each fuse. */
const fuseMark = Buffer.from('dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX');
const fuses = '10111001';

/** A model that says which of the app's files its process has open, or runs. */
const whereConfig = `backend: "python"
input { name: "x" data_type: TYPE_FP32 dims: 1 }
output { name: "files" data_type: TYPE_STRING dims: -1 }
`;
const whereModel = `import sys
import numpy as np
import tritonts_stub
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        library = [line.split()[-1] for line in open("/proc/self/maps") if "tritonts_python" in line][0]
        files = [sys.argv[0] or sys.path[0], tritonts_stub.__file__, pb_utils.__file__, library]
        tensor = pb_utils.Tensor("files", np.array([name.encode() for name in files], dtype=object))
        return [pb_utils.InferenceResponse([tensor]) for _ in requests]
`;

if (process.platform !== 'linux' || process.arch !== 'x64') {
  console.log(
    `SKIPPED, nothing was packed: the check is for linux-x64, and this is ${process.platform}-${process.arch}`,
  );
  process.exit(0);
}

write(tools, { 'package.json': { private: true } });
// The newest packers that run with Node 20.
const packers = ['electron-builder@^26.17.0', '@electron/packager@^18.4.4', '@electron/asar@^3.4.1'];
await run(tools, 'npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packers]);
const load = createRequire(join(tools, 'index.js'));
const asar = load('@electron/asar');

const pack = [join(root, 'scripts', 'package', 'pack.mjs')];
const [binary, main] = execFileSync(process.execPath, pack, { encoding: 'utf8' }).trim().split('\n');
const base = mkdtempSync(join(tmpdir(), 'tritonts-electron-'));
try {
  const app = await installedApp();
  await check('electron-builder', await builder(app));
  await check('@electron/packager', await packager(app));
  console.log('passed; nothing was run in Electron itself');
} finally {
  rmSync(base, { recursive: true, force: true });
}

/** The example as a user has it: with its packages, and the model of `npx tritonts init digits`. */
async function installedApp() {
  const app = join(base, 'app');
  cpSync(join(root, 'examples', 'electron'), app, { recursive: true });
  const { dependencies, ...rest } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'));
  assert.deepEqual(Object.keys(dependencies), ['onnxruntime-node', 'tritonts']);
  // The tarballs in place of the published packages.
  write(app, { 'package.json': rest });
  await run(app, 'npm', [
    'install',
    '--omit=dev',
    '--no-audit',
    '--no-fund',
    main,
    binary,
    'onnxruntime-node@1.30.0',
  ]);
  // Packages that are needed while packing alone. Empty ones do: the packers have to leave them out.
  for (const name of Object.keys(rest.devDependencies))
    write(app, { [`node_modules/${name}/package.json`]: { name, version } });
  await run(app, process.execPath, ['node_modules/tritonts/dist/command/main.js', 'init', 'digits']);
  return app;
}

/** A folder in place of Electron's distribution. Its program has fuses as the real one has, and nothing else. */
function standIn() {
  const folder = join(base, 'electron');
  write(folder, { version, LICENSE: '', 'LICENSES.chromium.html': '' });
  writeFileSync(
    join(folder, 'electron'),
    Buffer.concat([fuseMark, Buffer.of(1, fuses.length), Buffer.from(fuses)]),
  );
  return folder;
}

/** Packs with electron-builder, by the example's own configuration. Returns the folder `resources`. */
async function builder(app) {
  const { build, Platform } = load('electron-builder');
  await build({
    projectDir: app,
    targets: Platform.LINUX.createTarget('dir'),
    publish: 'never',
    config: { electronDist: standIn(), electronVersion: version },
  });
  const folder = join(app, 'dist', 'linux-unpacked');
  const { name } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'));
  const program = readFileSync(join(folder, name));
  const flipped = program.subarray(program.indexOf(fuseMark) + fuseMark.length + 2).toString();
  // In their order: no run as Node, no NODE_OPTIONS, no --inspect, only app.asar. The others are as they were.
  assert.equal(flipped, '00001101');
  return join(folder, 'resources');
}

/** Packs with @electron/packager, by the example's own options. Returns the folder `resources`. */
async function packager(app) {
  const zips = join(base, 'zips');
  mkdirSync(zips);
  const zip = join(zips, `electron-v${version}-linux-x64.zip`);
  execFileSync('python3', ['-m', 'zipfile', '-c', zip, '.'], { cwd: standIn() });
  const { packagerOptions } = await import(pathToFileURL(join(app, 'packager-options.js')).href);
  const [folder] = await load('@electron/packager').packager({
    ...{ ...packagerOptions('linux'), dir: app, out: join(base, 'out'), arch: 'x64', quiet: true },
    ...{ electronVersion: version, electronZipDir: zips },
  });
  return join(folder, 'resources');
}

/** The files of an archive's header, by path. */
function* filesIn(entries, folder = '') {
  for (const [name, entry] of Object.entries(entries.files)) {
    const path = folder === '' ? name : `${folder}/${name}`;
    if (entry.files) yield* filesIn(entry, path);
    else yield [path, entry];
  }
}

/** Checks what is in the archive and beside it, and lets the models' process answer from there. */
async function check(packer, resources) {
  const archive = join(resources, 'app.asar');
  const files = new Map(filesIn(asar.getRawHeader(archive).header));
  const names = [...files.keys()];
  for (const name of [
    'main.js',
    'models.js',
    'preload.cjs',
    'index.html',
    'renderer.js',
    'node_modules/tritonts/package.json',
  ])
    assert.ok(files.has(name), `${packer}: ${name} is missing`);
  const opened = names.filter((name) => /\.(node|dll|dylib)$|\.so(\.\d+)*$/.test(name));
  const addon = 'node_modules/@tritonts/linux-x64/tritonts.node';
  const library = opened.find((name) =>
    /onnxruntime-node\/bin\/napi-v\d+\/linux\/x64\/libonnxruntime\.so/.test(name),
  );
  assert.ok(opened.includes(addon) && library !== undefined, `${packer}: ${opened}`);
  for (const name of opened) {
    assert.equal(files.get(name).unpacked, true, `${packer}: ${name} is packed`);
    assert.ok(existsSync(join(`${archive}.unpacked`, name)), `${packer}: ${name} is not beside the archive`);
  }
  const unneeded = names.filter((name) =>
    /^models\/|\/(darwin|win32)\/|^node_modules\/(electron|@electron)/.test(name),
  );
  assert.deepEqual(unneeded, [], packer);
  assert.ok(
    existsSync(join(resources, 'models', 'digits', 'config.pbtxt')),
    `${packer}: the models are missing`,
  );

  // The archive as a folder, since Node cannot read archives, with the unpacked files beside it.
  const place = mkdtempSync(join(base, 'resources-'));
  asar.extractAll(archive, join(place, 'app.asar'));
  cpSync(`${archive}.unpacked`, join(place, 'app.asar.unpacked'), { recursive: true });
  const asked = ['--import', stand, join(place, 'app.asar', 'models.js'), join(resources, 'models')];
  const { answer, libraries } = JSON.parse(await run(place, process.execPath, asked));
  assert.equal(answer.digit, 7);
  assert.deepEqual(
    libraries.toSorted(),
    [addon, library].map((name) => join(place, 'app.asar.unpacked', name)).toSorted(),
  );
  await checkPython(packer, place);
  console.log(
    `ok: ${packer}: ${names.length} files in app.asar, ${opened.length} that the system's loader opens beside it; ` +
      'the models’ process answers with the addon and the library from app.asar.unpacked, and a Python model with its files from there',
  );
}

/** Checks that Python, which reads no archive, runs what is beside it, and that an app without that is told what to unpack. */
async function checkPython(packer, place) {
  const repository = join(place, 'python-models');
  write(repository, { 'where/config.pbtxt': whereConfig, 'where/1/model.py': whereModel });
  cpSync(join(root, 'scripts', 'electron', 'python-model.mjs'), join(place, 'app.asar', 'python-model.mjs'));
  const python = pythonWith(join(root, 'test', 'python', 'requirements.txt'), '.venv-python');
  const asked = ['--import', stand, join(place, 'app.asar', 'python-model.mjs'), repository, python];
  const ask = async () => JSON.parse(await run(place, process.execPath, asked));
  const files = await ask();
  assert.ok(Array.isArray(files), `${packer}: ${JSON.stringify(files)}`);
  assert.equal(files.length, 4);
  for (const file of files)
    assert.ok(file.startsWith(join(place, 'app.asar.unpacked', 'node_modules')), `${packer}: ${file}`);
  rmSync(join(place, 'app.asar.unpacked', 'node_modules', 'tritonts', 'python'), { recursive: true });
  const { code, message } = await ask();
  assert.equal(code, 'UNAVAILABLE');
  assert.match(
    message,
    /stub\.py', which Python models need, is in an archive.*asarUnpack: node_modules\/tritonts\/python\/\*\*/s,
  );
}
