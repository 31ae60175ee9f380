// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { audioCode, modelRepository, recording } from '../../examples/audio/folder.js';
import { chunk, windowLength } from '../../examples/audio/graphs.js';
import { recorded } from '../../examples/audio/record.js';
import { addTone, dialled, keys, wavFile } from '../../examples/audio/synthesis.js';
import { trainedFiles } from '../../examples/audio/train.js';
import { randomOf } from '../../src/perf/inputs/random.js';
import { createServer, type InferResult } from '../../src/index.js';
import { text } from 'node:stream/consumers';
import { compile, layOut, readmeProgram } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const folder = fileURLToPath(new URL('../../../examples/audio/', import.meta.url));

const code = await audioCode();
const skip = code ? false : 'examples/audio is NOT tested: @audio/decode-wav is not installed: npm ci';
if (skip !== false) console.error(skip);
const server = code && (await createServer(modelRepository));
after(() => server?.close());

/** The sound of keys, with silence before and behind each. */
function soundOf(numbers: string, rate: number, more: { noise?: number; on?: number } = {}): Float32Array {
  return dialled(numbers, {
    rate,
    on: 0.05,
    off: 0.05,
    level: 0.2,
    noise: 0.02,
    random: randomOf(3),
    ...more,
  });
}

/** The keys of a file, by the ensemble. */
async function keysIn(wav: Uint8Array): Promise<string> {
  const { outputs }: InferResult = (await server?.infer('dial', { wav: [[wav]] })) ?? assert.fail();
  return outputs['keys']?.strings()[0] ?? '';
}

/** A file in pieces of some size. */
async function* pieces(wav: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < wav.length; at += size) {
    yield wav.subarray(at, at + size);
    await Promise.resolve();
  }
}

/** The mean amplitude of the middle of a sine. */
function amplitude(samples: Float32Array): number {
  const middle = samples.subarray(1000, -1000);
  return Math.sqrt((2 * middle.reduce((sum, sample) => sum + sample * sample, 0)) / middle.length);
}

test('the committed models and the recording are those that the scripts make', () => {
  for (const [path, made] of Object.entries(trainedFiles())) {
    const committed = readFileSync(new URL(path, modelRepository));
    assert.ok(committed.equals(made), `${path}: run node dist/examples/audio/train.js`);
  }
  assert.ok(readFileSync(recording).equals(recorded()), 'run node dist/examples/audio/record.js');
});

test('every key is heard, in files of all rates, formats and channels', { skip }, async () => {
  for (const [rate, options] of [
    [8000, {}],
    [11_025, { channels: 2 }],
    [16_000, { format: 'float' }],
    [44_100, { channels: 2, format: 'float' }],
    [48_000, { channels: 6 }],
  ] as const)
    assert.equal(await keysIn(wavFile(soundOf(keys, rate), rate, options)), keys, `${rate}`);
});

test('a key that is held down is one key, and a key that is pressed twice is two', { skip }, async () => {
  assert.equal(await keysIn(wavFile(soundOf('5', 8000, { on: 1 }), 8000)), '5');
  assert.equal(await keysIn(wavFile(soundOf('55', 8000), 8000)), '55');
});

test('noise, silence and single tones are no keys', { skip }, async () => {
  const silence = new Float32Array(8000);
  const random = randomOf(5);
  const tone = new Float32Array(8000);
  addTone(tone, 941 / 8000, 0.3, 0);
  const dial = new Float32Array(8000);
  for (const frequency of [350, 440]) addTone(dial, frequency / 8000, 0.3, 0);
  for (const samples of [silence, silence.map(() => random() - 0.5), tone, dial])
    assert.equal(await keysIn(wavFile(samples, 8000)), '');
});

test('a changed sampling rate keeps tones that fit and removes those that do not', { skip }, () => {
  assert.ok(code);
  for (const [from, to] of [
    [44_100, 8000],
    [48_000, 8000],
    [8000, 16_000],
  ] as const)
    for (const [frequency, expected] of [
      [400, 1],
      [3000, 1],
      [5000, 0],
      [9000, 0],
    ] as const) {
      if (2 * frequency > from) continue;
      const samples = new Float32Array(from);
      addTone(samples, frequency / from, 1, 0.3);
      const resampler = new code.Resampler(from, to);
      const [first, last] = [resampler.push(samples), resampler.end()];
      const changed = Float32Array.of(...first, ...last);
      assert.ok(Math.abs(changed.length - to) <= 1, `${changed.length} samples`);
      const found = amplitude(changed);
      assert.ok(Math.abs(found - expected) < 0.02, `${frequency} Hz, ${from} to ${to}: ${found}`);
    }
});

test('pieces of a sound are the same samples as all of it at once', { skip }, () => {
  assert.ok(code);
  const samples = soundOf('159D', 44_100);
  const whole = new code.Resampler(44_100, 8000);
  const expected = [...whole.push(samples), ...whole.end()];
  const cut = new code.Resampler(44_100, 8000);
  const found: number[] = [];
  for (let at = 0, size = 1; at < samples.length; at += size, size = (size * 7 + 3) % 1000)
    found.push(...cut.push(samples.subarray(at, at + size)));
  found.push(...cut.end());
  assert.deepEqual(found, expected);
});

test('a sequence of chunks has the scores of the whole sound', { skip }, async () => {
  assert.ok(server);
  const samples = soundOf('0*#', 8000).slice(0, 2400);
  const whole: InferResult = await server.infer('tones', { samples: [samples] });
  const expected = whole.outputs['scores']?.as('FP32').data ?? new Float32Array();
  const sequence = server.model('listen').sequence();
  const found: number[] = [];
  for (let at = 0; at < samples.length; at += chunk) {
    const { outputs }: InferResult = await sequence.infer({ samples: samples.slice(at, at + chunk) });
    found.push(...(outputs['scores']?.as('FP32').data ?? []));
  }
  await sequence.end();
  assert.ok(chunk < windowLength, 'a window spans chunks');
  assert.equal(found.length, expected.length);
  for (const [i, score] of found.entries()) assert.ok(Math.abs(score - (expected[i] ?? NaN)) < 1e-4, `${i}`);
});

test('calls at once, in pieces of any size, are heard apart from one another', { skip }, async () => {
  assert.ok(server && code);
  const model = server.model('listen');
  const calls = ['0123', '4567', '89AB', 'CD*#', '', '1'];
  const heard = await Promise.all(
    calls.map(async (call, i) => {
      const rate = [8000, 44_100][i % 2] ?? 8000;
      const found: string[] = [];
      for await (const key of code.keysOf(model, pieces(wavFile(soundOf(call, rate), rate), 37 + 500 * i)))
        found.push(key);
      return found.join('');
    }),
  );
  assert.deepEqual(heard, calls);
});

test('what is no sound fails alone, and says why', { skip }, async () => {
  const good = wavFile(soundOf('7', 8000), 8000);
  const withField = (at: number, value: number): Buffer => {
    const file = Buffer.from(good);
    file.writeUInt16LE(value, at);
    return file;
  };
  const wrong = [
    [Buffer.from('no sound'), /this is no WAV file/],
    [Buffer.alloc(100_000), /this is no WAV file/],
    [good.subarray(0, 30), /this is no WAV file, or it has no samples/],
    [withField(22, 65_535), /expected 1 to 8 channels, and the file has 65535/],
    [withField(24, 100), /expected 4000 to 192000 samples a second, and the file has 100/],
    [withField(20, 85), /Unsupported WAV format: 0x55/],
  ] as const;
  const results = await Promise.allSettled([
    keysIn(good),
    ...wrong.map(([file]) => keysIn(file)),
    keysIn(good),
  ]);
  for (const [i, result] of results.entries()) {
    const [, message] = wrong[i - 1] ?? [];
    if (message === undefined) {
      assert.deepEqual(result, { status: 'fulfilled', value: '7' });
      continue;
    }
    assert.ok(result.status === 'rejected', `${i}`);
    const reason = result.reason as { code: string; message: string };
    assert.equal(reason.code, 'INVALID_ARG');
    assert.match(reason.message, message);
  }
});

test('the programs of the example print the keys of a file and of its pieces', { skip }, async () => {
  const main = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: folder });
  assert.deepEqual(main, { stdout: 'recordings/call.wav 042#\n', stderr: '' });
  const live = spawn(process.execPath, ['live.mjs'], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(live, 'close');
  live.stdin.end(await readFile(recording));
  assert.equal(await text(live.stdout), '042#\n');
  assert.deepEqual(await ended, [0, null]);
});

test('the program of the README prints what it says', { skip }, async () => {
  assert.equal(await readmeProgram(folder), '042#\n');
});

test('the example is typed', { skip }, async (t) => {
  const project = await temporaryFolder(t);
  await layOut('audio', project, '@audio', 'onnxruntime-node', '@types');
  const options =
    '--noEmit --strict false --skipLibCheck --allowJs --checkJs --target es2022 --module nodenext --lib es2023,esnext.disposable,dom --types node';
  assert.equal(
    await compile(
      project,
      ...options.split(' '),
      'main.mjs',
      'live.mjs',
      'models/decode/1/model.mjs',
      'models/keys/1/model.mjs',
    ),
    '',
  );
});
