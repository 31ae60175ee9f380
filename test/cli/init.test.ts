import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { digitsProgram } from '../../src/cli/init.js';
import { linkPackages, root } from '../support/project.js';
import { temporaryFolder } from '../support/repository.js';
import { command, tritonts } from './run.js';

const source = join(root, 'examples', 'digits', 'models', 'digits');
const files = ['config.pbtxt', join('1', 'model.onnx')];
const run = promisify(execFile);

test('init copies the model into a repository; the program that it prints tells the digit', async (t) => {
  const folder = await temporaryFolder(t);
  // The program must escape quotes of both kinds.
  const repository = join(folder, `a "good" child's`, 'models');
  const { code, stdout, stderr } = await tritonts('init', 'digits', repository);
  assert.deepEqual([code, stderr], [0, '']);
  const copied = await readdir(join(repository, 'digits'), { recursive: true });
  assert.deepEqual(copied.sort(), ['1', ...files].sort());
  for (const file of files)
    assert.deepEqual(await readFile(join(repository, 'digits', file)), await readFile(join(source, file)));

  const [, program = ''] = /^(import [^]*\.close\(\);\n)/m.exec(stdout) ?? [];
  assert.equal(program, digitsProgram(repository));
  await linkPackages(folder, 'onnxruntime-node');
  await writeFile(join(folder, 'digits.mjs'), program);
  const said = await run(process.execPath, ['digits.mjs'], { cwd: folder });
  assert.deepEqual(said, { stdout: 'The image shows a 7\n', stderr: '' });
});

test('init leaves a model that is there as it is, and adds to a repository that has others', async (t) => {
  const repository = await temporaryFolder(t);
  await mkdir(join(repository, 'digits'));
  const { code, stdout, stderr } = await command(t, 'init', 'digits', repository);
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(
    stderr,
    /^tritonts: ALREADY_EXISTS: '.*digits' is there already; it was left as it is; --name gives the new model another name\n$/,
  );
  assert.deepEqual(await readdir(join(repository, 'digits')), []);

  const another = await temporaryFolder(t);
  await mkdir(join(another, 'others'));
  assert.equal((await command(t, 'init', 'digits', another)).code, 0);
  assert.deepEqual((await readdir(another)).sort(), ['digits', 'others']);
});

test('a wrong command line is reported; exit code 2', async (t) => {
  for (const [args, message] of [
    [[], /init needs a model's file, or the name of an example/],
    [['dogs'], /expected the example digits, or a file that ends in \.onnx, .* but received 'dogs'\n/],
    [['digits', '--labels', 'x'], /--name and --labels go with a file/],
    [['digits', 'a', '--repository', 'b'], /init takes one repository, but received 'a' too/],
    [['my.h5'], /\.onnx, .* but received 'my\.h5'\n/],
    [['nowhere.onnx'], /NOT_FOUND: there is no file 'nowhere\.onnx'/],
    [
      ['digits', 's3://bucket/models'],
      /expected a folder as the repository but received 's3:\/\/bucket\/models'/,
    ],
    [['my.onnx', '--repository', 'az://me?sig=hidden'], /but received one that is not shown here/],
    [['digits', 'a', 'b'], /init takes one repository, but received 'b' too/],
    [['digits', '--force'], /unknown option --force/],
  ] as const) {
    const { code, stdout, stderr } = await command(t, 'init', ...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, message);
  }
});

test('the package carries what init copies', async (t) => {
  // Without the rest of the package, which npm would compress.
  const folder = await temporaryFolder(t);
  for (const part of ['package.json', 'examples'])
    await cp(join(root, part), join(folder, part), { recursive: true });
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: folder });
  const [packed] = JSON.parse(stdout) as { files: { path: string }[] }[];
  const carried = packed?.files.map(({ path }) => path).filter((path) => path.startsWith('examples/'));
  assert.deepEqual(carried?.sort(), [
    'examples/digits/models/digits/1/model.onnx',
    'examples/digits/models/digits/config.pbtxt',
  ]);
});
