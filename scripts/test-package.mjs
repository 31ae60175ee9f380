// Packs the package, installs the tarball into an empty project without any install script, and uses it there:
// as an ES module, as CommonJS, and from TypeScript.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = mkdtempSync(join(tmpdir(), 'tritonts-package-'));
const run = (file, args, cwd = folder) =>
  execFileSync(file, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });

try {
  run('npm', ['pack', '--pack-destination', folder], root);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  const listing = run('tar', ['-tzf', tarball]).split('\n');
  const addon = `package/prebuilds/${process.platform}-${process.arch}/tritonts.node`;
  if (!listing.includes(addon)) throw new Error(`the tarball lacks ${addon}`);
  const stray = listing.filter((name) =>
    /(^package\/(test|bench|examples|build)\/)|\.test\.|tsbuildinfo/.test(name),
  );
  if (stray.length > 0) throw new Error(`the tarball carries what no user needs: ${stray.join(', ')}`);

  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  run('npm', [
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    `./${tarball}`,
    'onnxruntime-node@1.30.0',
  ]);
  cpSync(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
  writeFileSync(
    join(folder, 'main.mjs'),
    `import { createServer } from 'tritonts';
const server = await createServer('./models');
const { outputs } = await server.model('digits').infer({ image: new Float32Array(64) });
console.log(outputs.scores.shape.join('x'));
await server.close();
`,
  );
  writeFileSync(
    join(folder, 'main.cjs'),
    `const { createServer } = require('tritonts');
createServer('./models').then(async (server) => {
  const { outputs } = await server.model('digits').infer({ image: new Float32Array(64) });
  console.log(outputs.scores.shape.join('x'));
  await server.close();
});
`,
  );
  for (const file of ['main.mjs', 'main.cjs']) {
    const flags = file.endsWith('.cjs') ? ['--experimental-require-module', '--no-warnings'] : [];
    const answer = run(process.execPath, [...flags, file]).trim();
    if (answer !== '1x10') throw new Error(`${file} answered '${answer}'`);
    console.log(`ok: ${file} answers from the installed package`);
  }
  for (const [tool, ...args] of [
    ['publint', '--strict'],
    ['attw', '--profile', 'esm-only'],
  ]) {
    const bin = join(root, 'node_modules', '.bin', tool);
    run(bin, tool === 'attw' ? [join(folder, tarball), ...args] : [join(folder, tarball), ...args], root);
    console.log(`ok: ${tool}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
