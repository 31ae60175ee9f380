/** What stores answer that is wrong: a server of the test's own says it, since no real one can be made to. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { open, readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { RepositorySource } from '../../../src/registry/sources/repository-source.js';
import type { StoredObject } from '../../../src/registry/sources/store/object-store.js';
import { StoreAccess } from '../../../src/registry/sources/store/store-access.js';
import { sharedController } from '../../../src/signals.js';
import { readStorePlace } from '../../../src/registry/sources/store/store-place.js';
import { StoreSource } from '../../../src/registry/sources/store/store-source.js';
import { rejection, until } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';
import { setEnvironment } from '../../support/environment.js';
import { answering } from './answering.js';

const { signal } = sharedController();

/** A log in which nothing is to be written. */
function unexpected(text: string): never {
  assert.fail(text);
}

const accessOf = (address: string): StoreAccess => new StoreAccess(readStorePlace(address, 'here'));

test('what is no listing is no empty one', async (t) => {
  const part = '<ListBucketResult><IsTruncated>true</IsTruncated>';
  const answers = new Map([
    ['page', ['text/html', '<html><body>The service is under maintenance</body></html>']],
    ['nothing', ['application/xml', '']],
    ['part', ['application/xml', `${part}</ListBucketResult>`]],
    [
      'again',
      ['application/xml', `${part}<NextContinuationToken>x</NextContinuationToken></ListBucketResult>`],
    ],
    ['json', ['application/json', '"maintenance"']],
  ]);
  const port = await answering(t, ({ url = '' }, response) => {
    const [, [type = '', body] = []] = [...answers].find(([name]) => url.includes(name)) ?? [];
    response.writeHead(200, { 'content-type': type }).end(body);
  });
  setEnvironment(t, { STORAGE_EMULATOR_HOST: `http://127.0.0.1:${port}` });
  const expected = {
    's3://127.0.0.1:PORT/page': /an answer that is not a listing/,
    's3://127.0.0.1:PORT/nothing': /an answer that is not a listing/,
    's3://127.0.0.1:PORT/part': /a part of a listing that does not say where the next one begins/,
    's3://127.0.0.1:PORT/again': /the listing begins again and again/,
    'gs://page': /an answer that is not a listing/,
    'gs://json': /an answer that is not a listing/,
    'as://http://127.0.0.1:PORT/account/page': /an answer that is not a listing/,
    'as://http://127.0.0.1:PORT/account/nothing': /an answer that is not a listing/,
  };
  await Promise.all(
    Object.entries(expected).map(async ([address, text]) => {
      const access = accessOf(address.replace('PORT', String(port)));
      const { code, message } = await rejection(access.list('', false, undefined, signal));
      assert.match(message, text, address);
      assert.equal(code, 'UNAVAILABLE');
    }),
  );
});

test('an object that changes again and again leaves connections for others', async (t) => {
  const port = await answering(t, ({ url = '' }, response) => {
    const isChanged = url.includes('changed');
    const body = isChanged ? Buffer.alloc(300_000) : Buffer.from('hello');
    response.writeHead(200, { etag: isChanged ? '"other"' : '"x"', 'content-length': body.length }).end(body);
  });
  const access = accessOf(`s3://127.0.0.1:${port}/bucket`);
  const object = (key: string): StoredObject => ({ key, size: 5, stamp: '"x"' });
  for (let i = 0; i < 40; i++)
    assert.equal((await rejection(access.bytes(object('changed'), 'm', signal))).reason, 'NOT_READY');
  assert.equal(Buffer.from(await access.bytes(object('good'), 'm', signal)).toString(), 'hello');
});

test('any number of models that hang hold up no other', { timeout: 60_000 }, async (t) => {
  let hanging = 0;
  const port = await answering(t, ({ url = '' }, response) => {
    if (url.includes('hangs')) hanging++;
    else response.end('<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>');
  });
  const access = accessOf(`s3://127.0.0.1:${port}/bucket`);
  const stop = sharedController();
  const hang = Array.from({ length: 100 }, async (_, i) =>
    rejection(access.list('hangs/', true, `m${i}`, stop.signal)),
  );
  await until(() => hanging >= 32);
  const listed = await access.list('good/', true, 'good', signal);
  assert.deepEqual(listed, { objects: [], folders: [] });
  // None was given up for the others.
  assert.ok(hanging <= 100, `${hanging} requests`);
  stop.abort();
  for (const { code } of await Promise.all(hang)) assert.equal(code, 'CANCELLED');
});

test('a listing waits for no download', async (t) => {
  const begun: ServerResponse[] = [];
  let isSlow = true;
  const port = await answering(t, ({ url = '' }, response) => {
    if (url.includes('list-type')) {
      response.end('<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>');
      return;
    }
    response.writeHead(200, { etag: '"x"', 'content-length': 5 });
    if (isSlow) begun.push(response);
    else response.end('hello');
  });
  const access = accessOf(`s3://127.0.0.1:${port}/bucket`);
  const folder = await temporaryFolder(t);
  const downloads = Array.from({ length: 20 }, async (_, i) => {
    const file = await open(join(folder, String(i)), 'wx');
    try {
      const object = { key: String(i), size: 5, stamp: '"x"' };
      await access.download(object, file, 'm', signal, () => undefined);
    } finally {
      await file.close();
    }
  });
  await until(() => begun.length === 16);
  assert.deepEqual(await access.list('', false, undefined, signal), { objects: [], folders: [] });
  isSlow = false;
  for (const response of begun) response.end('hello');
  await Promise.all(downloads);
});

for (const [name, second] of [
  ['crc32', 'bytes=100-'],
  ['crc64nvme', ''],
] as const) {
  test(`a damaged part of a download that broke off is found by the checksum ${name} of an answer`, async (t) => {
    const content = Buffer.alloc(200, 'abc');
    const bad = Buffer.from(content);
    bad[10] = 0;
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(content));
    const ranges: string[] = [];
    const port = await answering(t, ({ method, headers: { range = '' } }, response) => {
      if (method === 'HEAD') {
        response.writeHead(200, { etag: '"of-parts-2"', 'content-length': content.length }).end();
        return;
      }
      ranges.push(range);
      const isFirst = ranges.length === 1;
      const from = Number(/\d+/.exec(range)?.[0] ?? 0);
      const whole = isFirst ? bad : content;
      // That of the other kind is not looked at before the end of the whole.
      const checksum = name === 'crc32' ? sum.toString('base64') : isFirst && 'AAAAAAAAAAA=';
      response.writeHead(range === '' ? 200 : 206, {
        etag: '"of-parts-2"',
        'content-length': whole.length - from,
        ...(checksum !== false && { [`x-amz-checksum-${name}`]: checksum }),
      });
      if (!isFirst) response.end(whole.subarray(from));
      else response.write(whole.subarray(0, 100), () => setTimeout(() => response.destroy(), 50));
    });
    const path = join(await temporaryFolder(t), 'file');
    const file = await open(path, 'wx');
    const object = { key: 'x', size: content.length, stamp: '"of-parts-2"' };
    try {
      await accessOf(`s3://127.0.0.1:${port}/bucket`).download(object, file, 'm', signal, () => undefined);
    } finally {
      await file.close();
    }
    assert.ok((await readFile(path)).equals(content));
    assert.equal(ranges[1], second);
  });
}

test('a model has the name that the program gives it, and the keys of its folder', async (t) => {
  const prefixes: string[] = [];
  const port = await answering(t, ({ url = '' }, response) => {
    const prefix = new URL(url, 'http://x').searchParams.get('prefix') ?? '';
    prefixes.push(prefix);
    const found =
      prefix === 'models/'
        ? '<CommonPrefixes><Prefix>models/folder/</Prefix></CommonPrefixes>'
        : '<Contents><Key>models/folder/1/x</Key><Size>5</Size><ETag>x</ETag></Contents>';
    response
      .writeHead(200, { 'content-type': 'application/xml' })
      .end(`<ListBucketResult><IsTruncated>false</IsTruncated>${found}</ListBucketResult>`);
  });
  const store = new StoreSource(readStorePlace(`s3://127.0.0.1:${port}/bucket/models`, 'here'), {
    repositoryCacheDirectory: await temporaryFolder(t),
    repositoryCacheBytes: 100,
    log: { error: unexpected, warn: unexpected, info: unexpected, verbose: unexpected },
  });
  const source = new RepositorySource(store, { namespace: undefined, models: new Map([['folder', 'mine']]) });
  const [model] = await source.list(signal);
  assert.ok(model);
  assert.equal(model.name, 'mine');
  assert.deepEqual((await source.read(model, signal)).versions, [1]);
  assert.deepEqual(prefixes, ['models/', 'models/folder/']);
});

test('beside a file with credentials the keys of the environment are not used, and one half of a pair is refused', async (t) => {
  const used: string[] = [];
  const port = await answering(t, ({ headers: { authorization = '' } }, response) => {
    used.push(authorization);
    response.writeHead(403).end();
  });
  const address = `s3://127.0.0.1:${port}/bucket`;
  const failure = async (): Promise<string> => {
    const { code, message } = await rejection(accessOf(address).list('', false, undefined, signal));
    return `${code}: ${message}`;
  };
  setEnvironment(t, { AWS_SECRET_ACCESS_KEY: undefined });
  const half = await failure();
  assert.match(half, /^INVALID_ARG: .* the environment has the id without the secret$/);
  const folder = await temporaryFolder(t);
  const file = join(folder, 'credentials.json');
  setEnvironment(t, {
    AWS_SECRET_ACCESS_KEY: 'a-secret',
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'none'),
    AWS_CONFIG_FILE: join(folder, 'none'),
    TRITON_CLOUD_CREDENTIAL_PATH: file,
  });
  await writeFile(file, '{"s3":{"":{"key_id":"mine","secretkey":"a-typo"}}}');
  assert.match(
    await failure(),
    /^INVALID_ARG: .* the entry "" of "s3" in '.*' has the id without the secret$/,
  );
  await writeFile(file, '{"s3":{"":{"region":"eu-central-1"}}}');
  assert.match(
    await failure(),
    /^INTERNAL: .*region eu-central-1, the client's default chain of credentials, as the entry .* has no key$/,
  );
  assert.equal(used.length, 0);
  // Keys of a profile are read again after a refusal.
  const profile = (key: string): string => `[mine]\naws_access_key_id=${key}\naws_secret_access_key=s\n`;
  setEnvironment(t, { AWS_SHARED_CREDENTIALS_FILE: join(folder, 'profiles') });
  await writeFile(file, '{"s3":{"":{"profile":"mine"}}}');
  await writeFile(join(folder, 'profiles'), profile('first'));
  const access = accessOf(address);
  await rejection(access.list('', false, undefined, signal));
  await writeFile(join(folder, 'profiles'), profile('second'));
  await rejection(access.list('', false, undefined, signal));
  assert.match(used.at(-1) ?? '', /Credential=second\//);
  const google = join(folder, 'google.json');
  setEnvironment(t, { TRITON_CLOUD_CREDENTIAL_PATH: undefined, GOOGLE_APPLICATION_CREDENTIALS: google });
  await writeFile(google, '{"private_key": hidden');
  const damaged = await rejection(accessOf('gs://bucket').list('', false, undefined, signal));
  assert.equal(damaged.code, 'INVALID_ARG');
  assert.match(damaged.message, /that GOOGLE_APPLICATION_CREDENTIALS names is no JSON: '/);
});
