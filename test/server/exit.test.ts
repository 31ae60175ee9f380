/** The end of a process with a server. */

import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { slowModel } from '../support/models.js';
import { writeRepository } from '../support/repository.js';
import { runChild, type ChildOutcome } from '../support/child.js';
import { identity, onnx } from '../support/harness.js';

const program = new URL('programs/ending.js', import.meta.url);

void suite('a process', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tritonts-'));
    await writeRepository(folder, { slow: onnx(slowModel()), delay: identity({ delayMs: 200 }) });
  });
  after(() => rm(folder, { recursive: true }));

  const end = (way: string): Promise<ChildOutcome> => runChild(program, [way, folder]);

  test('ends by itself when its server is idle', async () => {
    const { code, stdout, stderr } = await end('idle');
    assert.deepEqual([code, stdout, stderr], [0, 'idle\n', '']);
  });

  test('ends by itself when its requests are answered', async () => {
    const { code, stdout, stderr } = await end('answered');
    assert.deepEqual([code, stdout, stderr], [0, 'answered\n', '']);
  });

  test('ends by itself after close()', async () => {
    const { code, stdout, stderr } = await end('closed');
    assert.deepEqual([code, stdout, stderr], [0, 'closed\n', '']);
  });

  test('waits for requests in flight', async () => {
    const { code, stdout, stderr } = await end('in-flight');
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(stdout.trim().split('\n').sort(), ['delay answered', 'slow answered']);
  });

  test('keeps its exit code', async () => {
    const { code, stderr } = await end('exit-code');
    assert.deepEqual([code, stderr], [5, '']);
  });

  const exits: Readonly<Record<string, readonly [title: string, code: number]>> = {
    exit: ['process.exit() while models run', 7],
    'exit-in-handler': ['process.exit() where a result is handled', 9],
    'exit-while-closing': ['process.exit() while the server closes', 6],
    'exit-while-loading': ['process.exit() while models load', 4],
  };
  for (const [way, [title, expected]] of Object.entries(exits)) {
    test(`ends with its code and in silence at ${title}`, async () => {
      const { code, signal, stderr } = await end(way);
      assert.deepEqual([code, signal, stderr], [expected, null, '']);
    });
  }

  test('ends with the error that nobody catches, and nothing else, while models run', async () => {
    const { code, signal, stderr } = await end('throw');
    assert.deepEqual([code, signal], [1, null]);
    assert.match(stderr, /Error: thrown on purpose/);
    assert.doesNotMatch(stderr, /tritonts:|terminate called|Assertion|FATAL/);
  });
});
