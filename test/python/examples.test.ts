import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sharpPackage } from '../../examples/images/sharp.js';
import { pages, sentences } from '../../examples/text/data.js';
import { readTokenizer, tokenizersPackage } from '../../examples/text/tokenizer.js';
import { createServer } from '../../src/index.js';
import { floats, rejection, row, type Context } from '../support/harness.js';
import { readmeProgram } from '../support/project.js';
import { file, python, script, serving, skip, withPython } from './harness.js';

const folder = fileURLToPath(new URL('../../../examples/python-text/', import.meta.url));
const tokenizers = await tokenizersPackage();
const withTokenizers =
  skip || (tokenizers === undefined && '@huggingface/tokenizers is not installed: npm ci');

async function pipeline(t: Context) {
  const server = await createServer(`${folder}models`, withPython({}));
  t.after(() => server.close());
  return server;
}

test(
  'the tokenizer in Python has the ids of @huggingface/tokenizers',
  { skip: withTokenizers },
  async (t) => {
    assert.ok(tokenizers);
    const tokenizer = readTokenizer(tokenizers);
    const server = await pipeline(t);
    const texts = [
      ...[...sentences, ...pages].map(({ text }) => text),
      ...[
        '',
        '   ',
        '日本 x',
        'İSTANBUL déjà-vu',
        '¿Cuántas? 3,5 % “so” — (x)',
        'a\u0000b\tc\nd\u200be',
        'ﬁ’s ẞ ǅ',
      ],
      ...['x'.repeat(101), 'ab '.repeat(200), '@#$^`~|=+<>'],
    ];
    const answers = await Promise.all(texts.map((text) => server.infer('tokenize', { text: [[text]] })));
    for (const [i, { outputs }] of answers.entries()) {
      const length = (outputs['attention_mask']?.as('INT64').data.lastIndexOf(1n) ?? -1) + 1;
      const ids = [...(outputs['input_ids']?.as('INT64').data.slice(0, length) ?? [])].map(Number);
      assert.deepEqual(ids, tokenizer.encode(texts[i] ?? '').ids, JSON.stringify(texts[i]));
    }
  },
);

test('the pipeline in Python answers as the one in JavaScript does', { skip: withTokenizers }, async (t) => {
  const javascript = await createServer(fileURLToPath(new URL('../text/models', `file://${folder}`)));
  t.after(() => javascript.close());
  const server = await pipeline(t);
  let right = 0;
  await Promise.all(
    [...sentences, ...pages].map(async ({ text, label }, i) => {
      const [ours, theirs] = await Promise.all(
        [server, javascript].map((one) => one.infer('language', { text: [text] })),
      );
      const said = ours?.outputs['label']?.strings();
      assert.deepEqual(said, theirs?.outputs['label']?.strings());
      const score = (result: typeof ours): number => result?.outputs['score']?.as('FP32').data[0] ?? NaN;
      assert.ok(Math.abs(score(ours) - score(theirs)) < 1e-5);
      if (i < sentences.length && said?.[0] === label) right++;
    }),
  );
  assert.ok(right >= 0.95 * sentences.length, `${right} right`);
});

test('the programs of examples/python-text print what they say', { skip }, async () => {
  const PATH = [dirname(python), process.env['PATH'] ?? ''].join(delimiter);
  const env = { ...process.env, PATH };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: folder, env });
  assert.equal(stderr, '');
  assert.match(stdout, /^German [01]\.\d\d\nFrench [01]\.\d\d\n$/);
  assert.match(await readmeProgram(folder, env), /^\[ 'German' \] Float32Array\(1\) \[ 0\.99\d* \]\n$/);
});

test(
  'a decoupled model squares: n responses of n, from threads, while it takes further batches',
  { skip },
  async (t) => {
    const text = `
import json
import threading
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        if not pb_utils.using_decoupled_model_transaction_policy(config):
            raise pb_utils.TritonModelException("the model has to be decoupled")
        self.inflight, self.lock = 0, threading.Lock()

    def execute(self, requests):
        for request in requests:
            thread = threading.Thread(target=self.respond, args=(request.get_response_sender(), pb_utils.get_input_tensor_by_name(request, "IN").as_numpy().copy()), daemon=True)
            with self.lock:
                self.inflight += 1
            thread.start()
        return None

    def respond(self, sender, value):
        for _ in range(value[0]):
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", value)]))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        with self.lock:
            self.inflight -= 1

    def finalize(self):
        while self.inflight:
            pass
        print("all have ended")
`;
    const server = await serving(t, {
      square: file(text, {
        maxBatchSize: 0,
        batching: false,
        inputs: [{ name: 'IN', datatype: 'INT32', dims: [1] }],
        outputs: [{ name: 'OUT', datatype: 'INT32', dims: [1] }],
        more: 'model_transaction_policy { decoupled: true }',
      }),
    });
    await Promise.all(
      [4, 0, 2, 1, 30].map(async (n) => {
        const seen: number[] = [];
        for await (const { outputs } of server.model('square').stream({ IN: Int32Array.of(n) }))
          seen.push(...(outputs['OUT']?.as('INT32').data ?? []));
        assert.deepEqual(
          seen,
          Array.from({ length: n }, () => n),
        );
      }),
    );
  },
);

test('a model answers by the kind of its instance', { skip }, async (t) => {
  const text = `def initialize(self, args):
    self.kind, self.device = args["model_instance_kind"], args["model_instance_device_id"]
def execute(self, requests):
    add = {"CPU": 1, "MODEL": 2, "GPU": 3}[self.kind]
    return [answer(array(request) + add) for request in requests]`;
  const model = script(text);
  const { config = '' } = model;
  assert.match(config, /KIND_CPU/);
  const of = (kind: string): typeof model => ({ ...model, config: config.replace('KIND_CPU', kind) });
  const server = await serving(t, { cpu: model, auto: of('KIND_AUTO') });
  for (const name of ['cpu', 'auto'])
    assert.deepEqual(floats(await server.infer(name, { x: row() })), [...row(1)]);
  // As for all backends, KIND_MODEL is not supported.
  const { code, message } = await rejection(serving(t, { placed: of('KIND_MODEL') }));
  assert.equal(code, 'UNSUPPORTED');
  assert.match(message, /KIND_MODEL is not supported/);
});

const sharp = await sharpPackage();
const withPictures =
  skip ||
  (sharp === undefined && 'sharp is not installed: npm ci') ||
  (() => {
    try {
      execFileSync(python, ['-c', 'import PIL'], { stdio: 'ignore' });
      return false;
    } catch {
      return 'the Python has no Pillow: npm test -- python makes one that has';
    }
  })();

test('a model decodes and prepares pictures with Pillow', { skip: withPictures }, async (t) => {
  assert.ok(sharp);
  const text = `
import io
import numpy as np
from PIL import Image
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            pictures = []
            for file in pb_utils.get_input_tensor_by_name(request, "file").as_numpy().ravel():
                with Image.open(io.BytesIO(file)) as picture:
                    pixels = np.asarray(picture.convert("RGB"), dtype=np.float32)
                pictures.append(((pixels / 255 - 0.5) * 2).transpose(2, 0, 1))
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("pixels", np.stack(pictures))]))
        return responses
`;
  const [width, height] = [40, 30];
  const server = await serving(t, {
    prepare: file(text, {
      inputs: [{ name: 'file', datatype: 'BYTES', dims: [1] }],
      outputs: [{ name: 'pixels', dims: [3, height, width] }],
    }),
  });
  await Promise.all(
    [0, 1, 2, 3].map(async (seed) => {
      const raw = Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 7 + seed * 31) % 256);
      const png = await sharp(raw, { raw: { width, height, channels: 3 } })
        .png()
        .toBuffer();
      const { outputs } = await server.infer('prepare', { file: [[png]] });
      const pixels = outputs['pixels']?.as('FP32').data ?? [];
      assert.equal(pixels.length, raw.length);
      for (let i = 0; i < raw.length; i++) {
        const [place, channel] = [Math.floor(i / 3), i % 3];
        const expected = Math.fround((Math.fround((raw[i] ?? 0) / 255) - 0.5) * 2);
        assert.ok(Math.abs((pixels[channel * width * height + place] ?? NaN) - expected) < 1e-6);
      }
    }),
  );
  const error = await server.infer('prepare', { file: [['no picture']] }).catch((reason: unknown) => reason);
  assert.match(String(error), /cannot identify image file/);
});
