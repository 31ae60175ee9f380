/**
 * The reasons of UNAVAILABLE, and whether a retry makes sense: each reason is really caused, and checked on every
 * path.
 */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer as listen } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { nativeError, statusNumber } from '../../src/addon/status.js';
import { connectServer } from '../../src/client/index.js';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { errorReasons, TritonError, type InferenceServer, type TritonErrorReason } from '../../src/index.js';
import { addressOf, connected } from '../client/harness.js';
import { gate, held } from '../faults/harness.js';
import { callOf, calling } from '../javascript/calls.js';
import { executing, script } from '../javascript/harness.js';
import {
  chain,
  ensemble,
  identity,
  onnx,
  rejection,
  row,
  serve,
  statisticsAfter,
  turn,
  until,
  type Context,
} from '../support/harness.js';
import { root } from '../support/project.js';
import { temporaryFolder, type RepositoryModel } from '../support/repository.js';
import { asking, readAll, streaming } from '../streams/harness.js';

const x = row();

/** The reasons that the tests of this file have seen. */
const produced = new Set<string>();

/** A way to call the model 'm'. Resolves with the error. */
type Way = (t: Context, server: InferenceServer, timeoutMs: number | undefined) => Promise<TritonError>;

async function ofStream(results: AsyncIterable<unknown>): Promise<TritonError> {
  return rejection(
    (async () => {
      for await (const _result of results);
    })(),
  );
}

/** The error of `map`, which yields an error with the item's index, or throws for a missing model. */
async function ofMap(map: () => AsyncIterable<unknown>): Promise<TritonError> {
  return rejection(
    (async () => {
      for await (const outcome of map()) {
        const { error } = outcome as { readonly error?: TritonError };
        assert.equal(error?.index, 0);
        throw error;
      }
    })(),
  );
}

const remotely =
  (protocol: 'http' | 'grpc', how: 'infer' | 'stream' | 'map'): Way =>
  async (t, server, timeoutMs) => {
    const remote = await connected(t, await addressOf(t, protocol, server));
    return rejection(
      (async () => {
        const model = await remote.model('m');
        if (how === 'infer') return model.infer({ x }, { timeoutMs });
        const error = await (how === 'stream'
          ? ofStream(model.stream({ x }, { timeoutMs }))
          : ofMap(() => model.map([{ x }], { timeoutMs, onError: 'yield' })));
        throw error;
      })(),
    );
  };

const ways: Readonly<Record<string, Way>> = {
  infer: (_t, server, timeoutMs) => rejection(server.infer('m', { x }, { timeoutMs })),
  stream: (_t, server, timeoutMs) => ofStream(server.stream('m', { x }, { timeoutMs })),
  map: (_t, server, timeoutMs) =>
    ofMap(() => server.model('m').map([{ x }], { timeoutMs, onError: 'yield' })),
  'a call of a model': (_t, server, timeoutMs) =>
    rejection(server.infer(timeoutMs === undefined ? 'calls' : 'calls_briefly', { x })),
  'a step': (_t, server, timeoutMs) => rejection(server.infer('steps', { x }, { timeoutMs })),
  'the client, http': remotely('http', 'infer'),
  'the client, grpc': remotely('grpc', 'infer'),
  'the client, grpc, stream': remotely('grpc', 'stream'),
  'the client, grpc, map': remotely('grpc', 'map'),
};

/** A reason, and a server whose model 'm' fails all requests for it. */
interface Case {
  readonly reason: TritonErrorReason;
  readonly retryable: boolean;
  readonly http: number;
  readonly timeoutMs?: number;
  /** `map` waits until there is room. */
  readonly mapWaits?: boolean;
  readonly serve: (t: Context) => Promise<InferenceServer>;
}

const callers = {
  calls: script(calling(callOf('m'))),
  calls_briefly: script(calling(callOf('m', 'timeoutMs: 20'))),
};

async function serveWith(
  t: Context,
  m: RepositoryModel,
  options: Parameters<typeof serve>[2] = {},
): Promise<InferenceServer> {
  return serve(t, { m, ...callers, steps: ensemble(chain(['m']), { maxBatchSize: 1 }) }, options);
}

/** A server whose model has one instance, which is busy with `requests` requests. */
async function busy(
  t: Context,
  batching: string,
  requests: number,
  options: Parameters<typeof serve>[2] = {},
): Promise<InferenceServer> {
  const closed = await gate(t);
  const server = await serveWith(t, held(closed, { maxBatchSize: 1, batching }), options);
  for (let i = 0; i < requests; i++) {
    server.infer('m', { x }).catch(() => undefined);
    await turn();
  }
  return server;
}

/** A model that is being loaded until the test ends, which removes the file. */
async function loading(t: Context): Promise<InferenceServer> {
  const closed = join(await temporaryFolder(t), 'closed');
  await writeFile(closed, '');
  const waits = script(
    `import { existsSync } from 'node:fs';
     import { setTimeout as wait } from 'node:timers/promises';
     export default class {
       async initialize() { while (existsSync(${JSON.stringify(closed)})) await wait(10); }
       execute(requests) { return requests.map(({ inputs }) => ({ y: inputs.x.data })); }
     }`,
  );
  const server = await serveWith(t, waits, {
    modelControlMode: 'explicit',
    loadModels: Object.keys(callers),
  });
  const names = ['m', 'steps'];
  for (const name of names) server.loadModel(name).catch(() => undefined);
  // A model that no load has come to yet is NOT_FOUND.
  const isLoading = (model: string): boolean =>
    server.index().some(({ name, state }) => name === model && state === 'LOADING');
  await until(() => names.every(isLoading));
  return server;
}

const cases: Readonly<Record<string, Case>> = {
  'a model that is being loaded': {
    reason: 'NOT_READY',
    retryable: true,
    http: 503,
    serve: loading,
  },
  'a full queue': {
    reason: 'QUEUE_FULL',
    retryable: true,
    http: 429,
    mapWaits: true,
    serve: (t) => busy(t, 'default_queue_policy { max_queue_size: 1 }', 2),
  },
  'the time-out of a queue': {
    reason: 'TIMED_OUT',
    retryable: true,
    http: 504,
    serve: (t) => busy(t, 'default_queue_policy { default_timeout_microseconds: 1000 }', 1),
  },
  'timeoutMs while it waits': {
    reason: 'TIMED_OUT',
    retryable: true,
    http: 504,
    timeoutMs: 20,
    serve: (t) => busy(t, '', 1),
  },
  'timeoutMs while it runs': {
    reason: 'TIMED_OUT',
    retryable: true,
    http: 504,
    timeoutMs: 20,
    serve: (t) => busy(t, '', 0),
  },
  'too much in flight': {
    reason: 'TOO_MUCH_IN_FLIGHT',
    retryable: true,
    http: 429,
    mapWaits: true,
    serve: (t) => busy(t, '', 2, { maxInFlightBytes: 2 * 128 }),
  },
  'a model that cannot be loaded': {
    reason: 'LOAD_FAILED',
    retryable: false,
    http: 503,
    serve: (t) => serveWith(t, onnx(new Uint8Array(8)), { exitOnError: false }),
  },
  'a thread that ends': {
    reason: 'INSTANCE_ENDED',
    retryable: true,
    http: 503,
    serve: (t) => serveWith(t, script(executing('process.exit(1);'))),
  },
  "a model's own error": {
    reason: 'DEVICE_LOST',
    retryable: false,
    http: 503,
    serve: (t) =>
      serveWith(
        t,
        script(
          `import { TritonError } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)};
           ${executing("throw new TritonError('UNAVAILABLE', 'gone', { reason: 'DEVICE_LOST' });")}`,
        ),
      ),
  },
};

for (const [what, { reason, retryable, http, timeoutMs, mapWaits = false, serve: start }] of Object.entries(
  cases,
)) {
  test(`${what} is ${reason} on every path`, async (t) => {
    const server = await start(t);
    const seen: Record<string, unknown> = {};
    for (const [name, way] of Object.entries(ways)) {
      // `map` waits for room.
      if (mapWaits && name === 'map') continue;
      const error = await way(t, server, timeoutMs);
      seen[name] = [
        error.code,
        error.reason,
        error.retryable,
        error.model === undefined ? error.message : '',
      ];
    }
    const expected = Object.fromEntries(
      Object.keys(seen).map((name) => [name, ['UNAVAILABLE', reason, retryable, '']]),
    );
    assert.deepEqual(seen, expected);
    if (what !== "a model's own error") produced.add(reason);
    if (timeoutMs !== undefined) return; // HTTP clients have their own time limits.
    const address = await addressOf(t, 'http', server);
    const answer = await fetch(`${address}/v2/models/m/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...x] }] }),
    });
    await answer.arrayBuffer();
    assert.deepEqual([answer.status, answer.headers.get('tritonts-reason')], [http, reason]);
  });
}

test('what is not a request has its reason, too', async (t) => {
  const busyPort = listen().listen(0, '127.0.0.1');
  t.after(() => busyPort.close());
  await until(() => busyPort.listening);
  const address = busyPort.address();
  assert.ok(typeof address === 'object' && address !== null);
  const { port } = address;
  const server = await serve(t, { a: script(calling(callOf('a'))), m: identity() });
  const closed = await serve(t, { m: identity() });
  const model = closed.model('m');
  await closed.close();
  const free = listen().listen(0, '127.0.0.1');
  await until(() => free.listening);
  const place = free.address();
  assert.ok(typeof place === 'object' && place !== null);
  await new Promise((resolve) => free.close(resolve));
  const greedy = await serve(t, { m: streaming() });
  const unread = greedy.stream('m', asking(1_000_000, 'greedy', 1000));
  await statisticsAfter(greedy, 'm', 1);
  const made = {
    UNREAD: readAll(unread).then(({ error }) => error ?? assert.fail('all was sent')),
    CIRCULAR_CALL: rejection(server.infer('a', { x })),
    CLOSED: rejection(model.infer({ x })),
    NOT_ALLOWED: rejection(server.loadModel('m')),
    SYSTEM_REFUSED: rejection(serveHttp(server, { port, host: '127.0.0.1' })),
    NO_CONNECTION: rejection(connectServer(`http://127.0.0.1:${place.port}`, { retries: 0 })),
    MISSING: rejection(
      serve(t, { m: onnx() }, { backendConfig: { onnxruntime: { library: '/nowhere/lib.so' } } }),
    ),
  } satisfies Partial<Record<TritonErrorReason, Promise<TritonError>>>;
  for (const [reason, error] of Object.entries(made)) {
    const { code, reason: told } = await error;
    assert.deepEqual([code, told], ['UNAVAILABLE', reason]);
    produced.add(reason);
  }
});

test('a process that forbids addons has NO_ADDON', async () => {
  const program = `
    import { createServer } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)};
    await createServer('.').catch(({ code, reason, retryable }) => console.log(code, reason, retryable));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--no-addons',
    '--input-type=module',
    '--eval',
    program,
  ]);
  assert.equal(stdout, 'UNAVAILABLE NO_ADDON false\n');
  produced.add('NO_ADDON');
});

/** Reasons that need their own process or machine, with the test files that cause them. */
const elsewhere = {
  NO_MEMORY: 'memory/out-of-memory',
  DEVICE_LOST: 'backends/lost-gpus',
} as const satisfies Partial<Record<TritonErrorReason, string>>;

test('every reason is made for real, here or in the file that is named', async () => {
  for (const [reason, file] of Object.entries(elsewhere)) {
    const text = await readFile(join(root, 'test', `${file}.test.ts`), 'utf8');
    assert.ok(text.includes(reason), `${reason} in ${file}`);
    produced.add(reason);
  }
  assert.deepEqual([...produced].sort(), [...errorReasons].sort());
});

test('every reason has a number that the engine carries, and retryable', () => {
  for (const reason of errorReasons) {
    const error = nativeError(statusNumber('UNAVAILABLE', reason), 'x');
    assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', reason]);
    assert.equal(typeof error.retryable, 'boolean');
  }
  assert.equal(new TritonError('UNAVAILABLE', 'x').retryable, true);
  assert.equal(new TritonError('INVALID_ARG', 'x').retryable, false);
  assert.equal(nativeError(statusNumber('CANCELLED', undefined), 'x').code, 'CANCELLED');
});

test('an error crosses threads by toJSON and from', () => {
  const error = new TritonError('UNAVAILABLE', 'full', { reason: 'QUEUE_FULL', model: 'm' });
  const again = TritonError.from(structuredClone(error.toJSON()));
  assert.deepEqual(
    [again.code, again.reason, again.retryable, again.message, again.model],
    ['UNAVAILABLE', 'QUEUE_FULL', true, 'full', 'm'],
  );
  assert.equal(TritonError.from(error), error);
  assert.deepEqual([TritonError.from(new Error('x')).code, TritonError.from(7).message], ['INTERNAL', '7']);
  assert.equal(TritonError.from(Object.create(null)).message, 'an unreadable value was thrown');
});
