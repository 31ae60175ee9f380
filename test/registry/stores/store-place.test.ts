/** Addresses of repositories in stores, and the credentials for them. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { credentialsFor } from '../../../src/registry/sources/store/credentials.js';
import { readStorePlace } from '../../../src/registry/sources/store/store-place.js';
import { resolveOptions } from '../../../src/resolve-options.js';
import { rejection, thrown } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';

const read = (text: string): unknown[] => {
  const { url, endpoint, account, bucket, prefix } = readStorePlace(text, 'here');
  return [url, endpoint, account, bucket, prefix];
};

test('addresses are read as Triton does, and endpoints of Azure in the same way', () => {
  const none = undefined;
  assert.deepEqual(read('s3://bucket'), ['s3://bucket', none, none, 'bucket', '']);
  assert.deepEqual(read('S3://bucket//a///b/'), ['s3://bucket/a/b', none, none, 'bucket', 'a/b/']);
  assert.deepEqual(read('s3://host:9000/bucket/a'), [
    's3://host:9000/bucket/a',
    'http://host:9000',
    none,
    'bucket',
    'a/',
  ]);
  const secure = 's3://https://host:9000/bucket';
  assert.deepEqual(read(secure), [secure, 'https://host:9000', none, 'bucket', '']);
  const six = 's3://http://[::1]:9000/bucket';
  assert.deepEqual(read(six), ['s3://[::1]:9000/bucket', 'http://[::1]:9000', none, 'bucket', '']);
  assert.deepEqual(read('gs://bucket/größe a'), ['gs://bucket/größe a', none, none, 'bucket', 'größe a/']);
  assert.deepEqual(read('as://me/box/a'), ['as://me/box/a', none, 'me', 'box', 'a/']);
  const host = 'as://me.blob.core.windows.net/box';
  assert.deepEqual(read(host), [host, 'https://me.blob.core.windows.net', 'me', 'box', '']);
  const local = 'as://http://127.0.0.1:10000/devstoreaccount1/box/a';
  assert.deepEqual(read(local), [
    'as://127.0.0.1:10000/devstoreaccount1/box/a',
    'http://127.0.0.1:10000/devstoreaccount1',
    'devstoreaccount1',
    'box',
    'a/',
  ]);
});

test('an address in another form is the same place', () => {
  for (const text of [
    's3://http://Host:9000//bucket/a/',
    'S3://host:9000/bucket/a',
    's3://HTTP://HOST:9000/bucket/a',
  ])
    assert.equal(readStorePlace(text, 'here').url, 's3://host:9000/bucket/a');
  const { url, endpoint } = readStorePlace('as://me.blob.core.windows.net:443/box', 'here');
  assert.deepEqual(
    [url, endpoint],
    ['as://me.blob.core.windows.net:443/box', 'https://me.blob.core.windows.net'],
  );
  const urls = ['s3://http://host:9000/bucket/a', 's3://https://host:9000/bucket/a'];
  const { repositories } = resolveOptions({ modelRepository: urls.map((text) => new URL(text)) });
  assert.deepEqual(repositories, ['s3://host:9000/bucket/a', 's3://https://host:9000/bucket/a']);
});

test('other addresses are refused with the form that was expected, and no secret is repeated', () => {
  for (const text of [
    's3://',
    's3://https://host/bucket',
    's3://host:1',
    'as://me',
    's3://b/../c',
    's3://b/a\\b',
    's3://b c/d',
  ]) {
    assert.match(
      thrown(() => read(text)).message,
      /^expected (s3|as):\/\/<.*> for here but received '/,
      text,
    );
  }
  for (const text of ['s3://id:hidden@host:1/bucket', 'as://me/box?sig=hidden']) {
    const { message } = thrown(() => read(text));
    assert.match(message, /credentials come from the environment/);
    assert.ok(!message.includes('hidden'));
  }
  for (const text of [
    'az://me/box?sig=hidden',
    'https://id:hidden@host/bucket',
    's3:/id:hidden@host/bucket',
    's3://id:hidden%40host/bucket',
    's3://host:1/id:hidden/models',
    'as://AccountKey=hidden;x/box',
    'as://host:1/AccountKey=hidden/box',
  ]) {
    for (const modelRepository of [text, ...(URL.canParse(text) ? [new URL(text)] : [])]) {
      const { code, message } = thrown(() => resolveOptions({ modelRepository }));
      assert.equal(code, 'INVALID_ARG');
      assert.match(message, /is not shown here, because a part of it may be secret$|credentials come from/);
      assert.ok(!message.includes('hidden'));
    }
  }
});

test('options take addresses beside folders', () => {
  const { repositories, repositoryCacheDirectory, repositoryCacheBytes } = resolveOptions(
    {
      modelRepository: ['models', 's3://b//m/', new URL('gs://b/größe'), 's3://b/m'],
      repositoryCacheDirectory: 'cache',
      repositoryCacheBytes: 5,
    },
    '/base',
  );
  assert.deepEqual(repositories, [resolve('/base', 'models'), 's3://b/m', 'gs://b/größe']);
  assert.deepEqual([repositoryCacheDirectory, repositoryCacheBytes], [resolve('/base', 'cache'), 5]);
  const other = thrown(() => resolveOptions({ modelRepository: 'http://b/m' }));
  assert.match(
    other.message,
    /begins with s3:\/\/, gs:\/\/ or as:\/\/, for options\.modelRepository but received/,
  );
});

test('credentials are those of the environment, or only those of the file', async (t) => {
  const s3 = readStorePlace('s3://bucket/deep/er', '');
  const env = { AWS_ACCESS_KEY_ID: 'id', AWS_REGION: 'second', AWS_SESSION_TOKEN: '' };
  const own = await credentialsFor(s3, env);
  assert.deepEqual(
    ['key_id', 'region', 'session_token', 'profile'].map((field) => own.get(field)),
    ['id', 'second', undefined, undefined],
  );
  assert.equal((await credentialsFor(s3, { ...env, AWS_DEFAULT_REGION: 'first' })).get('region'), 'first');
  const file = join(await temporaryFolder(t), 'credentials.json');
  const withFile = { ...env, TRITON_CLOUD_CREDENTIAL_PATH: file };
  assert.equal((await rejection(credentialsFor(s3, withFile))).code, 'NOT_FOUND');
  const entries = {
    s3: { '': { key_id: 'any' }, 's3://bucket/de': { key_id: 'longest', region: '' }, 's3://bucket': {} },
    gs: { 'gs://bucket': '/key.json' },
    as: { '': { account_str: ' me\n' }, 'as://number/': { account_key: 3 } },
  };
  await writeFile(file, JSON.stringify(entries));
  const found = await credentialsFor(s3, withFile);
  assert.deepEqual([found.get('key_id'), found.get('region'), found.isOfFile], ['longest', undefined, true]);
  assert.match(found.from, /^the entry "s3:\/\/bucket\/de" of "s3" in '/);
  assert.equal((await credentialsFor(readStorePlace('gs://bucket', ''), withFile)).get('file'), '/key.json');
  const azure = await credentialsFor(readStorePlace('as://me/box', ''), withFile);
  assert.deepEqual([azure.get('account_str'), azure.get('account_key')], ['me', undefined]);
  const number = await credentialsFor(readStorePlace('as://number/box', ''), withFile);
  assert.match(
    thrown(() => number.get('account_key')).message,
    /expected a text as "account_key" in .* but received number/,
  );
  const lacking = await rejection(credentialsFor(readStorePlace('gs://other', ''), withFile));
  assert.equal(lacking.code, 'NOT_FOUND');
  await writeFile(file, '{"s3":{"":"text"}}');
  assert.equal((await rejection(credentialsFor(s3, withFile))).code, 'INVALID_ARG');
});
