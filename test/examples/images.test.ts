// Long: it starts many processes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { classifyAll } from '../../examples/digits/compare.js';
import { readHeldOutDigits } from '../../examples/digits/data.js';
import { onThisThread, served } from '../../examples/images/contestants.js';
import { draw, height, width } from '../../examples/images/draw.js';
import { modelRepositories } from '../../examples/images/folder.js';
import { sharpPackage } from '../../examples/images/sharp.js';
import { createServer, type InferResult } from '../../src/index.js';
import { optionalPackage } from '../support/optional.js';
import { compile, layOut, readmeProgram } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';

const folder = fileURLToPath(new URL('../../../examples/images/', import.meta.url));

const sharp = await sharpPackage();
const skip = sharp ? false : 'sharp is not installed: npm ci';
const server = sharp && (await createServer(modelRepositories));
after(() => server?.close());

const digits = readHeldOutDigits().slice(0, 80);
const pictures = await Promise.all(
  (sharp ? digits : []).map(async (digit) => ({
    jpeg: sharp ? await draw(sharp, digit) : Buffer.alloc(0),
    label: digit.label,
  })),
);

test('a package that is not installed is told from one that is', async () => {
  assert.equal(await optionalPackage('no-such-package-at-all'), undefined);
  assert.ok(await optionalPackage('fastify'));
});

test('a picture is a JPEG file of 640 x 480 pixels, always the same', { skip }, async () => {
  const [{ jpeg } = { jpeg: Buffer.alloc(0) }] = pictures;
  assert.equal(jpeg.readUInt16BE(0), 0xffd8);
  // The frame's header: marker, length, bits of a sample, height, width.
  const frame = jpeg.indexOf(Buffer.of(0xff, 0xc0));
  assert.deepEqual([jpeg.readUInt16BE(frame + 5), jpeg.readUInt16BE(frame + 7)], [height, width]);
  const [first] = digits;
  assert.ok(sharp && first);
  assert.ok(jpeg.equals(await draw(sharp, first)));
});

test('decoded pictures look as the digits that were drawn', { skip }, async () => {
  assert.ok(server);
  for (const [i, { pixels }] of digits.slice(0, 20).entries()) {
    const file: Buffer = pictures[i]?.jpeg ?? assert.fail();
    const result: InferResult = await server.infer('decode', { jpeg: [[file]] });
    const decoded = result.outputs.image?.as('FP32').data ?? new Float32Array();
    assert.equal(decoded.length, 64);
    const difference =
      decoded.reduce((sum, value, at) => sum + Math.abs(value - (pixels[at] ?? NaN)), 0) / 64;
    assert.ok(difference < 1.5, `${difference} of 16`);
  }
});

test('the ensemble answers as sharp and onnxruntime-node do, 93 % of it right', { skip }, async () => {
  assert.ok(server);
  const direct = await onThisThread(1);
  try {
    const answers = await classifyAll(served(server.model('digit')), pictures);
    assert.deepEqual(answers, await classifyAll(direct, pictures));
    const right = pictures.filter(({ label }, i) => label === answers[i]).length;
    assert.ok(right >= 0.93 * pictures.length, `${right} right`);
  } finally {
    await direct.close();
  }
});

test('what is no picture fails alone, and says why', { skip }, async () => {
  assert.ok(server);
  const model = server.model('digit');
  const broken = Buffer.from(pictures[0]?.jpeg.subarray(0, 300) ?? []);
  const results = await Promise.allSettled([
    served(model).classify(pictures[0] ?? assert.fail()),
    model.infer({ jpeg: [['no picture']] }),
    model.infer({ jpeg: [[broken]] }),
    served(model).classify(pictures[1] ?? assert.fail()),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  for (const result of results) {
    if (result.status === 'fulfilled') continue;
    const { code, message } = result.reason as { code: string; message: string };
    assert.equal(code, 'INVALID_ARG');
    assert.match(message, /ensemble 'digit', model 'decode'.*jpeg: /);
  }
});

test('the program of the example prints digits and probabilities', { skip }, async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: folder });
  assert.equal(stderr, '');
  assert.match(stdout, /^pictures\/3\.jpg 3 0\.\d+\npictures\/7\.jpg 7 0\.\d+\n$/);
});

test('the program of the README prints what it says', { skip }, async () => {
  assert.match(await readmeProgram(folder), /^\[ '0\.\d+:7' \]\n$/);
});

test('the example is typed', { skip }, async (t) => {
  const project = await temporaryFolder(t);
  await layOut('images', project, 'sharp', 'onnxruntime-node', '@types');
  const options =
    '--noEmit --strict false --skipLibCheck --allowJs --checkJs --target es2022 --module nodenext --lib es2023,esnext.disposable,dom --types node';
  assert.equal(await compile(project, ...options.split(' '), 'main.mjs', 'models/decode/1/model.mjs'), '');
});
