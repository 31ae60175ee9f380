import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createServer, type LogContext, type Logger, TritonError } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { configText, identity, onnx, rejection, serve, start } from '../support/harness.js';

/** A logger that keeps `level message`, and the contexts. */
function recorder(): { lines: string[]; contexts: LogContext[]; logger: Logger } {
  const lines: string[] = [];
  const contexts: LogContext[] = [];
  const at =
    (level: string) =>
    (message: string, context: LogContext): void => {
      lines.push(`${level} ${message}`);
      contexts.push(context);
    };
  return {
    lines,
    contexts,
    logger: { error: at('error'), warn: at('warn'), info: at('info'), verbose: at('verbose') },
  };
}

test('a logger hears of loads, their steps and notes, and of unloads', async (t) => {
  const { lines, contexts, logger } = recorder();
  const more =
    'model_warmup { batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 16 zero_data: true } } } optimization { priority: PRIORITY_MAX }';
  const server = await serve(t, { m: onnx(addModel(), { more }) }, { modelControlMode: 'explicit', logger });
  await server.loadModel('m');
  await server.unloadModel('m');
  assert.deepEqual(
    lines
      .filter((line) => !line.includes('priority'))
      .map((line) => line.replace(/ in \d+\.\d+ s$/, ' in … s')),
    [
      "verbose model 'm': LOADING",
      "verbose model 'm', version 1: LOADING",
      "verbose model 'm', version 1: WARMING_UP",
      "verbose model 'm', version 1: READY",
      "info model 'm': version 1 ready in … s",
      "info model 'm': unloaded",
    ],
  );
  assert.equal(lines.filter((line) => /^info model 'm': .*optimization\.priority/.test(line)).length, 1);
  assert.ok(contexts.every(({ model }) => model === 'm'));
});

test('a model that is not served at the start is an error, unless createServer rejects', async (t) => {
  const { lines, contexts, logger } = recorder();
  const models = { good: identity(), bad: onnx(Uint8Array.of(0)) };
  await serve(t, models, { exitOnError: false, logger });
  const errors = lines.flatMap((line, i) => (line.startsWith('error ') ? [i] : []));
  assert.equal(errors.length, 1);
  assert.match(lines[errors[0] ?? 0] ?? '', /model 'bad'/);
  const error = contexts[errors[0] ?? 0]?.error;
  assert.ok(error instanceof TritonError);
  assert.equal(error.model, 'bad');

  const told = recorder();
  await rejection(serve(t, models, { logger: told.logger }));
  assert.ok(!told.lines.some((line) => /^(error|warn) /.test(line)), told.lines.join('\n'));
  assert.ok(told.lines.some((line) => /^info .*model 'bad'/.test(line)));
});

test('a failed reload is a warning, as the versions before are served', async (t) => {
  const { lines, logger } = recorder();
  const repository = await writeRepository(await temporaryFolder(t), { m: identity() });
  const server = await start(t, repository, { modelControlMode: 'explicit', loadModels: ['m'], logger });
  await writeRepository(repository, {
    m: { config: `${configText({ backend: 'identity' })}\nname: "other"` },
  });
  await rejection(server.loadModel('m'));
  const warnings = lines.filter((line) => line.startsWith('warn '));
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /unexpected name "other".*\(version 1 served as before\)$/s);
});

test('a logger that throws changes nothing, and has itself as this', async (t) => {
  class Failing {
    count = 0;
    info(): never {
      this.count++;
      throw new Error('the log is full');
    }
  }
  const logger = new Failing();
  const server = await serve(t, { m: identity() }, { logger });
  assert.equal(server.model('m').ready, true);
  assert.ok(logger.count > 0);
});

test('a logger whose promise rejects changes nothing', async (t) => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', onUnhandled);
  let count = 0;
  // JavaScript programs may pass async functions, which reject.
  const logger = {
    info: (): Promise<void> => {
      count++;
      return Promise.reject(new Error('the log is full'));
    },
  } as unknown as Logger;
  try {
    const server = await serve(t, { m: identity() }, { logger });
    assert.equal(server.model('m').ready, true);
    // Node reports unhandled rejections after the microtasks.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.removeListener('unhandledRejection', onUnhandled);
  }
  assert.ok(count > 0);
  assert.deepEqual(unhandled, []);
});

test('without a logger, a stderr that nobody reads any more ends no process', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), {
    bad: onnx(Uint8Array.of(0)),
    good: identity(),
  });
  const entry = new URL('../../src/index.js', import.meta.url).href;
  const program = `const { createServer } = await import(${JSON.stringify(entry)});
    await new Promise((resolve) => process.stdin.once('data', resolve));
    for (let i = 0; i < 3; i++) {
      const server = await createServer(${JSON.stringify(repository)}, { exitOnError: false });
      await server.close();
    }
    await new Promise((resolve) => setImmediate(resolve));
    console.log('done');
    process.exit();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
  child.stderr.destroy();
  child.stdin.end('go');
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const [code] = (await once(child, 'close')) as [number | null];
  assert.deepEqual([stdout, code], ['done\n', 0]);
});

const onPosix = { skip: process.platform === 'win32' && 'no file may have such a name' };

test(
  'without a logger, errors are one line each on stderr, with control characters escaped',
  onPosix,
  async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), {
      // The second character of the name is a terminal's escape character.
      'b\u001bd': {
        config: configText({ backend: 'identity', maxBatchSize: -1, more: 'name: "other"' }),
        versions: { '1': {} },
      },
      good: identity(),
    });
    const entry = new URL('../../src/index.js', import.meta.url).href;
    const program = `const { createServer } = await import(${JSON.stringify(entry)});
    const server = await createServer(${JSON.stringify(repository)}, { exitOnError: false });
    await server.close();`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      program,
    ]);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      /^tritonts: error: model 'b\\u001bd': [^\n]*: name: [^\n]*\\n[^\n]*: max_batch_size: [^\n]*\n$/,
    );
    assert.ok(!stderr.includes('\u001b'));
  },
);

test('what is no logger is refused', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: identity() });
  for (const [logger, text] of [
    ['console', /expected an object with functions for options\.logger/],
    [5, /expected an object with functions for options\.logger/],
    [{ warn: true }, /expected a function for options\.logger\.warn/],
  ] as const) {
    // A program in JavaScript may pass anything.
    const error = await rejection(createServer(repository, { logger: logger as unknown as Logger }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, text);
  }
});
