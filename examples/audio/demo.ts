/**
 * Serves the classifier of telephone keys, and reads sounds of several sampling rates under growing noise, as files and as they arrive.
 * `node dist/examples/audio/demo.js` exits with 1 unless all keys are right where the noise is as loud as the keys.
 */
import { createServer } from '../../src/index.js';
import { randomOf } from '../../src/perf/inputs/random.js';
import { audioCode, modelRepository } from './folder.js';
import { dialled, keys, wavFile } from './synthesis.js';

const level = 0.1;
const listeners = 64;
const seconds = 4;
const rates = [8000, 11_025, 16_000, 44_100, 48_000];

const code = await audioCode();
if (!code) {
  console.error('examples/audio needs @audio/decode-wav, which is not installed: npm ci');
  process.exit(1);
}

console.log('Loading examples/audio/models …');
await using server = await createServer(modelRepository);
const random = randomOf(1);
const text = (length: number): string =>
  Array.from({ length }, () => keys[Math.floor(random() * keys.length)]).join('');
const sound = { on: 0.06, off: 0.05, level, random };

for (const noise of [0.01, 0.05, 0.1, 0.2, 0.3]) {
  const expected = rates.map(() => text(20));
  const answers = await Promise.all(
    rates.map(async (rate, i) => {
      const wav = wavFile(dialled(expected[i] ?? '', { ...sound, rate, noise }), rate);
      return (await server.infer('dial', { wav: [[wav]] })).outputs['keys']?.strings()[0] ?? '';
    }),
  );
  const right = answers.filter((answer, i) => answer === expected[i]).length;
  console.log(
    `noise ${(noise / level).toFixed(1)} × as loud as a tone: ${right} of ${rates.length} numbers of 20 keys right`,
  );
  if (noise <= level && right < rates.length) {
    console.error('all should be right');
    process.exitCode = 1;
  }
}

/** A file in pieces of 20 ms, as a line would bring it. */
async function* pieces(wav: Buffer, rate: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < wav.length; at += rate / 25) {
    yield wav.subarray(at, at + rate / 25);
    await Promise.resolve();
  }
}

const model = server.model('listen');
const calls = Array.from({ length: listeners }, () => text(Math.floor(seconds / 0.11)));
const wavs = calls.map((call) => wavFile(dialled(call, { ...sound, rate: 8000, noise: 0.02 }), 8000));
const begin = performance.now();
const heard = await Promise.all(
  wavs.map(async (wav) => {
    let all = '';
    for await (const key of code.keysOf(model, pieces(wav, 8000))) all += key;
    return all;
  }),
);
const took = (performance.now() - begin) / 1000;
const right = heard.filter((answer, i) => answer === calls[i]).length;
const batches = model.statistics().batch_stats.map(({ batch_size }) => batch_size);
console.log(
  `${listeners} calls at once, in pieces of 20 ms: ${right} right; ${((listeners * seconds) / took).toFixed(0)} seconds of sound ` +
    `each second, in batches of up to ${Math.max(...batches)}`,
);
if (right < listeners) process.exitCode = 1;
