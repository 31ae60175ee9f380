/** Which way runs a model: libtorch in the process, or Python's torch where libtorch cannot be used. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Survey } from '../../../src/registry/files/survey.js';
import type { InferenceServer, ServerOptions } from '../../../src/index.js';
import { rejection, serve, until, type Context } from '../../support/harness.js';
import { root } from '../../support/project.js';
import { temporaryFolder, type RepositoryModel } from '../../support/repository.js';
import { python, skip } from '../../python/harness.js';
import { elements, matrix } from './models.js';

type ServerOptionsOfTests = Omit<ServerOptions, 'modelRepository'>;

const onLinux = { skip };

/** A package torch that runs models of a line of Python: `x: x + x`. It has what the backend needs of torch, on numpy. */
const standIn = join(root, 'test', 'backends', 'pytorch', 'stand-in');

/** A Python without packages, or with the stand-in for torch, or with another package torch in a folder. */
async function pythonIn(t: Context, packages: string): Promise<string> {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'python3');
  const place = packages === 'torch' ? standIn : packages;
  const text =
    packages === 'none' ? `exec '${python}' -S "$@"` : `PYTHONPATH='${place}' exec '${python}' "$@"`;
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

/** The folder of a package torch whose import does this. */
async function torchThat(t: Context, statement: string): Promise<string> {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'torch'));
  await writeFile(join(folder, 'torch', '__init__.py'), `${statement}\n`);
  await writeFile(join(folder, 'torch', 'version.py'), '__version__ = "1"\n');
  return folder;
}

/** A libtorch without a shim. */
async function unbuiltLibrary(t: Context): Promise<string> {
  const library = join(await temporaryFolder(t), 'libtorch_cpu.so');
  await writeFile(library, 'library');
  return library;
}

/** A model of the stand-in, with one input x and one output y. */
function lineModel(line: string, more = ''): RepositoryModel {
  const config = `backend: "pytorch" max_batch_size: 8 dynamic_batching { }
    input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
    output { name: "y" data_type: TYPE_FP32 dims: [ -1 ] }
    instance_group { kind: KIND_CPU } ${more}`;
  return { config, versions: { '1': { 'model.pt': line } } };
}

/** The same as JSON, for a load. */
function configOf(count: number): string {
  const tensor = (name: string): object => ({ name, data_type: 'TYPE_FP32', dims: [-1] });
  const instances = [{ kind: 'KIND_CPU', count }];
  const config = { backend: 'pytorch', max_batch_size: 8, dynamic_batching: {}, instance_group: instances };
  return JSON.stringify({ ...config, input: [tensor('x')], output: [tensor('y')] });
}

const runtime = (value: string): string => `parameters { key: "runtime" value { string_value: "${value}" } }`;

async function served(
  t: Context,
  models: Readonly<Record<string, RepositoryModel>>,
  executable: string,
  options: ServerOptionsOfTests = {},
): Promise<InferenceServer> {
  const backendConfig = { pytorch: { library: await unbuiltLibrary(t) }, python: { executable } };
  return serve(t, models, { ...options, backendConfig });
}

test('where neither is found, the error has both commands', onLinux, async (t) => {
  const executable = await pythonIn(t, 'none');
  const error = await rejection(served(t, { m: lineModel('x: x') }, executable));
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'MISSING']);
  assert.match(error.message, /Run 'npx tritonts build-backend pytorch'/);
  assert.match(error.message, /has no torch and no numpy: install it with '.* -m pip install torch numpy'/);
});

test('a model that wants Python is UNAVAILABLE without its torch', onLinux, async (t) => {
  const executable = await pythonIn(t, 'none');
  const error = await rejection(served(t, { m: lineModel('x: x', runtime('python')) }, executable));
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'MISSING']);
  assert.match(error.message, /-m pip install torch numpy/);
  assert.doesNotMatch(error.message, /build-backend/);
});

test('a model that wants libtorch does not run in Python', onLinux, async (t) => {
  const executable = await pythonIn(t, 'torch');
  const error = await rejection(served(t, { m: lineModel('x: x', runtime('libtorch')) }, executable));
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'MISSING']);
  assert.match(error.message, /shim for it was not built/);
});

test('another runtime is INVALID_ARG, with its line', onLinux, async (t) => {
  const executable = await pythonIn(t, 'torch');
  const error = await rejection(served(t, { m: lineModel('x: x', runtime('openvino')) }, executable));
  assert.equal(error.code, 'INVALID_ARG');
  assert.equal(error.location?.field, 'parameters["runtime"]');
  assert.match(error.message, /expected 'libtorch', 'python', or no such parameter, but received 'openvino'/);
});

test('without a shim Python runs the model, and the notes say so', onLinux, async (t) => {
  const executable = await pythonIn(t, 'torch');
  const server = await served(t, { m: lineModel('x: x + x'), fails: lineModel('x: x / 0') }, executable);
  const model = server.model('m');
  assert.deepEqual(elements(await model.infer(matrix('x', [[1, 2]]))), [2, 4]);
  const answers = await Promise.all([1, 2, 3].map((x) => model.infer(matrix('x', [[x]]))));
  assert.deepEqual(answers.map((answer) => elements(answer)).flat(), [2, 4, 6]);
  const [note = ''] = model.notes;
  assert.match(note, /it runs in processes of Python with torch 0\.0\.0-stand-in/);
  assert.match(note, /slower than libtorch in the server's own process: .* Run 'npx tritonts build-backend/);
  const { library, instances, intraOpThreads } = model.runtimeInfo();
  assert.deepEqual([library?.version, instances.length], ['0.0.0-stand-in', 1]);
  assert.ok(intraOpThreads > 0);
  const error = await rejection(server.infer('fails', matrix('x', [[1]])));
  assert.equal(error.code, 'INTERNAL');
  assert.match(error.message, /^model 'fails': PyTorch execute failure: /);
});

test('a torch that cannot be imported is UNAVAILABLE, with what helps', onLinux, async (t) => {
  for (const [statement, reason, message] of [
    [
      'raise ImportError("libgone.so: cannot open shared object file: No such file or directory")',
      'MISSING',
      /cannot import torch: ImportError: libgone\.so: cannot open .*; install it again with '.*python.* -m pip install --force-reinstall torch'/,
    ],
    [
      'import nothing_of_this_name',
      'MISSING',
      /cannot import torch: ModuleNotFoundError: .* install it again/,
    ],
    [
      'raise OSError("undefined symbol: x")',
      'MISSING',
      /cannot import torch: OSError: undefined symbol: x; install/,
    ],
    ['raise MemoryError', 'NO_MEMORY', /cannot import torch: MemoryError: $/],
  ] as const) {
    const executable = await pythonIn(t, await torchThat(t, statement));
    const error = await rejection(served(t, { m: lineModel('x: x') }, executable));
    assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', reason]);
    assert.match(error.message, message);
    assert.match(error.message, /^ {2}m: model 'm': .* cannot import torch/m);
  }
});

test(
  'a torch that hangs at its import is told of, and the end of its process ends the load',
  onLinux,
  async (t) => {
    const executable = await pythonIn(t, await torchThat(t, 'import time; time.sleep(1e6)'));
    const lines: string[] = [];
    const server = await serve(
      t,
      { m: lineModel('x: x') },
      {
        modelControlMode: 'explicit',
        logger: { warn: (line) => lines.push(line) },
        backendConfig: {
          pytorch: { library: await unbuiltLibrary(t) },
          python: { executable, 'stub-timeout-seconds': 2 },
        },
      },
    );
    const load = rejection(server.loadModel('m'));
    await until(() => lines.some((line) => line.includes('is not ready')));
    const [, pid] =
      /^model 'm': instance 'm_0_0' is not ready after 2 s: its process \(pid (\d+)\) still imports or initializes the model/.exec(
        lines.find((line) => line.includes('is not ready')) ?? '',
      ) ?? [];
    assert.ok(pid, lines.join());
    process.kill(Number(pid), 'SIGKILL');
    const error = await load;
    assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'MISSING']);
    assert.match(error.message, /instance 'm_0_0' could not start: its process was ended by SIGKILL/);
  },
);

test('inputs without dimensions', onLinux, async (t) => {
  const executable = await pythonIn(t, 'torch');
  const types = { BOOL: true, INT8: 1, INT64: 1n, FP16: 1, FP32: 1, FP64: 1 } as const;
  const models = Object.fromEntries(
    Object.keys(types).map((type) => {
      const config = `backend: "pytorch"
        input { name: "x" data_type: TYPE_${type} dims: [ 1 ] reshape { } }
        output { name: "y" data_type: TYPE_${type} dims: [ 1 ] }
        instance_group { kind: KIND_CPU }`;
      return [type.toLowerCase(), { config, versions: { '1': { 'model.pt': 'x: x.reshape(1)' } } }];
    }),
  );
  const server = await served(t, models, executable);
  for (const [type, value] of Object.entries(types)) {
    const { outputs } = await server.infer(type.toLowerCase(), { x: [value] });
    assert.deepEqual(outputs['y']?.toArray(), [value], type);
  }
});

test('explain says what makes a busy model faster', onLinux, async (t) => {
  const executable = await pythonIn(t, 'torch');
  const server = await served(t, { m: lineModel('x: pause(x, 0.05)') }, executable);
  const model = server.model('m');
  // As many requests as keep the instance busy.
  await Promise.all(Array.from({ length: 40 }, () => model.infer(matrix('x', [[1]]))));
  const { limit, summary } = model.explain();
  assert.ok(limit === 'instances' || limit === 'batching', summary);
  assert.match(
    summary,
    /Besides, it runs in processes of Python .* Run 'npx tritonts build-backend pytorch'/,
  );
});

test('a model in Python cannot be given as bytes', onLinux, async (t) => {
  const executable = await pythonIn(t, 'torch');
  const server = await served(t, {}, executable, { modelControlMode: 'explicit' });
  const files = { '1/model.pt': Buffer.from('x: x') };
  const error = await rejection(server.loadModel('m', { config: configOf(1), files }));
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(
    error.message,
    /Python's torch runs cannot be given as bytes: .*'npx tritonts build-backend pytorch'/,
  );
});

test('a file that is no model has the words of its backend', onLinux, async (t) => {
  const executable = await pythonIn(t, 'torch');
  const error = await rejection(served(t, { m: lineModel('') }, executable));
  assert.match(error.message, /model\.pt' is empty/);
});

test('the instances of a model in Python change with its configuration', onLinux, async (t) => {
  const executable = await pythonIn(t, 'torch');
  const options: ServerOptionsOfTests = { modelControlMode: 'explicit', loadModels: ['m'] };
  const server = await served(t, { m: lineModel('x: x + x') }, executable, options);
  await server.loadModel('m', { config: configOf(2) });
  assert.equal(server.model('m').runtimeInfo().instances.length, 2);
  assert.deepEqual(elements(await server.infer('m', matrix('x', [[3]]))), [6]);
  await server.loadModel('m', { config: configOf(1) });
  assert.deepEqual(elements(await server.infer('m', matrix('x', [[3]]))), [6]);
});

test('the Python of a libtorch in its packages runs the model', onLinux, async (t) => {
  const folder = await temporaryFolder(t);
  const packages = join(folder, 'lib', 'python3.11', 'site-packages', 'torch', 'lib');
  await mkdir(packages, { recursive: true });
  await mkdir(join(folder, 'bin'));
  await symlink(await pythonIn(t, 'torch'), join(folder, 'bin', 'python3'));
  const library = join(packages, 'libtorch_cpu.so');
  await writeFile(library, 'library');
  const server = await serve(t, { m: lineModel('x: x + x') }, { backendConfig: { pytorch: { library } } });
  assert.deepEqual(elements(await server.infer('m', matrix('x', [[4]]))), [8]);
});

/** What `tritonts backends` tells of PyTorch with this Python. */
async function surveyed(t: Context, executable: string): Promise<Survey['backends'][number] | undefined> {
  const main = join(root, 'dist', 'command', 'main.js');
  const env = {
    ...process.env,
    PATH: `${join(executable, '..')}:${process.env['PATH'] ?? ''}`,
    TRITONTS_TORCH_PATH: await unbuiltLibrary(t),
  };
  const told = execFileSync(process.execPath, [main, 'backends', '--json'], { env, encoding: 'utf8' });
  const { backends } = JSON.parse(told) as Survey;
  return backends.find(({ name }) => name === 'pytorch');
}

test(
  'tritonts backends says what is wrong with a torch that cannot be imported, as a load does',
  onLinux,
  async (t) => {
    for (const [statement, reason] of [
      [
        'raise ImportError("libgone.so: cannot open shared object file: No such file or directory")',
        /cannot import torch: ImportError: libgone\.so: cannot open .*; install it again with '.*python.* -m pip install --force-reinstall torch'/,
      ],
      [
        'import os, signal; os.kill(os.getpid(), signal.SIGSEGV)',
        /cannot import torch 1: its process was ended by SIGSEGV; install it again/,
      ],
      ['import sys; sys.exit("gone")', /cannot import torch 1: gone; install it again/],
    ] as const) {
      const pytorch = await surveyed(t, await pythonIn(t, await torchThat(t, statement)));
      assert.deepEqual([pytorch?.ok, pytorch?.library], [false, undefined]);
      assert.match(pytorch?.reason ?? '', /shim for it was not built/);
      assert.match(pytorch?.reason ?? '', reason);
    }
  },
);

test('tritonts backends tells which way models run', onLinux, async (t) => {
  const pytorch = await surveyed(t, await pythonIn(t, 'torch'));
  assert.equal(pytorch?.ok, true);
  assert.match(pytorch.library?.version ?? '', /0\.0\.0-stand-in, in processes of Python/);
  assert.match(
    pytorch.besides,
    /models run faster with libtorch .* Run 'npx tritonts build-backend pytorch'/,
  );
});
