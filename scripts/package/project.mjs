// A user's project: a folder outside of the repository, with both tarballs installed.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './paths.mjs';

const execute = promisify(execFile);

/** The environment without the settings that `npm run` adds, and without downloads besides packages. */
const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
  ONNXRUNTIME_NODE_INSTALL: 'skip',
  TRITONTS_ADDON: '',
  NODE_OPTIONS: '',
  CI: '1',
};

/** Runs a program and returns its output, both streams. Throws with the output if it fails. */
export async function run(cwd, file, args, env = {}) {
  try {
    const { stdout, stderr } = await execute(file, args, {
      cwd,
      env: { ...environment, ...env },
      timeout: 600_000,
      maxBuffer: 2 ** 26,
    });
    return stdout + stderr;
  } catch (error) {
    throw new Error(
      `${[file, ...args].join(' ')} failed (${error.code ?? error.signal}):\n${error.stdout}${error.stderr}`,
    );
  }
}

/** Runs a program and checks that its output has a line. */
export async function expectLine(line, cwd, file, args, env) {
  const text = await run(cwd, file, args, env);
  if (!text.split('\n').some((one) => one.trim() === line))
    throw new Error(`${[file, ...args].join(' ')}: no line '${line}' in:\n${text}`);
  return text;
}

/** Writes files by path. */
export function write(folder, files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof text === 'string' ? text : JSON.stringify(text, null, 2));
  }
}

const use = `
async function main({ createServer, TritonError }) {
  const server = await createServer(process.env.MODELS ?? './models');
  const { outputs } = await server.model('digits').infer({ image: new Float32Array(64) });
  console.log(outputs.scores.shape.join('x'));
  const error = await server.infer('digits', {}).catch((reason) => reason);
  console.log(error instanceof TritonError, error.code);
  await server.close();
}`;

/** Writes programs that use the package in every possible way, with their models. */
export function writePrograms(folder) {
  cpSync(join(root, 'examples', 'digits', 'models'), join(folder, 'models'), { recursive: true });
  write(folder, {
    'main.mjs': `import { createServer, TritonError } from 'tritonts';${use}\nawait main({ createServer, TritonError });\n`,
    'main.cjs': `const tritonts = require('tritonts');${use}\nmain(tritonts);\n`,
  });
}

/** The last line but one that `main.mjs` and `main.cjs` print: the shape of the answer. */
export const answer = '1x10';
