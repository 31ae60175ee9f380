import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { InferenceServer } from '../../src/index.js';
import { createServer } from '../../src/index.js';
import type { ModelObject } from '../../src/javascript/index.js';
import { floats, rejection, row, start, until } from '../support/harness.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { adds, python, recorded, script, serving, skip, withPython } from './harness.js';

/** The processes of models that a process has started. */
function stubs(of: number = process.pid): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1];
        return Number(parent) === of && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('stub.py');
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Whether a process exists and is not a zombie. */
function lives(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The descriptors of shared memory that this process has. */
function memories(): number {
  return readdirSync('/proc/self/fd').filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).includes('memfd:tritonts');
    } catch {
      return false;
    }
  }).length;
}

const closing = 'os.closerange(3, 4)';
const noAnswers = {
  'returns errors': `${closing}
        return [pb_utils.InferenceResponse(error=pb_utils.TritonError("e")) for request in requests]`,
  'returns outputs': `${closing}
        return [answer(array(request)) for request in requests]`,
  'drops a sender': `${closing}
        requests[0].get_response_sender()
        return None`,
} as const;
for (const [how, way] of Object.entries(noAnswers)) {
  test(`a process that can send no answer ends, and is started anew: ${how}`, { skip }, async (t) => {
    const text = `def execute(self, requests):
    if array(requests[0])[0, 0] == 1:
        ${way}
    return [answer(array(request) + 1) for request in requests]`;
    const server = await serving(t, { add: script(text, { maxBatchSize: 1 }) });
    const { code, reason, message } = await rejection(server.infer('add', { x: row(1) }));
    assert.deepEqual([code, reason], ['UNAVAILABLE', 'INSTANCE_ENDED'], message);
    assert.deepEqual(floats(await server.infer('add', { x: row(2) })), [...row(3)]);
  });
}

// Keeps a sanitizer from reporting the crash that the model causes on purpose.
const quietly = 'import signal; signal.signal(signal.SIGSEGV, signal.SIG_DFL)';
const deaths = {
  'os._exit': 'os._exit(7)',
  SIGSEGV: `${quietly}; os.kill(os.getpid(), signal.SIGSEGV)`,
  SIGKILL: 'import signal; os.kill(os.getpid(), signal.SIGKILL)',
  'sys.exit': 'sys.exit(3)',
  'an end in the midst of a C function': `${quietly}; import ctypes; ctypes.string_at(1)`,
} as const;
for (const [how, way] of Object.entries(deaths)) {
  test(
    `a process that ends by ${how} fails what it runs, is started anew, and loses nothing that waits`,
    { skip },
    async (t) => {
      const text = `def execute(self, requests):
    if array(requests[0])[0, 0] == 1:
        time.sleep(0.05)
        ${way}
    return [answer(array(request) + 1) for request in requests]`;
      const { logger, lines } = recorded();
      const server = await serving(t, { add: script(text, { maxBatchSize: 1 }) }, { logger });
      const fatal = rejection(server.infer('add', { x: row(1) }));
      const waiting = Array.from({ length: 20 }, (_, k) => server.infer('add', { x: row(k + 2) }));
      const { code, message } = await fatal;
      assert.equal(code, 'UNAVAILABLE', message);
      assert.match(message, /the process of instance 'add_0_0' ended while it ran this request/);
      (await Promise.all(waiting)).forEach((result, k) => {
        assert.deepEqual(floats(result), [...row(k + 3)]);
      });
      assert.match(server.index()[0]?.reason ?? '', /restarted once/);
      assert.ok(
        lines.some((line) => /^warn: model 'add': instance 'add_0_0' is restarted/.test(line)),
        lines.join('\n'),
      );
    },
  );
}

test(
  'instances start in parallel, each in a process of its own, and end with their server',
  { skip },
  async (t) => {
    const text = `def initialize(self, args):
    # Each waits for the others.
    folder = json.loads(args["model_config"])["parameters"]["folder"]["string_value"]
    open(os.path.join(folder, str(os.getpid())), "w").close()
    end = time.monotonic() + 60
    while len(os.listdir(folder)) < 3 and time.monotonic() < end:
        time.sleep(0.005)
${adds}`;
    const folder = await temporaryFolder(t);
    const before = memories();
    const server = await serving(t, { add: script(text, { instances: 3, parameters: { folder } }) });
    const pids = stubs();
    assert.equal(pids.length, 3);
    assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(1)]);
    await server.close();
    assert.deepEqual(pids.filter(lives), []);
    assert.equal(memories(), before);
  },
);

test('a model that never returns is given up at close', { skip }, async (t) => {
  for (const way of ['time.sleep(3600)', 'while True: pass']) {
    const text = `def execute(self, requests):\n    open(self.file, "w").close()\n    ${way}
def initialize(self, args):\n    self.file = json.loads(args["model_config"])["parameters"]["file"]["string_value"]`;
    const file = join(await temporaryFolder(t), 'begun');
    const server = await serving(t, { hangs: script(text, { parameters: { file } }) });
    const pids = stubs();
    const running = rejection(server.infer('hangs', { x: row() }));
    const { access } = await import('node:fs/promises');
    await until(() =>
      access(file).then(
        () => true,
        () => false,
      ),
    );
    await server.close({ timeoutMs: 50 }).catch(() => undefined);
    assert.match((await running).code, /^(CANCELLED|UNAVAILABLE)$/);
    assert.deepEqual(pids.filter(lives), []);
  }
});

test('finalize runs when a model is unloaded, and what it raises is logged', { skip }, async (t) => {
  const text = `${adds}
def finalize(self):
    print("finalizing")
    raise ValueError("too late")`;
  const { logger, lines } = recorded();
  const server = await serving(
    t,
    { add: script(text) },
    { logger, modelControlMode: 'explicit', loadModels: ['add'] },
  );
  await server.unloadModel('add');
  // What a process prints is read by itself, also after its end.
  await until(() => lines.some((line) => line.endsWith('finalizing')));
  assert.ok(
    lines.some((line) => /warn: .*finalize failed.*too late/.test(line)),
    lines.join('\n'),
  );
  assert.deepEqual(stubs(), []);
});

test('the processes of a Node that is killed end within a second', { skip }, async (t) => {
  const busy = `def execute(self, requests):\n    while True: pass`;
  const repository = await writeRepository(await temporaryFolder(t), {
    idle: script(adds),
    busy: script(busy),
    stuck: script('def execute(self, requests):\n    time.sleep(3600)'),
  });
  const program = `
    import { createServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)};
    const server = await createServer(${JSON.stringify(repository)}, { backendConfig: { python: { executable: ${JSON.stringify(python)} } } });
    for (const name of ['busy', 'stuck']) server.infer(name, { x: new Float32Array(16) }).catch(() => undefined);
    setTimeout(() => console.log('ready'), 200);
    setInterval(() => undefined, 1000);`;
  const file = join(await temporaryFolder(t), 'program.mjs');
  await writeFile(file, program);
  const kill = async (): Promise<number> => {
    const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    const pids = stubs(child.pid);
    assert.equal(pids.length, 3);
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    const begin = performance.now();
    await until(() => pids.every((pid) => !lives(pid)));
    return performance.now() - begin;
  };
  // A busy machine may be late, but not every time.
  const times: number[] = [];
  do times.push(await kill());
  while (times.length < 5 && Math.min(...times) >= 1000);
  t.diagnostic(`they ended after ${times.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  assert.ok(Math.min(...times) < 1000, times.join(' '));
});

test('what a model has started ends with it: at an unload, and when Node is killed', { skip }, async (t) => {
  const text = `def initialize(self, args):
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    print("started", child.pid)
    forked = os.fork()
    if forked == 0:
        time.sleep(3600)
        os._exit(0)
    print("started", forked)
${adds}`;
  const pidsOf = (said: string): number[] =>
    [...said.matchAll(/started (\d+)/g)].map(([, pid]) => Number(pid));
  const { logger, lines } = recorded();
  const server = await serving(
    t,
    { add: script(text) },
    { logger, modelControlMode: 'explicit', loadModels: ['add'] },
  );
  await until(() => pidsOf(lines.join('\n')).length === 2);
  const started = pidsOf(lines.join('\n'));
  assert.deepEqual(started.filter(lives), started);
  await server.unloadModel('add');
  await until(() => !started.some(lives));

  const repository = await writeRepository(await temporaryFolder(t), { add: script(text) });
  const file = join(await temporaryFolder(t), 'program.mjs');
  await writeFile(
    file,
    `
    import { createServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)};
    const logger = { info: console.log, warn: console.log, error: console.log };
    await createServer(${JSON.stringify(repository)}, { logger, backendConfig: { python: { executable: ${JSON.stringify(python)} } } });
    setInterval(() => undefined, 1000);`,
  );
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until(() => pidsOf(said).length === 2);
  const others = pidsOf(said);
  assert.deepEqual(others.filter(lives), others);
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
  await until(() => !others.some(lives));
});

test('loads and unloads leave no process, descriptor or shared memory', { skip }, async (t) => {
  const server = await serving(t, { add: script(adds) }, { modelControlMode: 'explicit' });
  const before = readdirSync('/proc/self/fd').length;
  for (let k = 0; k < 10; k++) {
    await server.loadModel('add');
    assert.deepEqual(floats(await server.infer('add', { x: row(k) })), [...row(k + 1)]);
    await server.unloadModel('add');
  }
  assert.deepEqual(stubs(), []);
  await until(() => readdirSync('/proc/self/fd').length <= before);
  assert.deepEqual(
    readdirSync('/dev/shm').filter((name) => name.startsWith('tritonts')),
    [],
  );
});

/** A folder with a program of this text. */
async function program(folder: string, name: string, text: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

const refused = async (
  t: Parameters<typeof temporaryFolder>[0],
  executable: string,
  text = adds,
): Promise<readonly [string, string]> => {
  const options = { backendConfig: { python: { executable } } };
  const server = serving(t, { add: script(text) }, options);
  const error = await rejection(server);
  return [error.code, error.message];
};

test('a Python that is missing, too old or without numpy is named, with what helps', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  const [code, message] = await refused(t, join(folder, 'none'));
  assert.equal(code, 'UNAVAILABLE');
  assert.match(message, /there is no '.*none': install Python 3\.8/);
  const old = await program(
    folder,
    'old',
    'if [ "$1" = -c ]; then echo 3.7.9; echo /usr/bin/python3.7; else exit 1; fi',
  );
  const [oldCode, oldMessage] = await refused(t, old);
  assert.equal(oldCode, 'UNAVAILABLE');
  assert.match(oldMessage, /'\/usr\/bin\/python3\.7' is Python 3\.7\.9, and 3\.8 is the oldest/);
  const bare = await program(folder, 'bare', `exec ${python} -S "$@"`);
  const [bareCode, bareMessage] = await refused(t, bare, `import numpy\n${adds}`);
  assert.equal(bareCode, 'UNAVAILABLE');
  assert.match(bareMessage, /has no numpy.*-m pip install numpy/);
});

test('a model without arrays needs no numpy', { skip }, async (t) => {
  const bare = await program(await temporaryFolder(t), 'bare', `exec ${python} -S "$@"`);
  const text = `def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("y", tensor(request))]) for request in requests]`;
  const server = await serving(
    t,
    { same: script(text) },
    { backendConfig: { python: { executable: bare } } },
  );
  assert.deepEqual(floats(await server.infer('same', { x: row(3) })), [...row(3)]);
});

test('what initialize raises refuses the load, with its traceback', { skip }, async (t) => {
  const error = await rejection(
    serving(t, { add: script(`def initialize(self, args):\n    raise ValueError("no weights")\n${adds}`) }),
  );
  assert.match(error.message, /model 'add': ValueError: no weights/);
  const [code, message] = await refused(t, python, 'syntax error here');
  assert.equal(code, 'INTERNAL');
  assert.match(message, /SyntaxError/);
  assert.deepEqual(stubs(), []);
});

test(
  "a model's own environment runs it: a folder, and an archive that is unpacked once",
  { skip },
  async (t) => {
    const folder = await temporaryFolder(t);
    const environment = join(folder, 'environment');
    await program(join(environment, 'bin'), 'python3', `ENVIRONMENT="$0" exec ${python} "$@"`);
    execFileSync('tar', ['-czf', join(folder, 'environment.tar.gz'), '-C', environment, '.']);
    const text = `def execute(self, requests):
    import numpy
    return [answer(numpy.array([[os.environ["ENVIRONMENT"]]], dtype=object)) for _ in requests]`;
    const model = (path: string): ReturnType<typeof script> =>
      script(text, {
        outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
        parameters: { EXECUTION_ENV_PATH: path },
      });
    const packed = model('$$TRITON_MODEL_DIRECTORY/environment.tar.gz');
    const archive = readFileSync(join(folder, 'environment.tar.gz'));
    const server = await serving(
      t,
      {
        folder: model(environment),
        packed: { ...packed, files: { 'environment.tar.gz': archive } },
      },
      { trustedFolders: [folder] },
    );
    const said = async (name: string): Promise<string> =>
      (await server.infer(name, { x: row() })).outputs['y']?.strings()[0] ?? '';
    assert.equal(await said('folder'), join(environment, 'bin', 'python3'));
    const unpacked = await said('packed');
    assert.match(unpacked, /tritonts-python-.*\/bin\/python3$/);
    await server.close();
    assert.deepEqual(
      readdirSync(tmpdir()).filter((name) => unpacked.includes(name) && name.startsWith('tritonts-python-')),
      [],
    );
    const error = await rejection(
      serving(t, { absent: model(join(folder, 'nowhere')) }, { trustedFolders: [folder] }),
    );
    assert.equal(error.code, 'UNAVAILABLE');
    assert.match(error.message, /EXECUTION_ENV_PATH.*nowhere/);
    // A program that the server's owner did not choose is never run, whatever its name is.
    const mark = join(folder, 'mark');
    await program(join(folder, 'evil', 'bin'), 'python3', `touch ${mark}`);
    const linked: RepositoryModel = model('$$TRITON_MODEL_DIRECTORY/link');
    const root = await writeRepository(await temporaryFolder(t), { linked, plain: script(adds) });
    symlinkSync(join(folder, 'evil'), join(root, 'linked', 'link'));
    const explicit = await createServer(
      root,
      withPython({ modelControlMode: 'explicit', outsideLinks: true }),
    );
    t.after(() => explicit.close());
    const other = (path: string): Promise<unknown> =>
      explicit.loadModel('plain', {
        config: { backend: 'python', parameters: { EXECUTION_ENV_PATH: { string_value: path } } },
      });
    for (const load of [
      () => explicit.loadModel('linked'),
      () => other(join(folder, 'evil')),
      () => other('../../../../../../../../../..' + join(folder, 'evil')),
      () => other('$$TRITON_MODEL_DIRECTORY/../../../../../../../../../..' + join(folder, 'evil')),
      () => other('$$TRITON_MODEL_DIRECTORY/../../nowhere'),
    ]) {
      const { code, message } = await rejection(load());
      assert.equal(code, 'INVALID_ARG');
      assert.match(message, /EXECUTION_ENV_PATH.*trustedFolders/);
    }
    assert.ok(!existsSync(mark));
  },
);

test('wrong options and parameters are refused', { skip }, async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { add: script(adds) });
  for (const [key, value] of [
    ['shm-default-byte-size', 1],
    ['shm-growth-byte-size', 'much'],
    ['stub-timeout-seconds', 0],
    ['nonsense', 1],
  ] as const) {
    const error = await rejection(start(t, repository, { backendConfig: { python: { [key]: value } } }));
    assert.equal(error.code, 'INVALID_ARG', error.message);
    assert.ok(error.message.includes(key), error.message);
  }
  const wrong = await rejection(
    serving(t, { add: script(adds, { parameters: { FORCE_CPU_ONLY_INPUT_TENSORS: 'maybe' } }) }),
  );
  assert.equal(wrong.code, 'INVALID_ARG');
});

test('memory is shared in steps, of the sizes that the options say', { skip }, async (t) => {
  const sizes = {
    'shm-default-byte-size': 2 ** 20,
    'shm-growth-byte-size': 2 ** 16,
    shm_message_queue_size: 16,
  };
  const options = { backendConfig: { python: { ...sizes, 'shm-region-prefix-name': 'mine' } } };
  const server = await serving(
    t,
    { add: script(adds, { inputs: [{ name: 'x', dims: [-1] }], outputs: [{ name: 'y', dims: [-1] }] }) },
    options,
  );
  const [pid] = stubs();
  assert.match(readFileSync(`/proc/${pid}/maps`, 'utf8'), /memfd:mine/);
  for (const size of [1, 100_000, 1_000_000, 3, 2_000_000]) {
    const { outputs } = await server.infer('add', { x: { data: new Float32Array(size), shape: [1, size] } });
    assert.equal(outputs['y']?.as('FP32').data.at(-1), 1);
  }
  await Promise.all(
    Array.from({ length: 200 }, (_, k) =>
      server.infer('add', { x: { data: new Float32Array(k + 1), shape: [1, k + 1] } }),
    ),
  );
});

test('an idle server does not keep its process alive', { skip }, async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { add: script(adds) });
  const file = join(await temporaryFolder(t), 'program.mjs');
  const source = `
    import { createServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)};
    const server = await createServer(${JSON.stringify(repository)}, { backendConfig: { python: { executable: ${JSON.stringify(python)} } } });
    const { outputs } = await server.infer('add', { x: new Float32Array(16) });
    console.log(outputs.y.data[0]);`;
  await writeFile(file, source);
  assert.equal(execFileSync(process.execPath, [file], { encoding: 'utf8', timeout: 60_000 }), '1\n');
});

test('a program that exits in the midst of a run leaves no process', { skip }, async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), {
    busy: script('def execute(self, requests):\n    while True: pass'),
  });
  const file = join(await temporaryFolder(t), 'program.mjs');
  const source = `
    import { createServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)};
    const server = await createServer(${JSON.stringify(repository)}, { backendConfig: { python: { executable: ${JSON.stringify(python)} } } });
    server.infer('busy', { x: new Float32Array(16) }).catch(() => undefined);
    setTimeout(() => { console.log('ready'); setInterval(() => undefined, 1000); }, 200);
    process.stdin.once('data', () => process.exit(5));`;
  await writeFile(file, source);
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const pids = stubs(child.pid);
  assert.equal(pids.length, 1);
  const exit = once(child, 'exit');
  child.stdin.write('exit');
  assert.deepEqual(await exit, [5, null]);
  await until(() => pids.every((pid) => !lives(pid)));
});

for (const phase of ['import', 'initialize', 'complete'] as const) {
  test(`a load that is cancelled leaves nothing: during ${phase}`, { skip }, async (t) => {
    const sleeps = 'time.sleep(3600)';
    const text = {
      import: `${sleeps}\n${adds}`,
      initialize: `def initialize(self, args):\n    ${sleeps}\n${adds}`,
      complete: `@staticmethod\ndef auto_complete_config(config):\n    ${sleeps}\n${adds}`,
    }[phase];
    const repository = await writeRepository(await temporaryFolder(t), { slow: script(text) });
    const controller = new AbortController();
    const server: Promise<InferenceServer> = createServer(
      repository,
      withPython({ signal: controller.signal }),
    );
    const error = rejection(server);
    await until(() => stubs().length > 0);
    controller.abort();
    assert.equal((await error).code, 'CANCELLED');
    await until(() => stubs().length === 0);
  });
}

test('a close while initialize runs cancels the load at once', { skip }, async (t) => {
  const text = `def initialize(self, args):\n    print("runs")\n    time.sleep(3600)\n${adds}`;
  const { logger, lines } = recorded();
  const options = { modelControlMode: 'explicit', logger } as const;
  const server = await serving(t, { slow: script(text) }, options);
  const load = rejection(server.loadModel('slow'));
  await until(() => lines.some((line) => line.endsWith('runs')));
  await server.close({ timeoutMs: 0 });
  const { code, message } = await load;
  assert.deepEqual([code, message], ['CANCELLED', "model 'slow': loading was cancelled"]);
  assert.deepEqual(
    lines.filter((line) => /^(error|warn)/.test(line)),
    [],
  );
  assert.equal(stubs().length, 0);
});

test('npx tritonts check looks at Python models as a load would', { skip }, async (t) => {
  const text = `def initialize(self, args):
    family = pb_utils.MetricFamily(name="seen", description="Seen", kind=pb_utils.MetricFamily.COUNTER)
    family.Metric(labels={}).increment(1)
${adds}`;
  const repository = await writeRepository(await temporaryFolder(t), {
    good: script(text),
    bad: script(`def initialize(self, args):\n    raise ValueError("no weights")\n${adds}`),
  });
  const main = fileURLToPath(new URL('../../command/main.js', import.meta.url));
  const PATH = `${dirname(python)}:${process.env['PATH'] ?? ''}`;
  const child = spawn(process.execPath, [main, 'check', repository], { env: { ...process.env, PATH } });
  let shown = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  assert.deepEqual(await once(child, 'close'), [1, null]);
  assert.match(shown, /bad[^]*ValueError: no weights/);
  assert.doesNotMatch(shown, /good[^\n]*(UNAVAILABLE|INTERNAL|failed)/);
  assert.deepEqual(stubs(), []);
});

test('the stub library lies beside the addon', { skip }, () => {
  assert.ok(
    readFileSync(fileURLToPath(new URL('../../../build/Release/tritonts_python.so', import.meta.url)))
      .length > 0,
  );
});

test(
  'a server that closes while another model runs does not start idle processes anew',
  { skip },
  async (t) => {
    const { logger, lines } = recorded();
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const slowModel: ModelObject = {
      config: {
        input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
        output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
      },
      execute: async (requests) => {
        await ended;
        return requests.map(({ inputs }) => ({ y: inputs['x'] }));
      },
    };
    const server = await serving(t, { m: script(adds) }, { logger, models: { slow: slowModel } });
    const slow = server.infer('slow', { x: [1] });
    await until(() => stubs().length === 1);
    const closed = server.close();
    await until(() => stubs().length === 0);
    // Wait as long as a restart would take.
    for (let i = 0; i < 3; i++) await setTimeout(40);
    assert.deepEqual(stubs(), []);
    end();
    await closed;
    assert.equal((await slow).outputs['y']?.data[0], 1);
    assert.deepEqual(
      lines.filter((line) => line.includes('restarted')),
      [],
    );
  },
);
