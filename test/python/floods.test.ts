/** Output floods of a model do not block the process. */
// Own process: it measures the processor time of the process.

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { readLines } from '../../src/python/lines.js';
import { addModel } from '../support/models.js';
import { floats, onnx, row } from '../support/harness.js';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../support/repository.js';
import { script, serving, skip } from './harness.js';

/** The most lines that one turn of the event loop takes in its millisecond. */
const mostInTurn = 20_000;

test('lines come whole, whatever pieces they are read in, and long ones cost no more for it', async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  const pieces: string[] = [];
  const ended = readLines(stream, {
    take: (line) => lines.push(line),
    longest: 2 ** 27,
    tooLong: (piece) => pieces.push(piece),
  });
  const before = process.cpuUsage();
  const chunk = Buffer.alloc(65_536, 'x');
  const chunks = 1024;
  const write = async (bytes: Buffer): Promise<void> => {
    if (!stream.write(bytes)) await new Promise((resolve) => stream.once('drain', resolve));
  };
  for (const byte of Buffer.from('ü\r\nlast')) await write(Buffer.of(byte));
  for (let i = 0; i < chunks; i++) await write(chunk);
  await write(Buffer.from('\n\nrest'));
  stream.end();
  await ended;
  const { user } = process.cpuUsage(before);
  assert.deepEqual(
    lines.map((line) => line.length),
    [2, 4 + chunks * chunk.length, 0, 4],
  );
  assert.equal(lines[3], 'rest');
  assert.deepEqual(pieces, []);
  // Each chunk is searched once. Searching the whole line for each chunk would take half a minute.
  assert.ok(user < 5_000_000, `${user / 1e6} s`);
});

test('a line that is too long is given in pieces, and holds no more memory than that', async () => {
  const stream = new PassThrough();
  const pieces: number[] = [];
  void readLines(stream, {
    take: () => assert.fail(),
    longest: 100,
    tooLong: (piece) => pieces.push(piece.length),
  });
  for (let i = 0; i < 10; i++) stream.write(Buffer.alloc(60, 'x'));
  await new Promise(setImmediate);
  assert.deepEqual(pieces, [120, 120, 120, 120, 120]);
  stream.destroy();
});

test(
  'floods of a model, printed and logged, are taken in slices while requests go on',
  { skip },
  async (t) => {
    const text = `def execute(self, requests):
    kind = array(requests[0])[0, 0]
    if kind == 1:
        sys.stdout.write("p\\n" * 400000)
        sys.stderr.write("e\\n" * 400000)
    if kind == 2:
        for _ in range(30000):
            pb_utils.Logger.log_info("l")
    return [answer(array(request)) for request in requests]`;
    let taken = 0;
    let most = 0;
    let sinceTurn = 0;
    const count = (): void => {
      taken++;
      most = Math.max(most, ++sinceTurn);
    };
    const server = await serving(
      t,
      { floods: script(text), quiet: script(text) },
      { logger: { info: count, warn: count } },
    );
    let turning = true;
    const turn = (): void => {
      sinceTurn = 0;
      if (turning) setImmediate(turn);
    };
    turn();
    const begin = taken;
    const flooding = server.infer('floods', { x: row(1) });
    assert.deepEqual(floats(await server.infer('quiet', { x: row(5) })), [...row(5)]);
    await flooding;
    await server.infer('floods', { x: row(2) });
    while (taken - begin < 830_000) await new Promise(setImmediate);
    turning = false;
    assert.ok(most < mostInTurn, `${most} lines in one turn`);
  },
);

test('a load of large files from Python costs what its bytes cost', { skip }, async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'add.onnx');
  await writeFile(path, addModel());
  const bytes = 48 * 2 ** 20;
  const text = `def execute(self, requests):
    with open(${JSON.stringify(path)}, "rb") as file:
        content = file.read()
    files = {"file:1/model.onnx": content, "file:1/large.bin": bytes(${bytes}), "file:1/empty.txt": b""}
    pb_utils.load_model("add", ${JSON.stringify(JSON.stringify({ backend: 'onnxruntime' }))}, files)
    return [answer(array(request)) for request in requests]`;
  const server = await serving(
    t,
    { loads: script(text), add: onnx(addModel({ addend: 7 })) },
    { modelControlMode: 'explicit', loadModels: ['loads'] },
  );
  const before = process.cpuUsage();
  await server.infer('loads', { x: row() });
  const { user } = process.cpuUsage(before);
  // Quadratic work takes a quarter of a minute.
  assert.ok(user < 6_000_000, `${user / 1e6} s`);
  assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(1)]);
});
