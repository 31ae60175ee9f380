// The content of the tarballs, and what must not be in them.
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { target } from '../../../dist/src/addon/platform.js';
import { whyNoDebugFiles, writeDebugFiles } from '../debug-files.mjs';
import { root, staging } from '../paths.mjs';
import { answer, expectLine, run, write, writePrograms } from '../project.mjs';
import { resolveEntry } from '../resolve.mjs';

const listing = async (tarball) => (await run(root, 'tar', ['-tzf', tarball])).trim().split('\n');

export const cases = [
  {
    name: 'the tarball has what users need, and nothing else',
    quick: true,
    async run({ main, binary }) {
      const files = await listing(main);
      const stray = files.filter((file) =>
        /^package\/(test|bench|examples(?!\/digits\/models\/digits\/)|build)\/|\.test\.|tsbuildinfo|\.js\.map$|binding\.gyp$|\.node$/.test(
          file,
        ),
      );
      if (stray.length > 0) throw new Error(`too much: ${stray.join(', ')}`);
      const wanted = [
        'LICENSE',
        'README.md',
        'SECURITY.md',
        'CHANGELOG.md',
        'dist/command/main.js',
        'dist/src/index.cjs',
        'dist/src/index.d.cts',
        'dist/src/client/index.cjs',
        'dist/src/client/index.d.cts',
        'dist/src/client/index.d.ts',
        'dist/src/endpoints/http/serve.cjs',
        'dist/src/endpoints/http/serve.d.cts',
        'dist/src/endpoints/http/serve.d.ts',
        'dist/src/metrics/serve.cjs',
        'dist/src/metrics/serve.d.cts',
        'dist/src/metrics/serve.d.ts',
        'dist/src/testing/index.cjs',
        'dist/src/testing/index.d.cts',
        'dist/src/testing/index.d.ts',
        // What threads and processes run by path.
        ...readdirSync(join(root, 'src'), { recursive: true })
          .filter((file) => file.endsWith('.ts'))
          .flatMap((file) => [
            ...readFileSync(join(root, 'src', file), 'utf8').matchAll(/ownFile\('([^']+)'/g),
          ])
          .map(([, path]) => path),
        'python/triton_python_backend_utils.py',
        'python/tritonts_stub/serve.py',
        'python/tritonts_torch/model.py',
      ];
      const lacking = wanted.filter((file) => !files.includes(`package/${file}`));
      if (lacking.length > 0) throw new Error(`lacking: ${lacking.join(', ')}`);
      const own = (await listing(binary)).sort().join(' ');
      const isLinux = process.platform === 'linux';
      const python = isLinux ? ['tritonts_python.so'] : [];
      const expected = [
        'LICENSE',
        'README.md',
        ...(isLinux ? ['libtritonserver.so'] : []),
        'package.json',
        'tritonts.node',
        'tritonts.node.json',
        ...python,
      ];
      if (own !== expected.map((file) => `package/${file}`).join(' '))
        throw new Error(`the binary's package: ${own}`);
    },
  },
  {
    name: 'debug files are in no tarball, and tell where an address of the published binary is',
    quick: false,
    async run({ main, binary }) {
      const why = whyNoDebugFiles(target());
      if (why !== undefined) return why;
      const published = join(staging, target());
      const folder = writeDebugFiles(target(), published);
      const told = resolveEntry(target(), folder, published);
      const id = await run(root, 'readelf', ['--notes', join(published, 'tritonts.node')]);
      const [, first, rest] = /Build ID: ([0-9a-f]{2})([0-9a-f]+)/.exec(id) ?? [];
      if (!existsSync(join(folder, '.build-id', first, `${rest}.debug`)))
        throw new Error(`no debug file for the build id: ${id}`);
      const files = [...(await listing(main)), ...(await listing(binary))];
      const stray = files.filter((file) => /\.(debug|pdb)$|\.dSYM\//.test(file));
      if (stray.length > 0) throw new Error(`debug files in the tarballs: ${stray.join(', ')}`);
      console.log(told);
      return undefined;
    },
  },
  {
    name: 'no tarball is larger than 3 MB',
    quick: true,
    run({ main, binary }) {
      for (const file of [main, binary]) {
        const { size } = statSync(file);
        if (size > 3e6) throw new Error(`${file} has ${size} bytes`);
      }
    },
  },
  {
    name: 'no file refers to a source map that is not there',
    quick: true,
    run({ app }) {
      const folder = join(app, 'node_modules', 'tritonts', 'dist');
      const files = readdirSync(folder, { recursive: true }).filter((file) => /\.c?js$/.test(file));
      const bad = files.filter((file) =>
        readFileSync(join(folder, file), 'utf8').includes('sourceMappingURL'),
      );
      if (files.length === 0 || bad.length > 0)
        throw new Error(`${bad.length} of ${files.length}: ${bad[0]}`);
    },
  },
  {
    name: 'no page links to a file that is not there',
    quick: true,
    run({ app }) {
      const folder = join(app, 'node_modules', 'tritonts');
      const pages = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.md'));
      const dead = pages.flatMap((page) =>
        [...readFileSync(join(folder, page), 'utf8').matchAll(/\]\((?![a-z]+:|#)([^)\s#]+)/g)]
          .filter(([, link]) => !existsSync(join(folder, dirname(page), link)))
          .map(([, link]) => `${page}: ${link}`),
      );
      if (pages.length === 0 || dead.length > 0) throw new Error(dead.join(', '));
    },
  },
  {
    name: 'no install script, and the addresses of the owner, in both manifests',
    quick: true,
    run({ app }) {
      for (const name of ['tritonts', `@tritonts/${target()}`]) {
        const manifest = JSON.parse(readFileSync(join(app, 'node_modules', name, 'package.json'), 'utf8'));
        if (manifest.scripts || manifest.private) throw new Error(`${name} has scripts or is private`);
        for (const field of ['license', 'repository', 'bugs', 'homepage'])
          if (!manifest[field]) throw new Error(`${name} has no ${field}`);
        if (existsSync(join(app, 'node_modules', name, 'binding.gyp')))
          throw new Error(`${name} has a binding.gyp`);
      }
    },
  },
  {
    name: 'publint and arethetypeswrong find nothing',
    quick: true,
    async run({ main }) {
      const bin = (tool) => join(root, 'node_modules', '.bin', tool);
      await run(root, bin('publint'), [main, '--strict']);
      await run(root, bin('attw'), [main]);
    },
  },
  {
    name: 'without the package for the platform, the error says what to install',
    quick: true,
    async run({ app, base, main }) {
      const folder = join(base, 'bare');
      write(folder, { 'package.json': { private: true } });
      writePrograms(folder);
      await run(folder, 'npm', ['install', '--omit=optional', '--no-audit', '--no-fund', main]);
      const text = await run(folder, process.execPath, ['main.mjs']).then(
        () => 'it answered',
        (/** @type {unknown} */ error) => String(error),
      );
      if (!/1\. install again on this platform, with optional dependencies/.test(text)) throw new Error(text);
      rmSync(folder, { recursive: true });
      if (!existsSync(app)) throw new Error('the project has gone');
    },
  },
  {
    name: 'npm pack in the repository, after a build, packs what answers without any other package',
    quick: true,
    async run({ app, base }) {
      const folder = join(base, 'packed');
      write(folder, { 'package.json': { private: true } });
      writePrograms(folder);
      const text = await run(root, 'npm', ['pack', '--json', '--pack-destination', folder]);
      const [{ filename }] = JSON.parse(text.slice(text.indexOf('['), text.lastIndexOf(']') + 1));
      await run(folder, 'npm', ['install', '--no-audit', '--no-fund', `./${filename}`]);
      write(folder, {
        // ONNX Runtime's library is large, so the other project's is used: it is also looked for from the
        // working directory.
        'main.mjs': `import { createServer } from 'tritonts';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
const carrier = dirname(createRequire(${JSON.stringify(join(app, 'index.js'))}).resolve('onnxruntime-node/package.json'));
process.chdir(join(carrier, '..', '..'));
const server = await createServer(${JSON.stringify(join(app, 'models'))});
console.log((await server.infer('digits', { image: new Float32Array(64) })).outputs.scores.shape.join('x'));
await server.close();
`,
      });
      await expectLine(answer, folder, process.execPath, ['main.mjs']);
    },
  },
];
