/**
 * Faults of a model's files, in a folder and as bytes. The tests follow the advice of each message, which must
 * help.
 */

import assert from 'node:assert/strict';
import { rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { createServer, type InferenceServer } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { graph } from '../support/onnx/graph.js';
import { temporaryFolder, writeRepository, type Files } from '../support/repository.js';
import { rejection, serve, start } from '../support/harness.js';
import { noLinks } from '../support/links.js';

/** y = x + w, with the weights w in a file at this path, relative to the model's folder. */
function externalAt(location: string): { readonly model: Uint8Array; readonly data: Uint8Array } {
  return graph('external')
    .input('x', 'FP32', ['N', 1024])
    .initializer(
      'w',
      'FP32',
      [1024],
      Array.from({ length: 1024 }, () => 1),
    )
    .node('Add', ['x', 'w'], ['y'])
    .output('y', 'FP32', ['N', 1024])
    .encodeExternal(location);
}

const external = externalAt('weights.bin');
const weights = external.data;
const pointer = Buffer.from(
  'version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 123456\n',
);
const safetensors = Buffer.concat([
  Buffer.from([0x40, 0, 0, 0, 0, 0, 0, 0]),
  Buffer.from('{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'.padEnd(64)),
  Buffer.alloc(4),
]);

/** Files of version 1 that do not load, the expected messages, and the files after following the advice. */
const cases: readonly (readonly [what: string, files: Files, message: RegExp, after: Files])[] = [
  ['an empty file', { 'model.onnx': '' }, /is empty: write or download the model again/, {}],
  [
    'a pointer of Git LFS',
    { 'model.onnx': pointer },
    /Git LFS pointer.* of 123456 bytes: run 'git lfs pull'/,
    {},
  ],
  ['a web page', { 'model.onnx': '<!doctype html>' }, /is a web page: download the file itself/, {}],
  [
    'a pickle',
    { 'model.onnx': Buffer.from([0x80, 4, 0x95, 1, 0, 0, 0, 0, 0, 0, 0]) },
    /is a pickle of Python's, not an ONNX model: export the model to ONNX/,
    {},
  ],
  [
    'safetensors',
    { 'model.onnx': safetensors },
    /file of safetensors, which has weights and no graph: export/,
    {},
  ],
  [
    'a model that is cut off',
    { 'model.onnx': addModel().subarray(0, 60) },
    /is cut off: it has 60 bytes, and its content goes on to byte \d+ at least: copy or download the model again/,
    {},
  ],
  [
    'weights that are missing',
    { 'model.onnx': external.model },
    /'weights\.bin', which has the weights of '.*model\.onnx' \(such as 'w'\), is not there: put it beside/,
    { 'weights.bin': weights },
  ],
  [
    'weights that are cut off',
    { 'model.onnx': external.model, 'weights.bin': weights.subarray(0, 100) },
    /'weights\.bin', .* is cut off: it has 100 bytes, and these weights end at byte 4096: copy or download it again/,
    { 'weights.bin': weights },
  ],
  [
    'weights that are a pointer of Git LFS',
    { 'model.onnx': external.model, 'weights.bin': pointer },
    /'weights\.bin', .* is a Git LFS pointer .*: run 'git lfs pull'/,
    { 'weights.bin': weights },
  ],
  [
    'a pointer of Git LFS that an editor saved',
    {
      'model.onnx': Buffer.concat([
        Buffer.from('\uFEFF'),
        Buffer.from(pointer.toString().replaceAll('\n', '\r\n')),
      ]),
    },
    /Git LFS pointer.* of 123456 bytes: run 'git lfs pull'/,
    {},
  ],
  [
    'a web page in UTF-16',
    { 'model.onnx': Buffer.from('\uFEFF<!DOCTYPE html>', 'utf16le') },
    /is a web page/,
    {},
  ],
  [
    "an object store's error",
    { 'model.onnx': '<Error><Code>AccessDenied</Code></Error>' },
    /is a web page/,
    {},
  ],
  [
    "a server's text",
    { 'model.onnx': 'Entry not found' },
    /is a text, .*\("Entry not found"\): download/,
    {},
  ],
  [
    'gzip',
    { 'model.onnx': Buffer.from('1f8b0800000000000003', 'hex') },
    /is compressed with gzip: unpack it/,
    {},
  ],
  [
    'a tar archive',
    { 'model.onnx': Buffer.concat([Buffer.alloc(257, 97), Buffer.from('ustar\0'), Buffer.alloc(300)]) },
    /is a tar archive: unpack it/,
    {},
  ],
  ['an empty zip archive', { 'model.onnx': Buffer.from('504b0506', 'hex') }, /is a zip archive/, {}],
  ['an old pickle', { 'model.onnx': "(dp0\nS'a'\n" }, /is a pickle of Python's/, {}],
  [
    'HDF5',
    { 'model.onnx': Buffer.from('894844460d0a1a0a', 'hex') },
    /is a file of HDF5, such as Keras writes/,
    {},
  ],
  ['TensorFlow Lite', { 'model.onnx': '\u001c\0\0\0TFL3\0' }, /is a model of TensorFlow Lite: export/, {}],
  [
    'IR of OpenVINO',
    {
      'model.onnx': '<?xml version="1.0"?>\n<!-- made by ovc -->\n<net name="m" version="11"><layers/></net>',
    },
    /is a model of OpenVINO, not an ONNX model: name it model\.xml/,
    {},
  ],
  ['GGUF', { 'model.onnx': 'GGUF\u0003\0\0\0' }, /is a model of llama\.cpp/, {}],
  ['a list in JSON', { 'model.onnx': '[1]' }, /is JSON, not an ONNX model/, {}],
  ['zeros', { 'model.onnx': Buffer.alloc(1000) }, /begins with zeros, .* copy or download it again/, {}],
  ['other bytes', { 'model.onnx': Buffer.alloc(64, 0xee) }, /is not an ONNX model, or is damaged/, {}],
  [
    'a model that is cut off before its graph',
    { 'model.onnx': addModel().subarray(0, 2) },
    /has no graph: it is cut off or not an ONNX model; copy, download or export/,
    {},
  ],
  [
    'weights with a name in another case',
    { 'model.onnx': external.model, 'Weights.bin': weights },
    /'weights\.bin', .* is not there, but 'Weights\.bin' is: rename it/,
    { 'weights.bin': weights },
  ],
  [
    'weights that are a web page',
    { 'model.onnx': external.model, 'weights.bin': '<!doctype html>' },
    /'weights\.bin', .* is a web page: download the file itself/,
    { 'weights.bin': weights },
  ],
  [
    'weights in a folder of their name',
    { 'model.onnx': external.model, 'weights.bin/weights.bin': weights },
    /'weights\.bin', .* is not there: put it beside/,
    { 'model.onnx': external.model, 'weights.bin': weights },
  ],
  ...['../weights.bin', '../../weights.bin', '/weights.bin'].map(
    (location) =>
      [
        `weights in ${location}`,
        { 'model.onnx': externalAt(location).model, 'weights.bin': weights },
        /weights\.bin', .* is outside of the version's folder, .*: put it beside the model's file, and save the model with its new place/,
        { 'model.onnx': external.model, 'weights.bin': weights },
      ] as const,
  ),
];

const explicit = { modelControlMode: 'explicit' } as const;
const bytesOf = (files: Files): Record<string, Uint8Array> =>
  Object.fromEntries(
    Object.entries(files).map(([path, content]) => [
      `1/${path}`,
      typeof content === 'string' ? Buffer.from(content) : content,
    ]),
  );

void suite('a file that does not load is named as what it is, and the advice helps', () => {
  for (const [what, files, message, after] of cases) {
    const mended = Object.keys(after).length > 0 ? { ...files, ...after } : { 'model.onnx': addModel() };
    const right = 'model.onnx' in after ? after : mended;
    test(`${what}, in a folder`, async (t) => {
      const folder = await writeRepository(await temporaryFolder(t), { m: { versions: { '1': files } } });
      const server = await start(t, folder, explicit);
      const error = await rejection(server.loadModel('m'));
      assert.match(error.message, message);
      assert.equal(error.model, 'm');
      await rm(join(folder, 'm'), { recursive: true });
      await writeRepository(folder, { m: { versions: { '1': right } } });
      await server.loadModel('m');
    });
    test(`${what}, in bytes`, async (t) => {
      const server = await serve(t, {}, explicit);
      const load = (given: Files): Promise<unknown> =>
        server.loadModel('m', { config: {}, files: bytesOf(given) });
      assert.match((await rejection(load(files))).message, message);
      await load(right);
    });
  }
});

void suite('weights behind links', () => {
  const x = new Float32Array(1024).fill(1);
  const sum = async (server: InferenceServer): Promise<unknown> =>
    (await server.infer('m', { x: { data: x, shape: [1, 1024] } })).outputs['y']?.data[1023];
  for (const linked of [['weights.bin'], ['model.onnx'], ['model.onnx', 'weights.bin']]) {
    test(`are found: ${linked.join(' and ')}`, { skip: noLinks }, async (t) => {
      const outside = await temporaryFolder(t);
      const files = { 'model.onnx': external.model, 'weights.bin': weights };
      const folder = await writeRepository(await temporaryFolder(t), { m: { versions: { '1': files } } });
      // As in the cache of Hugging Face, the targets have other names.
      for (const [i, name] of linked.entries()) {
        await rename(join(folder, 'm', '1', name), join(outside, `blob${i}`));
        await symlink(join(outside, `blob${i}`), join(folder, 'm', '1', name));
      }
      assert.equal(await sum(await start(t, folder, { outsideLinks: true })), 2);
    });
  }

  test('that lead nowhere are said to be missing', { skip: noLinks }, async (t) => {
    const files = { 'model.onnx': external.model };
    const folder = await writeRepository(await temporaryFolder(t), { m: { versions: { '1': files } } });
    await symlink('/nowhere/weights', join(folder, 'm', '1', 'weights.bin'));
    assert.match((await rejection(start(t, folder))).message, /'weights\.bin', .* is not there/);
  });
});

void suite('a configuration with another name', () => {
  const text = 'max_batch_size: 3';
  for (const [name, content, advice] of [
    ['config.pbtxt.txt', text, /config\.pbtxt\.txt is not read, .*: rename it/],
    ['Config.pbtxt', text, /Config\.pbtxt is not read, .*: rename it/],
    [
      'config.json',
      '{"maxBatchSize": 3}',
      /config\.json is not read, .* as config of loadModel, or write it as/,
    ],
  ] as const) {
    test(`${name} is a warning and a note, whose advice helps`, async (t) => {
      const model = { versions: { '1': addModel() }, files: { [name]: content } };
      const folder = await writeRepository(await temporaryFolder(t), { m: model });
      const warnings: string[] = [];
      const warn = (line: string): void => void warnings.push(line);
      const server = await start(t, folder, { ...explicit, loadModels: ['m'], logger: { warn } });
      assert.ok(
        server.model('m').notes.some((note) => advice.test(note)),
        server.model('m').notes.join('\n'),
      );
      assert.match(warnings.join('\n'), advice);
      assert.notEqual(server.model('m').config.max_batch_size, 3);
      if (name === 'config.json') await server.loadModel('m', { config: content });
      else {
        await rename(join(folder, 'm', name), join(folder, 'm', 'config.pbtxt'));
        await server.loadModel('m');
      }
      assert.equal(server.model('m').config.max_batch_size, 3);
    });
  }

  test('among bytes it is a note, too, and said where there is no other', async (t) => {
    const server = await start(t, await temporaryFolder(t), explicit);
    for (const name of ['config.json', 'Config.pbtxt', 'config.pbtxt.txt']) {
      const files = { [name]: Buffer.from('{"maxBatchSize": 3}'), '1/model.onnx': addModel() };
      const { message } = await rejection(server.loadModel('m', { files }));
      assert.ok(message.endsWith(`or the file config.pbtxt; '${name}' is not read`), message);
      await server.loadModel('m', { files, config: {} });
      assert.match(
        server.model('m').notes.join('\n'),
        new RegExp(`^${name.replaceAll('.', '\\.')} is not read`, 'm'),
      );
    }
  });

  test('config.pbtxt among bytes is read where no other is given', async (t) => {
    const files = { 'config.pbtxt': Buffer.from(text), '1/model.onnx': addModel() };
    const server = await createServer({ ...explicit, models: { given: { files } }, loadModels: ['given'] });
    t.after(() => server.close());
    assert.equal(server.model('given').config.max_batch_size, 3);
    await server.loadModel('m', { files });
    assert.equal(server.model('m').config.max_batch_size, 3);
  });
});

void suite('the kind of a model is told from its versions', () => {
  test('whatever other folders there are', async (t) => {
    const folder = await writeRepository(await temporaryFolder(t), {
      m: {
        versions: { '.cache': { x: '' }, '0': {}, '1': addModel() },
        config: 'version_policy { all { } }',
      },
    });
    await rm(join(folder, 'm', '0'), { recursive: true });
    const server = await start(t, folder);
    assert.equal(server.model('m').config.backend, 'onnxruntime');
  });

  test('a version in the name is no backend', async (t) => {
    const name = 'bge-small-v1.5';
    const folder = await writeRepository(await temporaryFolder(t), {
      [name]: { versions: { '1': { 'bge.onnx': addModel() } } },
    });
    const server = await start(t, folder, explicit);
    const error = await rejection(server.loadModel(name));
    assert.match(
      error.message,
      /backend: missing.*Rename bge\.onnx to model\.onnx, or write in config\.pbtxt/s,
    );
    const [, advice] = /or write in config\.pbtxt (.*)$/.exec(error.message) ?? [];
    await writeFile(join(folder, name, 'config.pbtxt'), advice ?? '');
    await server.loadModel(name);
    await rm(join(folder, name, 'config.pbtxt'));
    await rename(join(folder, name, '1', 'bge.onnx'), join(folder, name, '1', 'model.onnx'));
    await server.loadModel(name);
    assert.equal(server.model(name).config.backend, 'onnxruntime');
  });
});

test('a model whose first dimensions have no names says that it runs without batches, and its advice turns them on', async (t) => {
  // As skl2onnx writes them.
  const model = graph('skl')
    .input('x', 'FP32', [-1, 4])
    .node('Relu', ['x'], ['y'])
    .output('y', 'FP32', [-1, 4])
    .encode();
  const folder = await writeRepository(await temporaryFolder(t), { skl: { versions: { '1': model } } });
  const warnings: string[] = [];
  const warn = (line: string): void => void warnings.push(line);
  const server = await start(t, folder, { ...explicit, loadModels: ['skl'], logger: { warn } });
  const advice = /has no name in the model's file.* write (max_batch_size: 64), say, in config\.pbtxt/;
  assert.match(warnings.join('\n'), /model 'skl': it runs without batches/);
  assert.match(warnings.join('\n'), advice);
  for (let i = 0; i < 64; i++) await server.infer('skl', { x: new Float32Array(4) });
  const [, line] = advice.exec(warnings.join('\n')) ?? [];
  await writeFile(join(folder, 'skl', 'config.pbtxt'), line ?? '');
  await server.loadModel('skl');
  const { max_batch_size: size, dynamic_batching: dynamic } = server.model('skl').config;
  assert.equal(size, 64);
  assert.ok(dynamic);
});

test('weights whose name begins with ./ are found in a folder, and named among bytes', async (t) => {
  const files = { 'model.onnx': externalAt('./weights.bin').model, 'weights.bin': weights };
  const folder = await writeRepository(await temporaryFolder(t), { m: { versions: { '1': files } } });
  const server = await start(t, folder, { ...explicit, loadModels: ['m'] });
  const given = server.loadModel('m', { config: {}, files: bytesOf(files) });
  assert.match(
    (await rejection(given)).message,
    /because of its name: save the model with the name 'weights\.bin', or put both files into a model repository/,
  );
  await server.loadModel('m', { config: {}, files: bytesOf({ ...files, 'model.onnx': external.model }) });
});

const config = `input [ { name: "x" data_type: TYPE_FP32 dims: [ 16 ] } ]
  output [ { name: "y" data_type: TYPE_FP32 dims: [ 16 ] } ]`;
const code = {
  javascript:
    'export default { execute: (requests) => requests.map(({ inputs }) => ({ y: inputs.x.data })) };\n',
  python: 'class TritonPythonModel:\n  def execute(self, requests):\n    return [None for _ in requests]\n',
} as const;
const codeFiles = { javascript: 'model.mjs', python: 'model.py' } as const;

/** Bytes in place of a text, and the expected message. */
const noTexts: readonly (readonly [what: string, bytes: (text: string) => Buffer, message: RegExp])[] = [
  [
    'a pointer of Git LFS',
    () => pointer,
    /is a Git LFS pointer in place of the file of 123456 bytes: run 'git lfs pull'/,
  ],
  ['a web page', () => Buffer.from('<!doctype html>'), /is a web page: download the file itself/],
  ['UTF-16', (text) => Buffer.from(`\uFEFF${text}`, 'utf16le'), /seems to be UTF-16[:;] save it as UTF-8/],
  [
    'UTF-16, the other way',
    (text) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16(),
    /seems to be UTF-16[:;] save/,
  ],
  ['UTF-16 without a mark', (text) => Buffer.from(text, 'utf16le'), /seems to be UTF-16[:;] save/],
  [
    'UTF-16 without a mark, the other way',
    (text) => Buffer.from(text, 'utf16le').swap16(),
    /seems to be UTF-16[:;] save/,
  ],
];

void suite('a text that is none is named as what it is', () => {
  for (const [what, bytes, message] of noTexts) {
    test(`${what}, in place of a configuration or of labels, from a folder and from bytes`, async (t) => {
      const written = 'backend: "onnxruntime" max_batch_size: 8\n';
      const labelled = `${written} ${config.replace(/\} \]$/, 'label_filename: "labels.txt" } ]')}`;
      for (const [text, files] of [
        [written, (content: Buffer) => ({ 'config.pbtxt': content })],
        [
          'cat\ndog\n',
          (content: Buffer) => ({ 'config.pbtxt': Buffer.from(labelled), 'labels.txt': content }),
        ],
      ] as const) {
        const folder = await writeRepository(await temporaryFolder(t), {
          m: { versions: { '1': addModel() }, files: files(bytes(text)) },
        });
        const server = await start(t, folder, explicit);
        assert.match((await rejection(server.loadModel('m'))).message, message);
        const given = (content: Buffer): Promise<unknown> =>
          server.loadModel('given', { files: { '1/model.onnx': addModel(), ...files(content) } });
        assert.match((await rejection(given(bytes(text)))).message, message);
        for (const mend of [
          text,
          text.replaceAll('\n', '\r\n'),
          text.replaceAll('\n', '\r'),
          `\uFEFF${text}`,
        ]) {
          await given(Buffer.from(mend));
          await writeRepository(folder, {
            m: { versions: { '1': addModel() }, files: files(Buffer.from(mend)) },
          });
          await server.loadModel('m');
        }
        if (text === written) continue;
        const { outputs } = await server.infer(
          'm',
          { x: new Float32Array(16) },
          { outputs: [{ name: 'y', classification: 1 }] },
        );
        assert.match(String(outputs['y']?.strings()), /:cat$/);
      }
    });

    for (const backend of ['javascript', 'python'] as const) {
      test(`${what}, in place of ${backend}`, async (t) => {
        const file = codeFiles[backend];
        const model = {
          config: `backend: "${backend}" ${config}`,
          versions: { '1': { [file]: bytes(code[backend]) } },
        };
        const folder = await writeRepository(await temporaryFolder(t), { m: model });
        const server = await start(t, folder, explicit);
        const error = await rejection(server.loadModel('m'));
        assert.match(error.message, message);
        assert.match(error.message, new RegExp(`^model 'm', version 1: '.*[\\\\/]${file}' `));
        await writeFile(join(folder, 'm', '1', file), `\uFEFF${code[backend]}`);
        await server.loadModel('m').catch((after: unknown) => {
          // On some machines Python has no numpy, which is reported later.
          if (backend === 'javascript' || !/numpy/.test(String(after))) throw after;
        });
      });
    }
  }
});

void suite('code of another name is named, and its advice helps', () => {
  for (const [backend, name, renamed] of [
    ['javascript', 'Model.mjs', 'model.mjs'],
    ['javascript', 'index.mjs', 'model.mjs'],
    ['python', 'Model.py', 'model.py'],
    ['python', 'main.py', 'model.py'],
  ] as const) {
    test(name, async (t) => {
      const model = {
        config: `backend: "${backend}" ${config}`,
        versions: { '1': { [name]: code[backend] } },
      };
      const folder = await writeRepository(await temporaryFolder(t), { m: model });
      const server = await start(t, folder, explicit);
      const { message } = await rejection(server.loadModel('m'));
      const advice =
        /holds \S+\. Rename (\S+) to (\S+), or write (default_model_filename: "\S+") in config\.pbtxt$/.exec(
          message,
        );
      assert.deepEqual(advice?.slice(1, 3), [name, renamed], message);
      const load = (): Promise<unknown> =>
        server.loadModel('m').catch((after: unknown) => {
          if (backend === 'javascript' || !/numpy/.test(String(after))) throw after;
        });
      await writeFile(join(folder, 'm', 'config.pbtxt'), `${model.config} ${advice[3] ?? ''}`);
      await load();
      await writeFile(join(folder, 'm', 'config.pbtxt'), model.config);
      await rename(join(folder, 'm', '1', name), join(folder, 'm', '1', renamed));
      await load();
    });
  }
});

test('an ES module that is read as CommonJS is told from other faults', async (t) => {
  for (const text of ['export default {};', "import 'node:fs';"]) {
    const versions = { '1': { 'model.js': text, 'package.json': '{ "type": "commonjs" }' } };
    const { message } = await rejection(
      serve(t, { m: { config: `backend: "javascript" ${config}`, versions } }),
    );
    assert.match(
      message,
      /\. The "type" of a package\.json .* name it model\.mjs, or write "type": "module" there/,
    );
  }
});

test('a file that a model loads, and that is read as CommonJS, is named itself', async (t) => {
  const load = async (files: Readonly<Record<string, string>>): Promise<string> => {
    const versions = { '1': { 'package.json': '{ "type": "commonjs" }', ...files } };
    const model = { config: `backend: "javascript" ${config}`, versions };
    return (await rejection(serve(t, { m: model }))).message;
  };
  const text = 'export const a = 1;';
  const [required, imported] = [
    { 'model.js': "require('./part.js');" },
    { 'model.mjs': "import './part.js';" },
  ];
  // Node 20 rejects twice with the error of an imported file, and the second rejection came first at times.
  for (const model of [required, ...Array.from({ length: 20 }, () => imported)]) {
    assert.match(
      await load({ ...model, 'part.js': text }),
      /\(at \S+\/part\.js:1\)\. The "type" of a package\.json above it makes part\.js CommonJS: name it part\.mjs also where it is loaded, or write "type": "module" there/,
    );
  }
  assert.match(
    await load({ 'model.js': "require('./part.cjs');", 'part.cjs': text }),
    /\(at \S+\/part\.cjs:1\)\. Its name makes part\.cjs CommonJS: name it part\.mjs also where it is loaded/,
  );
  assert.match(
    await load({ 'model.cjs': text }),
    /\(at \S+\/model\.cjs:1\)\. Its name makes the file CommonJS: name it model\.mjs(?! also)/,
  );
  // Node reads this one as an ES module.
  assert.doesNotMatch(
    await load({ 'model.js': 'const x = () => { export };', 'package.json': '{ "type": "module" }' }),
    /CommonJS/,
  );
});

test("what cannot be parsed of a model's code has its place", async (t) => {
  for (const [file, text, place] of [
    ['model.mjs', 'const x = ];', /\(in (\S+), or a file that it imports: node --check \1 shows the line\)/],
    ['model.cjs', '\nconst x = ];', /\(at \S+\/model\.cjs:2\)/],
    ['model.mjs', "\nimport { nothing } from 'node:fs';", /\(at file:\S+\/model\.mjs:2\)/],
  ] as const) {
    const model = { config: `backend: "javascript" ${config}`, versions: { '1': { [file]: text } } };
    const { message } = await rejection(serve(t, { m: model }));
    assert.match(message, place);
  }
});

void suite('a file of another framework, or of another name, is named as what it is', () => {
  for (const [name, message] of [
    ['model.pkl', /model\.pkl is a pickle of Python's: export the model to ONNX/],
    ['model.joblib', /is a pickle of Python's/],
    ['model.safetensors', /model\.safetensors has weights and no graph: export the model to ONNX/],
    ['pytorch_model.bin', /has PyTorch's weights: export/],
    ['model.pth', /has PyTorch's weights: export/],
    ['model.h5', /is a model of Keras: export/],
    ['model.keras', /is a model of Keras: export/],
    ['model.tflite', /is a model of TensorFlow Lite: export/],
    ['saved_model.pb', /is a part of a SavedModel of TensorFlow: make the folder model\.savedmodel/],
    ['frozen.pb', /is a graph of TensorFlow: .* name it model\.graphdef/],
    ['model.gguf', /is a model of llama\.cpp/],
    ['model.onnx.gz', /is an archive: unpack it/],
    ['model.onnx.part', /is a download that did not end/],
    ['model.onnx.data', /has weights of an ONNX model, whose own file is missing/],
    ['model.onnx_data', /has weights of an ONNX model, whose own file is missing/],
    ['model.onnx.txt', /Rename 'model\.onnx\.txt' to model\.onnx$/],
    ['model.onnx ', /Rename 'model\.onnx ' to model\.onnx$/],
    ['MODEL.ONNX', /Rename MODEL\.ONNX to model\.onnx/],
    [
      'saved_model/saved_model.pb',
      /If 'saved_model' is a SavedModel of TensorFlow, rename it to model\.savedmodel/,
    ],
    ['v1/model.onnx', /A version's folder holds the model's file itself/],
  ] as const) {
    test(name, async (t) => {
      const folder = await writeRepository(await temporaryFolder(t), {
        m: { versions: { '1': { [name]: addModel() } } },
      });
      const server = await start(t, folder, explicit);
      assert.match((await rejection(server.loadModel('m'))).message, message);
      const files = { [`1/${name}`]: addModel() };
      assert.match((await rejection(server.loadModel('given', { config: {}, files }))).message, message);
      await rm(join(folder, 'm', '1'), { recursive: true });
      await writeRepository(folder, { m: { versions: { '1': addModel() } } });
      await server.loadModel('m');
    });
  }

  for (const [version, right] of [
    ['v1', '1'],
    ['v007', '7'],
    ['version2', '2'],
    ['3.0', '3'],
    ['1 ', '1'],
    ['latest', '1'],
    ['9223372036854775808', '1'],
  ] as const) {
    test(`the version folder ${JSON.stringify(version)}`, async (t) => {
      const folder = await writeRepository(await temporaryFolder(t), {
        m: { versions: { [version]: addModel() } },
      });
      const server = await start(t, folder, explicit);
      const { message } = await rejection(server.loadModel('m'));
      const [, from, to] = /\. Rename '?(.*?)'? to (\d+)$/.exec(message) ?? [];
      assert.deepEqual([from, to], [version, right], message);
      await rename(join(folder, 'm', version), join(folder, 'm', right));
      await server.loadModel('m');
    });
  }
});
