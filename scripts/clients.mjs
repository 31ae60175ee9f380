// Lets clients that others wrote call a server: npm test -- clients
//
// Triton's Python client comes from PyPI into an ignored folder. It calls everything in its HTTP API that has a meaning here,
// blocking, asynchronous and aio, and the program of docs/endpoints.md. That of the README calls `tritonts serve`.
import { spawnSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from '../dist/src/index.js';
import { serveHttp } from '../dist/src/endpoints/http/serve.js';
import { identity, onnx } from '../dist/test/support/harness.js';
import { addModel } from '../dist/test/support/models.js';
import { writeRepository } from '../dist/test/support/repository.js';
import { pythonWith, root } from './python-environment.mjs';

const datatypes = 'BOOL INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 FP16 FP32 FP64 BYTES BF16'.split(
  ' ',
);

/** Runs a program beside this process, which has the server. */
async function run(file, args) {
  const child = spawn(file, args, { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with code ${code}`);
}

async function serving(repository, options, use) {
  const server = await createServer(repository, options);
  const endpoint = await serveHttp(server, { port: 0, headerForwardPattern: /^forwarded-/i });
  try {
    await use(endpoint.address.port);
  } finally {
    await endpoint.close({ timeoutMs: 0 });
    await server.close({ timeoutMs: 0 });
  }
}

async function main(folder) {
  const python = pythonWith(join(root, 'test', 'clients', 'requirements.txt'), '.venv-clients');
  const dims = [-1];
  const echoes = datatypes.map((datatype) => [
    `echo_${datatype.toLowerCase()}`,
    identity({
      maxBatchSize: 0,
      batching: false,
      inputs: [{ name: 'x', datatype, dims }],
      outputs: [{ name: 'y', datatype, dims }],
    }),
  ]);
  const repository = await writeRepository(join(folder, 'models'), {
    ...Object.fromEntries(echoes),
    add: onnx(addModel(), { maxBatchSize: 8192 }),
    spare: onnx(),
    slow: identity({ delayMs: 60_000 }),
  });
  const model = join(folder, 'add.onnx');
  writeFileSync(model, addModel());
  await serving(repository, { modelControlMode: 'explicit', loadModels: ['*'] }, async (port) => {
    await run(python, [join(root, 'test', 'clients', 'triton_http.py'), String(port), model]);
  });

  const page = readFileSync(join(root, 'docs', 'endpoints.md'), 'utf8');
  const [, code] = /<!-- test: python -->\s*```python\n([^]*?)```/.exec(page) ?? [];
  await serving(join(root, 'examples', 'digits', 'models'), {}, async (port) => {
    const file = join(folder, 'page.py');
    writeFileSync(file, code.replace('localhost:8000', `127.0.0.1:${port}`));
    await run(python, [file]);
  });
  await readme(python, folder);
}

/** Runs the README's program against the command that the README starts. */
async function readme(python, folder) {
  const main = join(root, 'dist', 'src', 'cli', 'main.js');
  const models = join(root, 'examples', 'digits', 'models');
  const flags = [`--model-repository=${models}`, '--http-port=0', '--metrics-port=0', '--allow-grpc=false'];
  const child = spawn(process.execPath, [main, 'serve', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    let log = '';
    let port;
    for await (const text of child.stderr.setEncoding('utf8')) {
      log += text;
      port = /Started HTTPService at \S+:(\d+)\n/.exec(log)?.[1];
      if (port !== undefined) break;
    }
    const page = readFileSync(join(root, 'README.md'), 'utf8');
    const [, code] = /<!-- test: python -->\s*```python\n([^]*?)```/.exec(page) ?? [];
    const file = join(folder, 'readme.py');
    writeFileSync(file, code.replace('localhost:8000', `127.0.0.1:${port}`));
    const { stdout, status } = spawnSync(python, [file], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (status !== 0 || stdout !== 'The image shows a 7\n')
      throw new Error(`the README's program printed ${stdout}`);
    process.stdout.write(`ok README: ${stdout}`);
  } finally {
    child.kill('SIGKILL');
  }
}

if (spawnSync('python3', ['--version'], { stdio: 'ignore' }).status !== 0) {
  console.warn('SKIPPED: there is no python3. Nothing was checked.');
} else {
  const folder = mkdtempSync(join(tmpdir(), 'tritonts-clients-'));
  try {
    await main(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
