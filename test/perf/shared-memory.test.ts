/** Measurements whose tensors are in shared memory. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { InferenceServer } from '../../src/index.js';
import { runPerf, type PerfOptions, type PerfRun } from '../../src/perf/run.js';
import { addressOf, protocols, type Protocol } from '../client/harness.js';
import { command } from '../cli/run.js';
import { identity, onnx, rejection, serve, until, type Context } from '../support/harness.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { perfOptions, silent } from './harness.js';

const skip = process.platform === 'linux' ? false : 'shared memory is for Linux';
/** An image of 224 x 224 with three colours. */
const elements = 3 * 224 * 224;

const image = identity({
  maxBatchSize: 4,
  inputs: [{ name: 'x', datatype: 'FP32', dims: [elements] }],
  outputs: [{ name: 'y', datatype: 'FP32', dims: [elements] }],
});
const texts = identity({
  maxBatchSize: 4,
  inputs: [{ name: 'x', datatype: 'BYTES', dims: [3] }],
  outputs: [{ name: 'y', datatype: 'BYTES', dims: [3] }],
});
/** Fails from its 20th request on. */
const failing: RepositoryModel = {
  config: `
backend: "javascript"
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
`,
  versions: {
    '1': {
      'model.js': `
let count = 0;
export default {
  execute: (requests) => requests.map(({ inputs }) => {
    if (++count >= 20) throw new Error('the twentieth');
    return { y: inputs.x };
  }),
};
`,
    },
  },
};

interface Place {
  readonly server: InferenceServer;
  readonly url: string;
}

async function placeOf(
  t: Context,
  protocol: Protocol,
  models: Readonly<Record<string, RepositoryModel>>,
): Promise<Place> {
  const server = await serve(t, models);
  return { server, url: await addressOf(t, protocol, server, { clientSharedMemory: true }) };
}

/** The files in /dev/shm that a process's measurements have made. */
function filesOf(pid: number): string[] {
  return readdirSync('/dev/shm').filter((name) => name.startsWith(`tritonts-perf-${pid}-`));
}

/** The bytes of shared memory that this process has open, although its name is gone. */
function openMemory(name: string): Buffer {
  for (const one of readdirSync('/proc/self/fd')) {
    let target: string;
    try {
      target = readlinkSync(`/proc/self/fd/${one}`);
    } catch {
      continue; // It was that of the list.
    }
    if (target === `/dev/shm/${name} (deleted)`) return readFileSync(`/proc/self/fd/${one}`);
  }
  throw new RangeError(`no descriptor of ${name}`);
}

/** What the regions had when the level was measured. */
interface Seen {
  readonly run: PerfRun;
  readonly inputs: Buffer | undefined;
  readonly outputs: Buffer | undefined;
  readonly notes: readonly string[];
}

async function measured(
  { server, url }: Place,
  model: string,
  options: Partial<PerfOptions> = {},
): Promise<Seen> {
  const memory = new Map<string, Buffer>();
  const notes: string[] = [];
  const run = await runPerf(
    perfOptions(
      { url },
      model,
      { sharedMemory: { outputBytes: 102_400 }, ...options },
      { requestCount: 100 },
    ),
    {
      ...silent,
      note: (text) => notes.push(text),
      level: () => {
        for (const { name } of server.sharedMemory.regions())
          memory.set(name.slice(name.lastIndexOf('-') + 1), openMemory(name));
        assert.deepEqual(filesOf(process.pid), []);
      },
    },
    new AbortController().signal,
  );
  await until(() => server.sharedMemory.regions().length === 0);
  return { run, inputs: memory.get('inputs'), outputs: memory.get('outputs'), notes };
}

for (const protocol of protocols)
  void suite(`a measurement with shared memory over ${protocol}`, { skip }, () => {
    test('images of 602 KB go through regions in both directions', async (t) => {
      const place = await placeOf(t, protocol, { image });
      const { run, inputs, outputs } = await measured(place, 'image', { batch: 2 });
      assert.equal(run.failure, undefined);
      assert.equal(run.sharedMemory, true);
      assert.equal(run.levels[0]?.tally.requests, 100);
      assert.equal(place.server.statistics('image')[0]?.inference_count, 200);
      const size = 2 * 4 * elements;
      assert.equal(inputs?.length, size);
      // Four requests at once, each with a place of its own.
      assert.equal(outputs?.length, 4 * size);
      assert.ok(inputs.some((byte) => byte !== 0));
      for (let at = 0; at < 4; at++)
        assert.ok(outputs.subarray(at * size, (at + 1) * size).equals(inputs), `place ${at}`);
    });

    test('texts go through regions in both directions, and need their room', async (t) => {
      const place = await placeOf(t, protocol, { texts });
      const { run, inputs, outputs } = await measured(place, 'texts', { batch: 2, stringLength: 100 });
      assert.equal(run.failure, undefined);
      const size = 6 * 104;
      assert.ok(inputs !== undefined && inputs.length >= size);
      assert.equal(outputs?.length, 4 * 102_400);
      assert.ok(outputs.subarray(0, size).equals(inputs.subarray(0, size)));
      const narrow = await measured(place, 'texts', {
        sharedMemory: { outputBytes: 311 },
        stringLength: 100,
      });
      assert.match(
        String(narrow.run.failure?.error),
        /for output 'y' \(311 bytes\) should be at least 312 bytes/,
      );
    });

    test('outputs that are compared come in the answers', async (t) => {
      const place = await placeOf(t, protocol, { texts });
      const file = join(await temporaryFolder(t), 'data.json');
      const data = [{ x: ['a', 'bc', ''] }, { x: ['d', 'e', 'f'] }];
      const expected = data.map(({ x }) => ({ y: x }));
      writeFileSync(file, JSON.stringify({ data, validation_data: expected }));
      const fine = await measured(place, 'texts', { inputData: [file] });
      assert.equal(fine.run.failure, undefined);
      assert.match(fine.notes.join(), /outputs come in the answers: they are compared/);
      assert.ok(fine.inputs !== undefined && fine.outputs === undefined);
      writeFileSync(file, JSON.stringify({ data, validation_data: expected.toReversed() }));
      const wrong = await measured(place, 'texts', { inputData: [file] });
      assert.match(String(wrong.run.failure?.error), /output 'y' is not that of validation_data/);
    });

    test('a request that fails ends the run, and the regions', async (t) => {
      const place = await placeOf(t, protocol, { failing });
      const { run } = await measured(place, 'failing');
      assert.match(String(run.failure?.error), /the twentieth/);
    });

    test('a load that does not fit the target leaves no region', async (t) => {
      const { server, url } = await placeOf(t, protocol, { image });
      const load = {
        mode: 'concurrency',
        range: { start: 1e6, end: 1e6, step: 1 },
        search: 'linear',
      } as const;
      const options = perfOptions({ url }, 'image', { load, sharedMemory: { outputBytes: 1 } });
      const { message } = await rejection(runPerf(options, silent, new AbortController().signal));
      assert.match(message, /requests at once for --concurrency-range/);
      await until(() => server.sharedMemory.regions().length === 0);
      assert.deepEqual(filesOf(process.pid), []);
    });

    test('a server without shared memory is named, with its reason', async (t) => {
      const url = await addressOf(t, protocol, await serve(t, { add: onnx() }));
      const { code, stdout, stderr } = await command(t, 'perf', '-m', 'add', url, '--shared-memory=system');
      assert.equal(code, 99);
      assert.equal(stdout, '');
      assert.match(
        stderr,
        /^tritonts: UNSUPPORTED: --shared-memory=system: .*127\.0\.0\.1:\d+ does not register memory of this process: Client shared memory is disabled/m,
      );
      assert.deepEqual(filesOf(process.pid), []);
    });

    for (const [signal, wanted] of [
      ['SIGINT', 130],
      ['SIGKILL', null],
    ] as const)
      test(`nothing stays in /dev/shm after ${signal}`, async (t) => {
        const { server, url } = await placeOf(t, protocol, { image });
        const main = fileURLToPath(new URL('../../command/main.js', import.meta.url));
        const args = [
          '-m',
          'image',
          url,
          '--shared-memory',
          'system',
          '-p',
          '100',
          '-r',
          '100000',
          '-s',
          '0',
        ];
        const child = spawn(process.execPath, [main, 'perf', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
        t.after(() => child.kill('SIGKILL'));
        let stdout = '';
        let stderr = '';
        let during: number | undefined;
        child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
        child.stderr.setEncoding('utf8').on('data', (text: string) => {
          stderr += text;
          // A second one would end it at once.
          if (during !== undefined || !stderr.includes('window 2:')) return;
          during = server.sharedMemory.regions().length;
          child.kill(signal);
        });
        const [code] = (await once(child, 'close')) as [number | null];
        assert.equal(code, wanted, stderr);
        assert.equal(during, 2);
        assert.match(stdout, /tensors in shared memory/);
        assert.deepEqual(filesOf(child.pid ?? 0), []);
        // A process that was killed has nobody to unregister its regions.
        if (signal === 'SIGINT') await until(() => server.sharedMemory.regions().length === 0);
      });
  });

test('in this process the flag is said to have no effect', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { add: onnx() });
  const args = ['-m', 'add', repository, '--shared-memory=system', '--request-count=20'];
  const { code, stderr } = await command(t, 'perf', ...args);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^note: --shared-memory has no effect: in this process/m);
});
