// Triton's Python client and OpenAI's, from PyPI, and the documentation's programs in Python.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonWith, root } from '../python-environment.mjs';
import { run, serving, servingOpenAI } from './serving.mjs';

/** The reason why it cannot run here; undefined if it can. */
export function missing() {
  return spawnSync('python3', ['-c', 'import venv'], { stdio: 'ignore' }).status === 0
    ? undefined
    : 'there is no python3 with venv';
}

const programs = /<!-- test: (python\S*) -->\s*```python\n([^]*?)```/g;

/** The programs of a page, whose ports are replaced. */
function programsOf(page, ports) {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(programs)].map(([, name, code]) => [
    name,
    code
      .replace('localhost:8000', `127.0.0.1:${ports.http}`)
      .replace('localhost:8001', `127.0.0.1:${ports.grpc}`),
  ]);
}

export async function check(folder, { repository, model }) {
  const python = pythonWith(join(root, 'test', 'clients', 'requirements.txt'), '.venv-clients');
  const test = (file) => join(root, 'test', 'clients', file);
  await serving(repository, { modelControlMode: 'explicit', loadModels: ['*'] }, async (ports) => {
    await run(python, [test('triton_http.py'), String(ports.http), model]);
    await run(python, [test('triton_grpc.py'), String(ports.grpc), model]);
  });
  await servingOpenAI(folder, async (port) => {
    await run(python, [test('openai_client.py'), String(port)]);
  });
  await serving(
    repository,
    {},
    async (ports) => {
      await run(python, [test('shared_memory.py'), String(ports.http), String(ports.grpc)]);
    },
    { clientSharedMemory: true },
  );
  await serving(
    join(root, 'examples', 'digits', 'models'),
    {},
    async (ports) => {
      for (const [name, code] of programsOf('docs/shared-memory.md', ports)) {
        const file = join(folder, `${name}.py`);
        writeFileSync(file, code);
        const printed = await run(python, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
        if (printed !== '(1, 10)\n')
          throw new Error(`the program ${name} of docs/shared-memory.md printed ${printed}`);
        process.stdout.write(`ok docs/shared-memory.md, ${name}: ${printed}`);
      }
    },
    { clientSharedMemory: true },
  );
  await serving(join(root, 'examples', 'digits', 'models'), {}, async (ports) => {
    const pages = programsOf('docs/endpoints.md', ports);
    if (pages.length !== 2)
      throw new Error(`docs/endpoints.md has ${pages.length} programs in Python, not 2`);
    for (const [name, code] of pages) {
      const file = join(folder, `${name}.py`);
      writeFileSync(file, code);
      const printed = await run(python, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
      if (printed !== '(1, 3)\n')
        throw new Error(`the program ${name} of docs/endpoints.md printed ${printed}`);
      process.stdout.write(`ok docs/endpoints.md, ${name}: ${printed}`);
    }
  });
  await readme(python, folder);
}

/** Runs the README's programs against the command that the README starts. */
async function readme(python, folder) {
  const main = join(root, 'dist', 'src', 'cli', 'main.js');
  const models = join(root, 'examples', 'digits', 'models');
  const flags = [`--model-repository=${models}`, '--http-port=0', '--grpc-port=0', '--metrics-port=0'];
  const child = spawn(process.execPath, [main, 'serve', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    const ports = {};
    let log = '';
    for await (const text of child.stderr.setEncoding('utf8')) {
      log += text;
      ports.http = /Started HTTPService at \S+:(\d+)\n/.exec(log)?.[1];
      ports.grpc = /Started GRPCInferenceService at \S+:(\d+)\n/.exec(log)?.[1];
      if (ports.http !== undefined && ports.grpc !== undefined) break;
    }
    const page = readFileSync(join(root, 'README.md'), 'utf8');
    const [, code = ''] = /<!-- test: python -->\s*```python\n([^]*?)```/.exec(page) ?? [];
    for (const protocol of ['http', 'grpc']) {
      const file = join(folder, `readme-${protocol}.py`);
      const here = code.replace('localhost:8000', `127.0.0.1:${ports[protocol]}`);
      writeFileSync(file, here.replace('tritonclient.http', `tritonclient.${protocol}`));
      const { stdout, status } = spawnSync(python, [file], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      if (status !== 0 || stdout !== 'The image shows a 7\n')
        throw new Error(`the README's program over ${protocol} printed ${stdout}`);
      process.stdout.write(`ok README over ${protocol}: ${stdout}`);
    }
  } finally {
    child.kill('SIGKILL');
  }
}
