import assert from 'node:assert/strict';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { connectServer, type ConnectOptions, type RemoteServer } from '../../src/client/index.js';
import type { InferenceServer } from '../../src/index.js';
import { endpointOf } from '../endpoints/http/harness.js';
import { floats, identity, onnx, rejection, row, serve, type Context } from '../support/harness.js';

/** A server, and a connection to it. */
async function both(
  t: Context,
  models: Parameters<typeof serve>[1],
  options: Parameters<typeof serve>[2] = {},
  connect: ConnectOptions = {},
): Promise<{ readonly own: InferenceServer; readonly remote: RemoteServer }> {
  const own = await serve(t, models, options);
  const { address } = await endpointOf(t, own);
  return { own, remote: await connected(t, address.port, connect) };
}

async function connected(t: Context, port: number, options: ConnectOptions = {}): Promise<RemoteServer> {
  const remote = await connectServer(`http://127.0.0.1:${port}`, options);
  t.after(() => remote.close({ timeoutMs: 0 }));
  return remote;
}

/** A server of another implementation. */
async function strange(t: Context, listener: RequestListener): Promise<number> {
  const http = createHttp(listener);
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.after(async () => {
    http.closeAllConnections();
    http.close();
    await once(http, 'close');
  });
  return (http.address() as { port: number }).port;
}

test('a decoupled model is refused by name', async (t) => {
  const config = identity({ more: 'model_transaction_policy { decoupled: true }', batching: false });
  const { remote } = await both(t, {
    many: {
      ...config,
      config: (config.config ?? '').replace('identity', 'javascript'),
      versions: {
        '1': {
          'model.js': 'export default { async *none() {}, execute: (requests) => requests.map(() => []) }',
        },
      },
    },
  });
  const { code, message } = await rejection((await remote.model('many')).infer({ x: row() }));
  assert.equal(code, 'UNSUPPORTED');
  assert.match(message, /'many'.*any number of responses; HTTP has no typed stream/);
  const streamed = await rejection((await remote.model('many')).stream({ x: row() }).next());
  assert.deepEqual([streamed.code, streamed.message], [code, message]);
});

test('a signal cancels before the model is known; a path and a password of the address are used', async (t) => {
  const seen: (string | undefined)[] = [];
  const port = await strange(t, (request, response) => {
    seen.push(request.url, request.headers.authorization);
    if (request.url === '/base/v2/health/live') response.end();
  });
  const remote = await connectServer(`http://me:s%40fe@127.0.0.1:${port}/base/`);
  t.after(() => remote.close({ timeoutMs: 0 }));
  assert.deepEqual(seen, ['/base/v2/health/live', `Basic ${Buffer.from('me:s@fe').toString('base64')}`]);
  const error = await rejection(remote.infer('m', { x: row() }, { signal: AbortSignal.timeout(20) }));
  assert.equal(error.code, 'CANCELLED');
});

test('a call that takes too long rejects with UNAVAILABLE', async (t) => {
  const port = await strange(t, (request, response) => {
    if (request.url === '/v2/health/live') response.end();
  });
  const remote = await connected(t, port, { timeoutMs: 1000 });
  const error = await rejection(remote.metadata());
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /did not answer within 1000 ms/);
});

test('calls that only read are tried again when a connection breaks; a request is not', async (t) => {
  const asked: string[] = [];
  const port = await strange(t, (request, response) => {
    const path = `${request.method ?? ''} ${request.url ?? ''}`;
    asked.push(path);
    if (path === 'GET /v2/health/live' || path === 'GET /v2/models/m/ready') response.end();
    else if (path === 'GET /v2/models/m')
      response.end(
        JSON.stringify({ name: 'm', inputs: [{ name: 'x', datatype: 'FP32', shape: [2] }], outputs: [] }),
      );
    else if (path === 'GET /v2/models/m/config') response.writeHead(404).end();
    else request.socket.destroy();
  });
  const remote = await connected(t, port);
  assert.equal((await rejection(remote.metadata())).code, 'UNAVAILABLE');
  assert.equal(asked.filter((path) => path === 'GET /v2').length, 3);
  const model = await remote.model('m');
  assert.equal((await rejection(model.infer({ x: Float32Array.of(1, 2) }))).code, 'UNAVAILABLE');
  assert.equal(asked.filter((path) => path.startsWith('POST')).length, 1);
});

test('a server without configurations and without binary data is understood', async (t) => {
  const port = await strange(t, (request, response) => {
    if (request.url === '/v2/models/m')
      response.end(
        JSON.stringify({
          name: 'm',
          inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }],
          outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 2] }],
        }),
      );
    else if (request.url === '/v2/models/m/infer')
      response.end(
        '{"model_name":"m","parameters":{"big":9007199254740993},"outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[[1.0,2]]},{"name":"n","datatype":"INT64","shape":[1],"data":[9007199254740993]},{"name":"s","datatype":"BYTES","shape":[1],"data":["é"]}]}',
      );
    else if (request.url?.endsWith('/config') === true) response.writeHead(404).end('Not Found');
    else response.end();
  });
  const remote = await connected(t, port);
  const { outputs, parameters } = await remote.infer('m', { x: [[1, 2]] });
  assert.deepEqual([...(outputs['y']?.as('FP32').data ?? [])], [1, 2]);
  assert.deepEqual([...(outputs['n']?.as('INT64').data ?? [])], [9007199254740993n]);
  assert.deepEqual(outputs['s']?.strings(), ['é']);
  assert.deepEqual(parameters, { big: 9007199254740993n });
});

test('answers that make no sense are INTERNAL', async (t) => {
  let answer = '';
  const port = await strange(t, (request, response) => {
    if (request.url === '/v2/models/m')
      response.end(
        JSON.stringify({ name: 'm', inputs: [{ name: 'x', datatype: 'FP32', shape: [1] }], outputs: [] }),
      );
    else response.end(request.url?.endsWith('infer') === true ? answer : '{}');
  });
  const remote = await connected(t, port);
  for (answer of [
    '',
    '[]',
    '{"outputs":1}',
    '{"outputs":[{}]}',
    '{"outputs":[{"name":"y","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}}]}',
    '{"outputs":[{"name":"y","datatype":"FP33","shape":[1],"data":[1]}]}',
    '{"outputs":[{"name":"y","datatype":"FP32","shape":[-1],"data":[1]}]}',
    ...['["a"]', '[null]', '[{}]', '[1,2]', '[]'].map(
      (data) => `{"outputs":[{"name":"y","datatype":"FP32","shape":[1],"data":${data}}]}`,
    ),
    '{"outputs":[{"name":"y","datatype":"INT8","shape":[1],"data":[300]}]}',
    '{"outputs":[{"name":"y","datatype":"UINT64","shape":[1],"data":[-1]}]}',
    '{"outputs":[{"name":"y","datatype":"BYTES","shape":[1],"data":[7]}]}',
    '{"outputs":[{"name":"y","datatype":"FP32","shape":[9007199254740991],"data":[7]}]}',
    '<html>Bad gateway</html>',
    'null',
    '{',
  ]) {
    const { code, message } = await rejection(remote.infer('m', { x: Float32Array.of(1) }));
    assert.equal(code, 'INTERNAL', answer);
    assert.match(message, /model 'm': the server's answer cannot be read/);
  }
});

test('answers to other calls that are not JSON, or are another thing, are INTERNAL', async (t) => {
  let answer = '';
  const port = await strange(t, (_request, response) => {
    response.setHeader('Content-Type', 'text/html').end(answer);
  });
  const remote = await connected(t, port);
  for (answer of [
    '',
    '<html>Bad gateway</html>',
    '{',
    '\ufeff{}',
    'null',
    '5',
    '[5',
    '"a"',
    '{"inputs":5}',
    '[]',
    '{}',
  ]) {
    const calls: readonly (readonly [what: string, call: () => Promise<unknown>])[] = [
      ['/v2', () => remote.metadata()],
      ['/v2/repository/index', () => remote.index()],
      ['/v2/models/stats', () => remote.statistics()],
      ['/v2/models/m', () => remote.model('m').then((model) => model.metadata)],
      ['/v2/models/m', () => remote.infer('m', { x: Float32Array.of(1) })],
    ];
    for (const [what, call] of calls) {
      // An object may be a server's, and an empty list an index.
      if (what === '/v2' && answer.endsWith('}') && answer.startsWith('{')) continue;
      if (what.endsWith('index') && answer === '[]') continue;
      const { code, message } = await rejection(call());
      assert.equal(code, 'INTERNAL', `${what}: ${answer}: ${message}`);
      assert.match(message, /the server's (answer|configuration)/);
    }
  }
});

test('addresses and options that make no sense', async (t) => {
  for (const [url, options, code, text] of [
    ['localhost:8000', {}, 'INVALID_ARG', /http:, https:, grpc: or grpcs:/],
    ['not a url', {}, 'INVALID_ARG', /a URL such as/],
    ['http://localhost:8000/?a=b', {}, 'INVALID_ARG', /without a query/],
    ['http://localhost:1', { timeout: 1 }, 'INVALID_ARG', /did you mean timeoutMs/],
    ['http://localhost:1', { retries: -1 }, 'INVALID_ARG', /options\.retries/],
    ['grpc://localhost:1', { keepaliveTimeMs: 0 }, 'INVALID_ARG', /options\.keepaliveTimeMs/],
    ['grpc://localhost:1', { keepaliveTimeoutMs: '1' }, 'INVALID_ARG', /options\.keepaliveTimeoutMs/],
    ['http://localhost:1', { headers: { a: 1 } }, 'INVALID_ARG', /options\.headers\['a'\]/],
    ['http://127.0.0.1:1', { retries: 0 }, 'UNAVAILABLE', /ECONNREFUSED/],
  ] as const) {
    const error = await rejection(connectServer(url, options as ConnectOptions));
    assert.equal(error.code, code, url);
    assert.match(error.message, text);
  }
  const { own } = await both(t, { add: onnx() });
  const { address } = await endpointOf(t, own, {
    restricted: [{ protocols: ['inference'], header: 'key', value: 'secret' }],
  });
  const stranger = await connected(t, address.port);
  assert.match((await rejection(stranger.infer('add', { x: row() }))).message, /expecting header 'key'/);
  const friend = await connected(t, address.port, { headers: { key: 'secret' } });
  assert.deepEqual(floats(await friend.infer('add', { x: row() })), [...row(1)]);
});

test('nothing native is loaded', async () => {
  const url = new URL('../../src/client/index.js', import.meta.url).href;
  const script = `await import(${JSON.stringify(url)});
console.log(process.report.getReport().sharedObjects.some((file) => file.endsWith('.node')));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  assert.equal(stdout, 'false\n');
});
