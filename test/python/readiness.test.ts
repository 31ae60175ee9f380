import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { floats, row, until } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { adds, recorded, script, serving, skip } from './harness.js';

test(
  'a model with is_ready says whether it is ready, over HTTP and to other models, too',
  { skip },
  async (t) => {
    const flag = join(await temporaryFolder(t), 'flag');
    const text = `def initialize(self, args):
    self.flag = json.loads(args["model_config"])["parameters"]["flag"]["string_value"]
${adds}
def is_ready(self):
    return os.path.exists(self.flag)`;
    const asks = `def execute(self, requests):
    assert not pb_utils.is_model_ready("nobody")
    ready = 1 if pb_utils.is_model_ready("flagged") else 0
    return [answer(array(request) * 0 + ready) for request in requests]`;
    const server = await serving(t, {
      flagged: script(text, { parameters: { flag } }),
      plain: script(adds),
      asks: script(asks),
    });
    const endpoint = await serveHttp(server, { port: 0 });
    const { host, port } = endpoint.address;
    t.after(() => endpoint.close());
    const status = async (): Promise<number> => {
      const response = await fetch(`http://${host}:${port}/v2/models/flagged/ready`);
      await response.arrayBuffer();
      return response.status;
    };
    const said = async (): Promise<number | undefined> => floats(await server.infer('asks', { x: row() }))[0];
    assert.equal(await server.model('plain').checkReady(), true);
    for (const ready of [false, true, false]) {
      if (ready) await writeFile(flag, '');
      else await rm(flag, { force: true });
      assert.equal(await server.model('flagged').checkReady(), ready);
      assert.equal(await server.model('flagged', 1).checkReady(), ready);
      assert.equal(await status(), ready ? 200 : 400);
      assert.equal(await said(), ready ? 1 : 0);
      // The model takes requests nevertheless.
      assert.equal(server.model('flagged').ready, true);
      assert.deepEqual(floats(await server.infer('flagged', { x: row() })), [...row(1)]);
    }
  },
);

test('is_ready may be async, in a decoupled model, too', { skip }, async (t) => {
  const ready = `async def is_ready(self):
    import asyncio
    await asyncio.sleep(0.001)
    self.asked = getattr(self, "asked", 0) + 1
    return self.asked > 1`;
  const stream = `async def execute(self, requests):
    for request in requests:
        request.get_response_sender().send(answer(array(request) + 1), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
${ready}`;
  const server = await serving(t, {
    whole: script(
      `async def execute(self, requests):\n    return [answer(array(r) + 1) for r in requests]\n${ready}`,
    ),
    stream: script(stream, { more: 'model_transaction_policy { decoupled: true }' }),
  });
  for (const name of ['whole', 'stream']) {
    const model = server.model(name);
    assert.equal(await model.checkReady(), false);
    for await (const result of model.stream({ x: row() })) assert.deepEqual(floats(result), [...row(1)]);
    assert.equal(await model.checkReady(), true);
  }
});

test(
  'a model whose is_ready raises or returns no bool is not ready, and the log says why',
  { skip },
  async (t) => {
    const { logger, lines } = recorded();
    const server = await serving(
      t,
      {
        raises: script(`${adds}\ndef is_ready(self):\n    raise ValueError("no connection")`),
        none: script(`${adds}\ndef is_ready(self):\n    return 1`),
      },
      { logger },
    );
    for (const name of ['raises', 'none']) {
      assert.equal(await server.model(name).checkReady(), false);
      assert.deepEqual(floats(await server.infer(name, { x: row() })), [...row(1)]);
    }
    const said = lines.join('\n');
    assert.match(said, /warn: model 'raises': is_ready failed: .*ValueError: no connection/);
    assert.match(
      said,
      /warn: model 'none': is_ready failed: .*expected is_ready\(\) to return a bool but it returned int/,
    );
  },
);

test(
  'checks that come while a model is being asked share its answer, and none waits for ever',
  { skip },
  async (t) => {
    const folder = await temporaryFolder(t);
    const text = `def initialize(self, args):
    self.folder = json.loads(args["model_config"])["parameters"]["folder"]["string_value"]
${adds}
def is_ready(self):
    print("asked")
    while not os.path.exists(os.path.join(self.folder, "go")):
        time.sleep(0.005)
    return True`;
    const { logger, lines } = recorded();
    const asked = (): number => lines.filter((line) => line.endsWith('asked')).length;
    const server = await serving(t, { slow: script(text, { parameters: { folder } }) }, { logger });
    const model = server.model('slow');
    // This check times out.
    assert.equal(await model.checkReady(), false);
    const checks = Array.from({ length: 5 }, () => model.checkReady());
    await writeFile(join(folder, 'go'), '');
    assert.deepEqual(await Promise.all(checks), [true, true, true, true, true]);
    assert.equal(asked(), 1);
    assert.equal(await model.checkReady(), true);
    await until(() => asked() === 2);
  },
);

test('a model whose process has ended is not ready until the next one serves', { skip }, async (t) => {
  const text = `def execute(self, requests):
    if array(requests[0])[0, 0] == 1:
        os._exit(1)
    return [answer(array(request) + 1) for request in requests]
def is_ready(self):
    if os.path.exists(self.flag):
        return True
    open(self.flag, "w").close()
    os._exit(1)
def initialize(self, args):
    self.flag = json.loads(args["model_config"])["parameters"]["flag"]["string_value"]`;
  const flag = join(await temporaryFolder(t), 'flag');
  const server = await serving(t, { ends: script(text, { parameters: { flag } }) });
  const model = server.model('ends');
  // The process ends during the check.
  assert.equal(await model.checkReady(), false);
  await until(() => model.checkReady());
  await assert.rejects(server.infer('ends', { x: row(1) }), { code: 'UNAVAILABLE' });
  await until(() => model.checkReady());
  assert.deepEqual(floats(await server.infer('ends', { x: row() })), [...row(1)]);
});
