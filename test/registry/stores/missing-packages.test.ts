/** A store whose package is not installed. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

test('without the package of a store the error says how to install it', async () => {
  const hook = `export async function resolve(name, context, next) {
    if (/^@(aws-sdk|google-cloud|azure)/.test(name))
      throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
    return next(name, context);
  }`;
  const code = `
    import { register } from 'node:module';
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));
    const { createServer } = await import(${JSON.stringify(new URL('../../../src/index.js', import.meta.url).href)});
    for (const place of ['s3://a/b', 'gs://a/b', 'as://a/b/c']) {
      const { code, reason, message } = await createServer(place).catch((one) => one);
      console.log(code, reason, message);
    }`;
  const args = ['--input-type=module', '-e', code];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  const line = (place: string, name: string): string =>
    `UNAVAILABLE MISSING model repository '${place}' needs the package ${name}, which cannot be imported (Cannot find package): npm install ${name}\n`;
  assert.equal(
    stdout,
    line('s3://a/b', '@aws-sdk/client-s3') +
      line('gs://a/b', '@google-cloud/storage') +
      line('as://a/b/c', '@azure/storage-blob'),
  );
});
