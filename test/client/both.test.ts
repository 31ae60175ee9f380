/** Clients over both protocols have the interface of a server in the same process. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { connectServer, type RemoteServer } from '../../src/client/index.js';
import type { InferenceServer, TritonError } from '../../src/index.js';
import type { ModelRequest } from '../../src/javascript/index.js';
import { script } from '../javascript/harness.js';
import { certificate } from '../support/certificate.js';
import { floats, identity, onnx, rejection, row, serve } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { addressOf, connected, connectedTo, protocols } from './harness.js';

for (const protocol of protocols) {
  const both = connectedTo(protocol);

  test(`a result is that of the own process, but for its timings: ${protocol}`, async (t) => {
    const { own, remote } = await both(t, { add: onnx() });
    const model = await remote.model('add');
    const result = await model.infer(
      { x: row(1) },
      { id: 'a', parameters: { tenant: 'b', large: 2n ** 60n } },
    );
    const { timings: _timings, ...expected } = await own.infer('add', { x: row(1) }, { id: 'a' });
    // The outputs are objects of different classes.
    const plain = { ...result, outputs: { ...result.outputs } };
    assert.deepEqual(plain, { ...expected, outputs: { ...expected.outputs } });
    assert.deepEqual(floats(result), [...row(2)]);
    assert.deepEqual(
      (await remote.infer('add', { x: row(1) }, { version: 1 })).outputs['y'],
      expected.outputs['y'],
    );
  });

  test(`what the server says of itself is what it says in its own process: ${protocol}`, async (t) => {
    const { own, remote } = await both(t, { add: onnx(), same: identity() }, { id: 'shop' });
    assert.equal(await remote.ready, true);
    assert.deepEqual(await remote.index(), own.index());
    assert.deepEqual(await remote.index({ ready: true }), own.index({ ready: true }));
    const model = await remote.model('add');
    assert.equal(await model.ready, true);
    assert.deepEqual(await model.metadata, own.model('add').metadata);
    assert.deepEqual(await model.config, own.model('add').config);
    assert.equal((await remote.metadata()).name, 'shop');
    await model.infer({ x: row() });
    assert.equal((await model.statistics()).inference_count, 1);
    assert.deepEqual(
      (await remote.statistics()).map(({ name }) => name),
      ['add', 'same'],
    );
    assert.equal((await remote.statistics('add', 1))[0]?.execution_count, 1);
  });

  test(`an answer beyond maxResponseBytes is UNSUPPORTED, and the next call works: ${protocol}`, async (t) => {
    const { remote } = await both(
      t,
      { same: identity({ maxBatchSize: 512 }) },
      {},
      { maxResponseBytes: 8192 },
    );
    const error = await rejection(
      remote.infer('same', { x: { data: new Float32Array(512 * 16), shape: [512, 16] } }),
    );
    assert.equal(error.code, 'UNSUPPORTED');
    assert.equal(error.retryable, false);
    assert.match(error.message, /too large|bytes or more/);
    assert.match(error.message, /options\.maxResponseBytes/);
    assert.deepEqual(floats(await remote.infer('same', { x: row(1) })), [...row(1)]);
  });

  void suite(`errors have the code and the words that they have in the own process: ${protocol}`, () => {
    for (const [what, ask] of [
      ['another length', (server) => server.infer('add', { x: row(0, 15) })],
      ['a misspelt name', (server) => server.infer('add', { xx: row() })],
      ['another datatype', (server) => server.infer('add', { x: new Int32Array(16) })],
      ['an unknown output', (server) => server.infer('add', { x: row() }, { outputs: ['z'] })],
      ['a wrong id', (server) => server.infer('add', { x: row() }, { id: 'x'.repeat(5000) })],
      ['a reserved parameter', (server) => server.infer('add', { x: row() }, { parameters: { timeout: 1 } })],
      [
        'parameters in a Map',
        (server) => server.infer('add', { x: row() }, { parameters: new Map([['a', 1]]) as never }),
      ],
      [
        'a parameter with a zero character in its name',
        (server) => server.infer('add', { x: row() }, { parameters: { 'a\0b': 1 } }),
      ],
      [
        'arrays for outputs in a Map',
        (server) => server.infer('add', { x: row() }, { into: new Map() as object }),
      ],
      [
        'an unknown option',
        (server) => server.infer('add', { x: row() }, JSON.parse('{"outputz":[]}') as object),
      ],
      ['an unknown model', (server) => server.infer('addd', { x: row() })],
      ['an unknown version', (server) => server.infer('add', { x: row() }, { version: 7 })],
    ] as [string, (server: Pick<InferenceServer, 'infer'> | RemoteServer) => Promise<unknown>][]) {
      test(what, async (t) => {
        const { own, remote } = await both(t, { add: onnx() });
        const expected = await rejection(ask(own));
        const error = await rejection(ask(remote));
        assert.deepEqual(
          [error.code, error.message, error.model],
          [expected.code, expected.message, expected.model],
        );
      });
    }
  });

  test(`outputs are chosen, classified, and written to arrays of the caller: ${protocol}`, async (t) => {
    const { remote } = await both(t, { add: onnx() });
    const y = new Float32Array(16);
    const result = await remote.infer('add', { x: row() }, { into: { y } });
    assert.equal(result.outputs['y']?.data, y);
    assert.deepEqual(y, row(1));
    const [best] =
      (await remote.infer('add', { x: row() }, { outputs: [{ name: 'y', classification: 1 }] })).outputs[
        'y'
      ]?.strings() ?? [];
    assert.match(best ?? '', /^16\.0+:15$/);
    const { code } = await rejection(
      remote.infer('add', { x: row() }, { into: { y: new Float32Array(15) } }),
    );
    assert.equal(code, 'INVALID_ARG');
  });

  test(`map has its orders, its errors and its end, and stream its one result: ${protocol}`, async (t) => {
    const { remote } = await both(t, { add: onnx() });
    const model = await remote.model('add');
    const items = Array.from({ length: 200 }, (_, i) => ({ x: row(i) }));
    const sums: number[] = [];
    for await (const result of model.map(items, { concurrency: 7 })) sums.push(floats(result)[0] ?? NaN);
    assert.deepEqual(
      sums,
      items.map((_, i) => i + 1),
    );
    const failed: number[] = [];
    const bad = items.map((item, i) => (i % 50 === 3 ? { x: row(0, 3) } : item));
    for await (const { index, error } of model.map(bad, { onError: 'yield' })) if (error) failed.push(index);
    assert.deepEqual(failed, [3, 53, 103, 153]);
    for await (const _ of model.map(items)) break;
    const streamed: number[] = [];
    for await (const result of model.stream({ x: row(5) })) streamed.push(floats(result)[0] ?? NaN);
    assert.deepEqual(streamed, [6]);
  });

  test(`models are loaded and unloaded, and a handle follows: ${protocol}`, async (t) => {
    const { remote } = await both(t, { add: onnx(), other: identity() }, { modelControlMode: 'explicit' });
    const model = await remote.model('add');
    assert.equal(await model.ready, false);
    await remote.loadModel('add');
    assert.equal(await model.ready, true);
    assert.deepEqual((await model.infer({ x: row(0, 32) })).outputs['y']?.shape, [2, 16]);
    const { dynamic_batching: _batching, ...config } = await model.config;
    await remote.loadModel('add', { config: JSON.stringify({ ...config, max_batch_size: 1 }) });
    const error = await rejection(model.infer({ x: row(0, 32) }));
    assert.equal(error.code, 'INVALID_ARG');
    await remote.unloadModel('add');
    assert.equal((await rejection(model.infer({ x: row() }))).code, 'NOT_FOUND');
    assert.equal((await rejection(remote.model('nobody'))).code, 'NOT_FOUND');
    assert.equal((await rejection(remote.loadModel('nobody'))).code, 'NOT_FOUND');
    // A remote server cannot have a request as parent.
    const parent = {} as ModelRequest;
    assert.equal((await rejection(remote.loadModel('add', { parent }))).code, 'UNSUPPORTED');
    assert.equal((await rejection(remote.unloadModel('add', { parent }))).code, 'UNSUPPORTED');
  });

  test(`a load by force begins anew although nothing changed: ${protocol}`, async (t) => {
    const imported = join(await temporaryFolder(t), 'imported.json');
    const module = `import { readFileSync } from 'node:fs';
      const y = new Float32Array(16).fill(Number(readFileSync(${JSON.stringify(imported)}, 'utf8')));
      export default { execute: (requests) => requests.map(() => ({ y })) };`;
    await writeFile(imported, '1');
    const { remote } = await both(
      t,
      { m: script(module) },
      { modelControlMode: 'explicit', loadModels: ['m'] },
    );
    const y = async (): Promise<unknown> => floats(await remote.infer('m', { x: row() }))[0];
    assert.equal(await y(), 1);
    await writeFile(imported, '2');
    for (const options of [{}, { force: false }]) {
      await remote.loadModel('m', options);
      assert.equal(await y(), 1);
    }
    await remote.loadModel('m', { force: true });
    assert.equal(await y(), 2);
  });

  test(`a signal cancels with its reason, before and while: ${protocol}`, async (t) => {
    const { own, remote } = await both(t, { slow: identity({ delayMs: 300 }) });
    const model = await remote.model('slow');
    const reason = new Error('enough');
    const before = await rejection(model.infer({ x: row() }, { signal: AbortSignal.abort(reason) }));
    assert.deepEqual([before.code, before.cause], ['CANCELLED', reason]);
    const stop = new AbortController();
    const running = model.infer({ x: row() }, { signal: stop.signal });
    setImmediate(() => {
      stop.abort(reason);
    });
    const while_ = await rejection(running);
    assert.deepEqual([while_.code, while_.cause], ['CANCELLED', reason]);
    assert.equal(own.ready, true);
  });

  test(`close lets requests end, or cancels them; later calls are refused: ${protocol}`, async (t) => {
    const { remote } = await both(t, { slow: identity({ delayMs: 100 }) });
    const model = await remote.model('slow');
    const running = model.infer({ x: row() });
    await remote.close();
    assert.deepEqual(floats(await running), [...row()]);
    assert.equal((await rejection(model.infer({ x: row() }))).code, 'UNAVAILABLE');
    assert.equal(await remote.ready, false);
  });

  test(`many calls share a signal with one listener, and leave none: ${protocol}`, async (t) => {
    const { remote } = await both(t, { slow: identity({ delayMs: 50 }) });
    const model = await remote.model('slow');
    const { signal } = new AbortController();
    const running = Array.from({ length: 30 }, () => model.infer({ x: row() }, { signal }));
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    await Promise.all(running);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  test(`a connection leaves no listener at its signal, whether it was closed or never was: ${protocol}`, async (t) => {
    const { own } = await both(t, { m: identity() });
    const { signal } = new AbortController();
    const remote = await connected(t, await addressOf(t, protocol, own), { signal });
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    await remote.close();
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    // No server listens on port 1.
    const error = await rejection(connectServer(`${protocol}://127.0.0.1:1`, { signal, retries: 0 }));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  test(`TLS, with and without a certificate of the client: ${protocol}s`, async (t) => {
    const made = await certificate(t);
    if (made === undefined) return;
    const { key, cert } = made;
    const own = await serve(t, { add: onnx() });
    // The certificate is for localhost, and the address has a number.
    const known = { ca: cert, servername: 'localhost' };
    const plain = await addressOf(t, protocol, own, { tls: { key, cert } });
    const remote = await connected(t, plain, { tls: known });
    assert.deepEqual(floats(await remote.infer('add', { x: row(1) })), [...row(2)]);
    const asked = (url: string, tls: object): Promise<TritonError> =>
      rejection(connectServer(url, { tls, retries: 0 }));
    // No CA that the client trusts has signed the certificate.
    assert.equal((await asked(plain, { servername: 'localhost' })).code, 'UNAVAILABLE');
    assert.equal((await asked(plain, { ca: cert, servername: 'example.com' })).code, 'UNAVAILABLE');

    const both = { key, cert, ca: cert, requestCert: true, rejectUnauthorized: true };
    const mutual = await addressOf(t, protocol, own, { tls: both });
    const member = await connected(t, mutual, { tls: { ...known, key, cert } });
    assert.deepEqual(floats(await member.infer('add', { x: row(3) })), [...row(4)]);
    assert.equal((await asked(mutual, known)).code, 'UNAVAILABLE');
  });
}
