/** The agent `checksum`: digests of files in a model's configuration. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer } from '../../src/index.js';
import { checksum } from '../../src/registry/agents/checksum.js';
import { onnx, rejection, type Context } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const model = addModel();
const digest = (algorithm: string): string => createHash(algorithm).update(model).digest('hex');

/** The reason why a model with these parameters is not loaded; undefined if it is. */
async function reasonOf(
  t: Context,
  parameters: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const list = Object.entries(parameters).map(
    ([key, value]) => `parameters { key: "${key}" value: "${value}" }`,
  );
  const more = `model_repository_agents { agents [ { name: "checksum" ${list.join(' ')} } ] }`;
  const folder = await writeRepository(await temporaryFolder(t), { m: onnx(model, { more }) });
  await writeFile(join(folder, 'secret'), 'secret');
  const errors: string[] = [];
  const server = await createServer(folder, {
    exitOnError: false,
    logger: {
      error: (message, { error }) => {
        // The load and the agent tell of it.
        if (message.includes('checksum'))
          errors.push(String(error).replace('TritonError: ', '').replaceAll(folder, ''));
      },
    },
  });
  const isServed = server.index({ ready: true }).length === 1;
  await server.close();
  assert.equal(errors.length, isServed ? 0 : 1);
  return errors[0];
}

test('files with their digests are served, and others are not looked at', async (t) => {
  assert.equal(await reasonOf(t, {}), undefined);
  assert.equal(
    await reasonOf(t, {
      'MD5:1/model.onnx': digest('md5'),
      'sha256:1/model.onnx': digest('sha256').toUpperCase(),
      'Sha512:./1/../1/model.onnx': digest('sha512'),
    }),
    undefined,
  );
});

test('a file with another digest is refused', async (t) => {
  const wrong = '00'.repeat(16);
  assert.equal(
    await reasonOf(t, { 'md5:1/model.onnx': wrong }),
    `Mismatched MD5 hash for file ${join('/', 'm', '1', 'model.onnx')}, expect: ${wrong}, got: ${digest('md5')}`,
  );
  assert.equal(
    await reasonOf(t, { 'SHA256:1/model.onnx': digest('md5') }),
    `Mismatched SHA256 hash for file ${join('/', 'm', '1', 'model.onnx')}, expect: ${digest('md5')}, got: ${digest('sha256')}`,
  );
});

test('wrong keys are refused', async (t) => {
  assert.equal(await reasonOf(t, { '1/model.onnx': 'x' }), 'failed to parse key: 1/model.onnx');
  assert.equal(await reasonOf(t, { 'CRC32:1/model.onnx': 'x' }), 'Unsupported checksum algorithm: CRC32');
  for (const path of ['../secret', '/etc/passwd', '..', '', '1/../../secret']) {
    assert.equal(
      await reasonOf(t, { [`MD5:${path}`]: 'x' }),
      `expected a file in the model's folder for a checksum but received '${path}'`,
    );
  }
  for (const path of ['1/absent', '1', '.']) {
    assert.match((await reasonOf(t, { [`MD5:${path}`]: 'x' })) ?? '', /cannot be read for its checksum: /);
  }
});

test('models in an object store are refused', async () => {
  const context = {
    ...{ model: 'm', namespace: '', path: 's3://bucket/m', isRemote: true, config: {} },
    ...{ parameters: {}, state: undefined, signal: new AbortController().signal },
    temporaryFolder: () => Promise.reject(new Error('not asked for')),
  };
  const error = await rejection(Promise.resolve(checksum.load?.(context)));
  assert.equal(error.code, 'UNSUPPORTED');
});
