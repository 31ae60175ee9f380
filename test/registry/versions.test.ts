import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NativeBytes } from '../../src/addon/native/folder.js';
import { versionFiles } from '../../src/registry/loading/override.js';
import { chooseVersions } from '../../src/registry/loading/versions.js';
import { MemorySource } from '../../src/registry/sources/memory-source.js';
import { parse, whole } from '../config/helpers.js';
import { thrown } from '../support/harness.js';

function choose(policy: string, existing: readonly number[]): number[] {
  const text = `name: "m"\n${policy}`;
  return chooseVersions(whole(text), parse(text), existing);
}

test('without a policy the newest version is served', () => {
  assert.deepEqual(choose('', [1, 3, 2]), [3]);
});

test('numbers are compared as numbers', () => {
  assert.deepEqual(choose('', [9, 10, 2]), [10]);
});

test('latest serves as many as it says, or as there are', () => {
  assert.deepEqual(choose('version_policy { latest { num_versions: 2 } }', [1, 5, 3]), [3, 5]);
  assert.deepEqual(choose('version_policy { latest { num_versions: 9 } }', [1, 5]), [1, 5]);
});

test('all serves every version, and so does an empty policy', () => {
  assert.deepEqual(choose('version_policy { all { } }', [2, 1]), [1, 2]);
  assert.deepEqual(choose('version_policy { }', [2, 1]), [1, 2]);
});

test('specific serves the listed versions that exist', () => {
  assert.deepEqual(choose('version_policy { specific { versions: [ 4, 1, 7 ] } }', [1, 2, 4]), [1, 4]);
});

test('versions that are listed but missing altogether are an error that names both sides', () => {
  const error = thrown(() => choose('version_policy { specific { versions: [ 7 ] } }', [1, 2]));
  assert.equal(error.code, 'INVALID_ARG');
  assert.equal(error.model, 'm');
  assert.match(error.message, /specific \{ versions: \[7\] \}, but there are only versions 1, 2/);
  assert.deepEqual(error.location, { file: 'config.pbtxt', line: 2, field: 'version_policy' });
});

test('the message about a model without a version folder explains what one is', () => {
  const error = thrown(() => choose('', []));
  assert.match(error.message, /there is no version folder \(a version is a folder with a number as its name/);
});

test('given files have versions as folders have: numbers that are exact', async () => {
  const paths = ['2/model.onnx', '10/model.onnx', '9007199254740993/model.onnx', '01/model.onnx'];
  const files = new Map(paths.map((path) => [path, {} as NativeBytes]));
  assert.deepEqual((await new MemorySource('m', files).read()).versions, [2, 10]);
});

test('the files of many versions are grouped once', () => {
  const count = 2000;
  const files = new Map<string, NativeBytes>();
  for (let version = 1; version <= count; version++) {
    for (const name of ['a', 'b/c']) files.set(`${version}/${name}`, {} as NativeBytes);
  }
  files.set('labels.txt', {} as NativeBytes);
  let passes = 0;
  const all = files[Symbol.iterator].bind(files);
  files[Symbol.iterator] = () => {
    passes++;
    return all();
  };
  for (let version = 1; version <= count; version++) {
    assert.deepEqual(Object.keys(versionFiles(files, version)), ['a', 'b/c']);
  }
  assert.equal(passes, 1);
});
