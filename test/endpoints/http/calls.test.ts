/** All calls but inference: paths, methods, health, metadata, configurations, statistics, the repository. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { addModel } from '../../support/models.js';
import { configText, identity, onnx, row, serve } from '../../support/harness.js';
import { ask, endpointOf, errorOf, json } from './harness.js';

const explicit = { modelControlMode: 'explicit', loadModels: ['echo'] } as const;

test('the server tells that it lives, is ready, and what it is', async (t) => {
  const server = await serve(t, { echo: identity() });
  const endpoint = await endpointOf(t, server);
  for (const path of ['/v2/health/live', '/v2/health/ready', '/v2/models/echo/ready']) {
    const { status, text } = await ask(endpoint, path);
    assert.deepEqual([path, status, text], [path, 200, '']);
  }
  const { version } = server.metadata();
  const extensions = [
    'classification',
    'sequence',
    'schedule_policy',
    'model_configuration',
    'system_shared_memory',
    'cuda_shared_memory',
    'binary_tensor_data',
    'parameters',
    'statistics',
    'trace',
  ];
  assert.deepEqual(json(await ask(endpoint, '/v2')), { name: 'tritonts', version, extensions });
});

test('a server that models can be loaded into says so', async (t) => {
  const endpoint = await endpointOf(t, await serve(t, { echo: identity() }, explicit));
  const { extensions } = json(await ask(endpoint, '/v2')) as { extensions: string[] };
  assert.deepEqual(extensions.slice(0, 4), [
    'classification',
    'sequence',
    'model_repository',
    'model_repository(unload_dependents)',
  ]);
});

test('a closed server answers 503, with the reason', async (t) => {
  const server = await serve(t, { echo: identity() });
  const endpoint = await endpointOf(t, server);
  await server.close();
  for (const path of ['/v2', '/v2/health/live', '/v2/health/ready', '/v2/models/echo', '/v2/models/stats']) {
    assert.match(errorOf(await ask(endpoint, path), 503), /closed/, path);
  }
  const body = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] }] };
  assert.match(errorOf(await ask(endpoint, '/v2/models/echo/infer', { body }), 503), /closed/);
});

test('models tell their metadata, configuration and statistics, with and without a version', async (t) => {
  const server = await serve(t, {
    add: {
      config: `${configText()}\nversion_policy { all {} }`,
      versions: { '1': addModel(), '3': addModel() },
    },
  });
  const endpoint = await endpointOf(t, server);
  const tensor = (name: string): object => ({ name, datatype: 'FP32', shape: [-1, 16] });
  for (const [path, versions] of [
    ['/v2/models/add', ['1', '3']],
    ['/v2/models/add/versions/1', ['1']],
    ['/v2/models/add/versions/03', ['3']],
    ['/v2/models/%61dd?x=1', ['1', '3']],
  ] as const) {
    assert.deepEqual(json(await ask(endpoint, path)), {
      name: 'add',
      versions,
      platform: 'onnxruntime_onnx',
      inputs: [tensor('x')],
      outputs: [tensor('y')],
    });
  }
  assert.deepEqual(
    json(await ask(endpoint, '/v2/models/add/config')),
    JSON.parse(JSON.stringify(server.model('add').config)),
  );
  await server.infer('add', { x: row() }, { version: 1 });
  const stats = async (path: string): Promise<Record<string, unknown>[]> =>
    (json(await ask(endpoint, path)) as { model_stats: Record<string, unknown>[] }).model_stats;
  assert.deepEqual(
    (await stats('/v2/models/stats')).map((one) => [one['name'], one['version'], one['inference_count']]),
    [
      ['add', '1', 1],
      ['add', '3', 0],
    ],
  );
  const [one = {}, ...rest] = await stats('/v2/models/add/versions/1/stats');
  assert.equal(rest.length, 0);
  assert.deepEqual(Object.keys(one), [
    'name',
    'version',
    'last_inference',
    'inference_count',
    'execution_count',
    'inference_stats',
    'response_stats',
    'batch_stats',
    'memory_usage',
  ]);
});

test('other paths are 404, other methods 405', async (t) => {
  const endpoint = await endpointOf(t, await serve(t, { echo: identity() }));
  for (const path of [
    '/',
    '/v3',
    '/v2/nothing',
    '/v2/models',
    '/v2/models/echo/nothing',
    '/v2/models/echo/versions/x',
    '/v2/models/echo/versions/1/nothing',
    '/v2/models/a/b/infer',
    '/v2/models/%zz',
    '/v2/models//infer',
    '/v2/../v2/models/echo',
  ]) {
    assert.equal(errorOf(await ask(endpoint, path), 404), 'Not Found', path);
  }
  for (const [method, path, allowed] of [
    ['POST', '/v2', 'GET'],
    ['DELETE', '/v2/models/echo', 'GET'],
    ['GET', '/v2/models/echo/infer', 'POST'],
    ['PUT', '/v2/models/echo/generate', 'POST'],
    ['GET', '/v2/repository/index', 'POST'],
  ] as const) {
    const answer = await ask(endpoint, path, { method });
    assert.equal(errorOf(answer, 405), 'Method Not Allowed');
    assert.equal(answer.headers.allow, allowed);
  }
});

test('names that are none are unknown models', async (t) => {
  const endpoint = await endpointOf(t, await serve(t, { echo: identity() }));
  for (const name of [
    'nobody',
    '..',
    '%2e%2e',
    '..%2f..',
    'a%2fb',
    '%00',
    '__proto__',
    'echo%20',
    'constructor',
  ]) {
    for (const path of ['', '/config', '/ready', '/versions/1']) {
      assert.match(errorOf(await ask(endpoint, `/v2/models/${name}${path}`), 404), /unknown model/);
    }
    assert.match(
      errorOf(await ask(endpoint, `/v2/models/${name}/infer`, { body: { inputs: [] } }), 404),
      /model/,
    );
    // Triton says INVALID_ARG here.
    errorOf(await ask(endpoint, `/v2/models/${name}/stats`), 400);
  }
  errorOf(await ask(endpoint, '/v2/models/echo/versions/9'), 404);
  errorOf(
    await ask(endpoint, '/v2/models/echo/versions/99999999999999999999/infer', { body: { inputs: [] } }),
    404,
  );
});

test('a model that is not ready is 400, and the server then, too', async (t) => {
  const broken = { config: configText(), versions: { '1': Buffer.from('no model') } };
  const endpoint = await endpointOf(t, await serve(t, { broken }, { exitOnError: false }));
  assert.equal(errorOf(await ask(endpoint, '/v2/models/broken/ready'), 400), 'Model version not ready');
  const { status, text } = await ask(endpoint, '/v2/health/ready');
  assert.deepEqual([status, text], [400, '']);
  errorOf(await ask(endpoint, '/v2/models/broken'), 503);
});

void suite('the repository', () => {
  const load = '/v2/repository/models/echo/load';
  const unload = '/v2/repository/models/echo/unload';

  test('the index lists models, or those that are ready', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { echo: identity(), other: identity() }, explicit));
    const echo = { name: 'echo', version: '1', state: 'READY' };
    for (const [path, body, expected] of [
      ['/v2/repository/index', '', [echo, { name: 'other' }]],
      ['/v2/repository/index', '{}', [echo, { name: 'other' }]],
      ['/v2/repository/any/index', { ready: false }, [echo, { name: 'other' }]],
      ['/v2/repository/index', { ready: true }, [echo]],
    ] as const) {
      assert.deepEqual(json(await ask(endpoint, path, { body })), expected);
    }
    errorOf(await ask(endpoint, '/v2/repository/index', { body: { ready: 1 } }), 400);
    errorOf(await ask(endpoint, '/v2/repository/index', { body: '[' }), 400);
  });

  test('models are unloaded and loaded', async (t) => {
    const server = await serve(t, { echo: identity() }, explicit);
    const endpoint = await endpointOf(t, server);
    for (const [path, body, ready] of [
      [load, '', true],
      [unload, '', false],
      [unload, { parameters: { unload_dependents: true } }, false],
      [load, '{}', true],
      [unload, '{', false],
      [load, { parameters: {} }, true],
      [unload, { parameters: { unload_dependents: 'x' } }, false],
    ] as const) {
      const { status, text } = await ask(endpoint, path, { body });
      assert.deepEqual([status, text], [200, '']);
      assert.equal(server.model('echo').ready, ready);
    }
    assert.equal((await ask(endpoint, '/v2/repository/models/nobody/unload', { body: '' })).status, 200);
  });

  test('a configuration and files replace those of the repository', async (t) => {
    const server = await serve(t, { echo: identity() }, explicit);
    const endpoint = await endpointOf(t, server);
    const { dynamic_batching: _batching, ...rest } = server.model('echo').config;
    const config = JSON.stringify({ ...rest, max_batch_size: 7 });
    assert.equal((await ask(endpoint, load, { body: { parameters: { config } } })).status, 200);
    assert.equal(server.model('echo').config.max_batch_size, 7);
    const parameters = {
      config: '{"backend":"onnxruntime"}',
      'file:1/model.onnx': Buffer.from(addModel()).toString('base64'),
    };
    assert.equal((await ask(endpoint, load, { body: { parameters } })).status, 200);
    assert.deepEqual(
      server.model('echo').metadata.outputs.map(({ name }) => name),
      ['y'],
    );
  });

  test('what cannot be loaded is told, and the old version goes on', async (t) => {
    const server = await serve(t, { echo: identity(), add: onnx() }, explicit);
    const endpoint = await endpointOf(t, server);
    const model = Buffer.from(addModel()).toString('base64');
    for (const [parameters, status, message] of [
      [{ config: '{"max_batch_size":"x"}' }, 400, /load failed for model 'echo'.*max_batch_size/],
      [{ config: 5 }, 400, /parameters\.config/],
      [{ 'file:1/model.onnx': model }, 400, /files need a configuration/],
      [{ config: '{}', 'file:../model.onnx': model }, 400, /a path inside of the model's folder/],
      [{ config: '{}', 'file:/etc/x': model }, 400, /a path inside of the model's folder/],
      [{ config: '{}', 'file:1/model.onnx': '!!' }, 400, /not base64/],
      [{ config: '{}', 'file:1/model.onnx': 7 }, 400, /a string/],
      [{ unknown: 'x' }, 400, /unexpected error on creating Triton parameter/],
      ['x', 400, /an object for 'parameters'/],
    ] as const) {
      assert.match(errorOf(await ask(endpoint, load, { body: { parameters } }), status), message);
      assert.ok(server.model('echo').ready);
    }
    const gone = await ask(endpoint, '/v2/repository/models/nobody/load', { body: '' });
    assert.match(errorOf(gone, 404), /failed to load 'nobody', failed to poll from model repository/);
    errorOf(await ask(endpoint, '/v2/repository/models/..%2fecho/load', { body: '' }), 400);
    const other = await ask(endpoint, '/v2/repository/mine/models/echo/load', { body: '' });
    assert.match(errorOf(other, 501), /'repository_name' specification is not supported/);
  });

  test('without explicit control neither is allowed', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { echo: identity() }));
    for (const path of [load, unload])
      assert.match(errorOf(await ask(endpoint, path, { body: '' }), 503), /is not allowed/);
  });
});

test('a model that cannot be asked is told of, whatever the body is', async (t) => {
  const endpoint = await endpointOf(t, await serve(t, { echo: identity() }));
  for (const body of ['{', '{}', Buffer.alloc(8)]) {
    assert.match(
      errorOf(await ask(endpoint, '/v2/models/none/infer', { body }), 404),
      /unknown model 'none'/,
    );
    const headers = { 'Inference-Header-Content-Length': '9' };
    assert.match(errorOf(await ask(endpoint, '/v2/models/none/infer', { body, headers }), 404), /'none'/);
    assert.equal((await ask(endpoint, '/v2/models/echo/infer', { body })).status, 400);
  }
});

test('what this server does not have is refused by name', async (t) => {
  const endpoint = await endpointOf(t, await serve(t, { echo: identity() }));
  for (const [method, path, message] of [
    ['GET', '/v2/logging', /log settings/],
    ['POST', '/v2/systemsharedmemory/region/r/register', /shared memory/],
    ['POST', '/v2/cudasharedmemory/unregister', /shared memory/],
  ] as const) {
    assert.match(errorOf(await ask(endpoint, path, { method }), 501), message);
  }
  for (const path of ['/v2/systemsharedmemory/status', '/v2/cudasharedmemory/status'])
    assert.deepEqual(json(await ask(endpoint, path)), []);
});
