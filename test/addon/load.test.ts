// Own process: it changes where the addon is looked for.
// Long: it starts many processes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { existsSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { addon } from '../../src/addon/load.js';
import { unsuitedNode } from '../../src/addon/load-error.js';
import { supportedNode, type RuntimeVersions } from '../../src/addon/node-version.js';
import { target } from '../../src/addon/platform.js';
import { TritonError } from '../../src/errors.js';
import { packageVersion } from '../../src/version.js';
import { thrown } from '../support/harness.js';
import { runChild } from '../support/child.js';
import { temporaryFolder } from '../support/repository.js';

// Load the addon now, with TRITONTS_ADDON. The copies below search without that variable.
addon();
const chosen = process.env['TRITONTS_ADDON'] ?? '';
delete process.env['TRITONTS_ADDON'];

const root = fileURLToPath(new URL('../../../', import.meta.url));
const built = chosen === '' ? join(root, 'build/Release/tritonts.node') : chosen;
const installed = `node_modules/@tritonts/${target()}/tritonts.node`;
const own = `prebuilds/${target()}/tritonts.node`;
const local = 'build/Release/tritonts.node';

/** A copy of the package's code that loads the addon, in a folder without one. */
async function copyOf(folder: string): Promise<{ addon: typeof addon }> {
  const source = fileURLToPath(new URL('../../src', import.meta.url));
  for (const file of (await readdir(source)).filter((name) => name === 'addon' || name.endsWith('.js')))
    await cp(join(source, file), join(folder, 'dist/src', file), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const url = pathToFileURL(join(folder, 'dist/src/addon/load.js')).href;
  return (await import(url)) as { addon: typeof addon };
}

/** Puts the addon somewhere, with its manifest. */
async function publish(file: string, change: { version?: string; sha256?: string } = {}): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await cp(built, file);
  const bytes = await readFile(built);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const manifest = { version: packageVersion, bytes: bytes.length, sha256, ...change };
  await writeFile(`${file}.json`, JSON.stringify(manifest));
}

function lineOf(error: TritonError, part: string): string {
  return error.message.split('\n').find((line) => line.includes(part)) ?? `no line with '${part}'`;
}

test('the addon is loaded once', () => {
  assert.equal(addon(), addon());
});

test('it tells the cores and the memory this process may use', () => {
  assert.ok(Number.isInteger(addon().cores()) && addon().cores() >= 1);
  assert.ok(addon().memory() > 64 * 2 ** 20);
});

test('a missing addon is UNAVAILABLE, with what was looked for, on what, and numbered remedies', async (t) => {
  const copy = await copyOf(await temporaryFolder(t));
  const error = thrown(() => copy.addon());
  assert.equal(error.code, 'UNAVAILABLE');
  const platform = `${process.platform}-${process.arch}`;
  const start = `the native addon of tritonts ${packageVersion} could not be loaded on ${platform}`;
  assert.ok(error.message.startsWith(start), error.message);
  assert.ok(error.message.includes(`, Node ${process.versions.node}.\n`), error.message);
  if (process.platform === 'linux') assert.match(error.message, /^.* \((glibc \d+\.\d+|musl)\), Node/);
  const order = [`@tritonts/${target()} `, own, local].map((name) => error.message.indexOf(`\n  ${name}`));
  assert.ok(
    order.every((at, index) => at > (order[index - 1] ?? 0)),
    error.message,
  );
  assert.match(error.message, /^ {2}1\. .*npm install --include=optional/m);
  assert.match(
    error.message,
    /^ {2}2\. .*--external:tritonts --external:onnxruntime-node.*serverExternalPackages/m,
  );
  assert.match(error.message, /^ {2}3\. build it: .*build-addon\.mjs/m);
});

test('the error of each try is kept', async (t) => {
  const copy = await copyOf(await temporaryFolder(t));
  const { cause } = thrown(() => copy.addon());
  assert.ok(cause instanceof AggregateError);
  assert.equal(cause.errors.length, 3);
  for (const error of cause.errors) assert.equal((error as NodeJS.ErrnoException).code, 'MODULE_NOT_FOUND');
});

const all = [installed, own, local];
for (const [index, first] of all.entries()) {
  const missing = all.slice(0, index);
  test(`${first} is taken ${index === 0 ? 'before all others' : `where ${missing.join(' and ')} is missing`}`, async (t) => {
    const folder = await temporaryFolder(t);
    const copy = await copyOf(folder);
    for (const file of all.slice(index)) await publish(join(folder, file));
    copy.addon();
    const { cache } = createRequire(import.meta.url);
    const taken = all.filter((file) => join(folder, file) in cache);
    assert.deepEqual(taken, [first]);
  });
}

test("a file that is no addon is reported with the system's reason", async (t) => {
  const folder = await temporaryFolder(t);
  const copy = await copyOf(folder);
  await mkdir(join(folder, 'build/Release'), { recursive: true });
  await writeFile(join(folder, local), 'not a library');
  const error = thrown(() => copy.addon());
  const line = lineOf(error, local);
  assert.ok(!line.includes('not found') && line.includes(join(folder, local)), error.message);
  assert.ok(error instanceof TritonError);
});

for (const [name, file] of [
  ['a local build', local],
  ['the package for the platform', installed],
] as const) {
  test(`${name} that is cut off is refused before the system maps it`, async (t) => {
    if (process.platform !== 'linux' && file === local) {
      t.skip('only ELF files say how long they are');
      return;
    }
    const folder = await temporaryFolder(t);
    await copyOf(folder);
    await publish(join(folder, file));
    const { size } = await stat(built);
    await truncate(join(folder, file), Math.floor(size / 2));
    // It runs in a process of its own, because loading this file ends a process with SIGBUS.
    const script = `import('${pathToFileURL(join(folder, 'dist/src/addon/load.js')).href}').then(({ addon }) => { addon(); })
      .catch((error) => { console.log(error.message); })`;
    const main = join(folder, 'main.mjs');
    await writeFile(main, script);
    const outcome = await runChild(pathToFileURL(main), [], { env: { TRITONTS_ADDON: '' } });
    assert.equal(outcome.code, 0, JSON.stringify(outcome));
    assert.match(outcome.stdout, /is damaged: it is cut off/);
    assert.match(outcome.stdout, /1\. a file is damaged, or of another version: remove node_modules/);
  });
}

test('a file whose bytes are others than were published is refused, with both sums', async (t) => {
  const folder = await temporaryFolder(t);
  const copy = await copyOf(folder);
  await publish(join(folder, installed), { sha256: '0'.repeat(64) });
  const line = lineOf(
    thrown(() => copy.addon()),
    `@tritonts/${target()}`,
  );
  assert.match(line, /is damaged: its SHA-256 is [0-9a-f]{64} and should be 0{64}/);
});

test('the binary of another version is refused', async (t) => {
  const folder = await temporaryFolder(t);
  const copy = await copyOf(folder);
  await publish(join(folder, installed), { version: '0.0.7' });
  const line = lineOf(
    thrown(() => copy.addon()),
    `@tritonts/${target()}`,
  );
  assert.ok(line.includes(`belongs to version 0.0.7 of tritonts, and this is ${packageVersion}`), line);
});

test('where addons are forbidden, the error says so, and nothing about building', async (t) => {
  const folder = await temporaryFolder(t);
  await copyOf(folder);
  await publish(join(folder, local));
  const main = join(folder, 'main.mjs');
  const load = pathToFileURL(join(folder, 'dist/src/addon/load.js')).href;
  await writeFile(
    main,
    `import { addon } from '${load}';\ntry { addon(); } catch (error) { console.log(error.message); }`,
  );
  const outcome = await runChild(pathToFileURL(main), [], {
    flags: ['--no-addons'],
    env: { TRITONTS_ADDON: '' },
  });
  assert.match(outcome.stdout, /: this process forbids addons\./);
  assert.match(outcome.stdout, /1\. remove --no-addons from the command line/);
  assert.doesNotMatch(outcome.stdout, /build it/);
});

test('a Node that the package does not run on is named with what it needs, by import and by require', async () => {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  assert.equal(engines.node, supportedNode);
  const file = join(root, 'dist/src/index.cjs');
  const entry = await readFile(file, 'utf8');
  /** Runs the CommonJS entry in such a process, up to its first load. */
  const required = (versions: RuntimeVersions, place = file): unknown => {
    const process = {
      features: { require_module: true },
      versions,
      getBuiltinModule: () => ({ createRequire: () => () => undefined, existsSync }),
    };
    const require = (): object => ({ runInThisContext: () => process });
    return runInNewContext(entry, { require, module: {}, __filename: place });
  };
  for (const node of ['18.20.8', '20.18.3', '21.0.0', '21.7.3', '22.0.0', '22.11.0']) {
    const error = unsuitedNode({ node });
    assert.equal(error?.reason, 'NO_ADDON');
    assert.ok(
      error.message.startsWith(`tritonts needs Node ${supportedNode}, and this is Node ${node}: install`),
    );
    assert.throws(() => required({ node }), { message: error.message });
  }
  for (const node of ['20.19.0', '20.20.1', '22.12.0', '22.20.0', '23.0.0', '24.1.0', '100.1.2']) {
    assert.equal(unsuitedNode({ node }), undefined);
    required({ node });
  }
  // The entry in a bundle.
  for (const place of [join(root, 'out', 'main.cjs'), join(root, 'out', 'index.cjs')])
    assert.throws(
      () => required({ node: '22.20.0' }, place),
      /^Error: tritonts is in a bundle: leave tritonts/,
    );
  for (const versions of [
    { node: '22.6.0', bun: '1.2.0' },
    { node: '21.0.0', deno: '2.0.0' },
  ]) {
    assert.equal(unsuitedNode(versions), undefined);
    required(versions);
  }
});
