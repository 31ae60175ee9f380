/** What hangs in one poll holds up nothing else: repositories, models' folders, loads. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { registerRepositoryAgent, type Logger, type ServerOptions } from '../../../src/index.js';
import { configText, onnx, until, type Context } from '../../support/harness.js';
import { addModel } from '../../support/models.js';
import { MapSource } from '../sources/map-source.js';
import { gate, serve } from '../sources/serve.js';
import { addend, polled, reasonOf, short } from './harness.js';

/** A repository with models of these names that add a number. */
function addModels(place: string, n: number, ...names: string[]): MapSource {
  const files = names.flatMap((name) => [
    [`${name}/config.pbtxt`, configText()],
    [`${name}/1/model.onnx`, addModel({ addend: n })],
  ]);
  const source = new MapSource(Object.fromEntries(files) as Record<string, string | Uint8Array>);
  source.place = place;
  return source;
}

const silent: Logger = { error: () => undefined, warn: () => undefined };
const polling: Partial<ServerOptions> = { modelControlMode: 'poll', repositoryPollMs: 0, logger: silent };

/** A promise of the test keeps no process alive, other than a folder that hangs. */
function stayAlive(t: Context): void {
  const timer = setInterval(() => undefined, 1000);
  t.after(() => {
    clearInterval(timer);
    return Promise.resolve();
  });
}

/** How long something takes, in milliseconds. */
async function timeOf(what: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await what();
  return performance.now() - begun;
}

// The polls wait for ten seconds: the tests wait at the same time.
void suite('what hangs', { concurrency: true, timeout: 60_000 }, () => {
  test('is a repository: the models of others are loaded, and its own are served', async (t) => {
    const [first, second] = [addModels('map://first', 1, 'a'), addModels('map://second', 1, 'b')];
    const server = await serve(t, [first, second], polling);
    const hanging = gate();
    first.waits.set('list', hanging.promise);
    second.write('b/1/model.onnx', addModel({ addend: 2 }));
    const result = await server.rescan();
    assert.equal(short(result), '?b');
    assert.match(
      result.unlisted[0]?.error.message ?? '',
      /'map:.*first' cannot be listed: it has not answered for 10 s/,
    );
    const ms = await timeOf(async () => {
      const next = await server.rescan();
      assert.deepEqual([short(next), next.unlisted.length], ['~b:1-1', 1]);
    });
    assert.ok(ms < 5000, `later polls wait no more: ${ms} ms`);
    assert.deepEqual([await addend(server, 'a'), await addend(server, 'b')], [1, 2]);
    // A thread of the process may hang with each listing.
    assert.equal(first.calls.filter((call) => call === 'list').length, 2);
    hanging.open();
    first.waits.clear();
    first.write('a/1/model.onnx', addModel({ addend: 3 }));
    await server.rescan();
    const after = await server.rescan();
    assert.deepEqual([short(after), after.unlisted, await addend(server, 'a')], ['~a:1-1', [], 3]);
  });

  test('is a repository: loads that come meanwhile share one listing of it', async (t) => {
    const [first, second] = [addModels('map://dead', 1, 'a'), addModels('map://alive', 1, 'b')];
    const server = await serve(t, [first, second], {
      modelControlMode: 'explicit',
      loadModels: ['a', 'b'],
      logger: silent,
    });
    const listings = (): number => first.calls.filter((call) => call === 'list').length;
    const before = listings();
    const hanging = gate();
    first.waits.set('list', hanging.promise);
    await Promise.all(Array.from({ length: 6 }, () => server.loadModel('b', { force: true })));
    assert.equal(listings() - before, 1, 'each would take a thread');
    hanging.open();
    await until(() => listings() - before === 2);
    first.waits.clear();
    await server.loadModel('a', { force: true });
  });

  test('are many folders of one repository: the poll waits once', async (t) => {
    const names = Array.from({ length: 40 }, (_, i) => `m${i}`);
    const source = addModels('map://many', 1, ...names);
    const server = await serve(t, source, polling);
    const hanging = gate();
    source.waits.set('stamp', hanging.promise);
    const ms = await timeOf(() => server.rescan());
    assert.ok(ms < 15_000, `${ms} ms`);
    hanging.open();
    source.waits.clear();
  });

  test("is a model's folder: the others of its repository are loaded, and it is served", async (t) => {
    const source = addModels('map://bucket', 1, 'a', 'b');
    const server = await serve(t, source, polling);
    const hanging = gate();
    source.waits.set('stamp a', hanging.promise);
    source.write('b/1/model.onnx', addModel({ addend: 2 }));
    assert.equal(short(await server.rescan()), '?a ?b');
    const ms = await timeOf(async () => {
      assert.equal(short(await server.rescan()), '~b:1-1 ?a');
    });
    assert.ok(ms < 5000, `later polls wait no more: ${ms} ms`);
    assert.deepEqual([await addend(server, 'a'), await addend(server, 'b')], [1, 2]);
    assert.equal(source.calls.filter((call) => call === 'stamp a').length, 1);
    hanging.open();
    source.waits.clear();
    let done = '';
    for (let poll = 0; poll < 4 && done === ''; poll++) done = short(await server.rescan()).replace('?a', '');
    // In this source all stamps are one.
    assert.equal(done, '~a:1-1');
  });

  test("is an agent's load: other models are loaded by the polls of a timer", async (t) => {
    const hanging = gate();
    let loads = 0;
    registerRepositoryAgent('hanging', { load: () => (++loads > 1 ? hanging.promise : undefined) });
    const more = 'model_repository_agents { agents [ { name: "hanging" } ] }';
    const models = { m: onnx(addModel(), { more }), n: onnx(addModel()) };
    const { server, folder } = await polled(t, models, { repositoryPollMs: 50, logger: silent });
    await writeFile(join(folder, 'm', '1', 'model.onnx'), addModel({ addend: 2 }));
    await until(() => loads === 2);
    for (const n of [3, 4]) {
      await writeFile(join(folder, 'n', '1', 'model.onnx'), addModel({ addend: n }));
      for (let waited = 0; (await addend(server, 'n')) !== n; waited++) {
        assert.ok(waited < 300, `version ${n} is not served`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
    assert.equal(short(await server.rescan()), '?m');
    assert.equal(await addend(server, 'm'), 1);
    hanging.open();
    for (let waited = 0; (await addend(server, 'm')) !== 2; waited++) {
      assert.ok(waited < 100, 'it is not served');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.equal(reasonOf(server, 'm'), undefined);
  });

  test('is a load that rescan() has begun: that call waits for it, and others do not', async (t) => {
    stayAlive(t);
    const source = addModels('map://bucket', 1, 'a', 'b');
    const server = await serve(t, source, polling);
    const hanging = gate();
    source.waits.set('materialise a 1', hanging.promise);
    source.write('a/1/model.onnx', addModel({ addend: 2 }));
    await server.rescan();
    const asked = server.rescan();
    await until(() => source.calls.filter((call) => call === 'materialise a 1').length === 2);
    const others = await server.rescan();
    assert.equal(short(others), '?a');
    source.write('b/1/model.onnx', addModel({ addend: 3 }));
    await server.rescan();
    assert.equal(short(await server.rescan()), '~b:1-1 ?a');
    hanging.open();
    assert.equal(short(await asked), '~a:1-1 ~b:1-1');
    assert.deepEqual([await addend(server, 'a'), await addend(server, 'b')], [2, 3]);
  });
});

test('a call of loadModel begins no second listing of a repository that hangs', async (t) => {
  stayAlive(t);
  const [first, second] = [addModels('map://first', 1, 'a'), addModels('map://second', 1, 'b')];
  const server = await serve(t, [first, second]);
  const hanging = gate();
  first.waits.set('list', hanging.promise);
  for (let load = 0; load < 3; load++) await server.loadModel('b', { force: true });
  assert.equal(first.calls.filter((call) => call === 'list').length, 2);
  hanging.open();
  first.waits.clear();
  await server.loadModel('a');
  assert.equal(await addend(server, 'a'), 1);
});
