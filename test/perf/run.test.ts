// Long: it measures for seconds.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { PerfOptions } from '../../src/perf/run.js';
import { runPerf } from '../../src/perf/run.js';
import { throughputOf } from '../../src/perf/measure/level.js';
import { TritonError } from '../../src/errors.js';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { certificate } from '../support/certificate.js';
import { addressOf } from '../client/harness.js';
import { ensemble, identity, onnx, rejection, serve, type Context } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { counting, measured, perfOptions, silent } from './harness.js';

const transports = ['in process', 'http', 'grpc'] as const;
type Transport = (typeof transports)[number];

/** A place with the models: a repository, or the address of a server. */
async function placeOf(
  t: Context,
  transport: Transport,
  models: Readonly<Record<string, RepositoryModel>>,
): Promise<PerfOptions['place']> {
  if (transport === 'in process')
    return { server: { modelRepository: await writeRepository(await temporaryFolder(t), models) } };
  return { url: await addressOf(t, transport, await serve(t, models)) };
}

/** Expects a rejection. */
async function rejected(promise: Promise<unknown>, code: string, message: RegExp): Promise<void> {
  const error = await rejection(promise);
  assert.equal(error.code, code);
  assert.match(error.message, message);
}

const add = onnx(addModel(), { maxBatchSize: 64 });

for (const transport of transports) {
  test(`${transport}: a closed loop has the wanted requests at once, and the server counts the same requests`, async (t) => {
    const run = await measured(perfOptions(await placeOf(t, transport, { add }), 'add', { batch: 2 }));
    assert.equal(run.failure, undefined);
    const [level] = run.levels;
    assert.ok(level?.server);
    const { tally, server, windows } = level;
    assert.deepEqual(
      [level.stable, level.mode, level.value, windows.length, run.kind],
      [true, 'concurrency', 4, 3, transport],
    );
    assert.ok(tally.requests > 0);
    assert.equal(throughputOf(level), 2 * tally.requestRate);
    // Little's law: requests at once are the rate times the latency. A pause of the machine counts in one of the two.
    const atOnce = tally.requestRate * (tally.latency.meanMs / 1000);
    assert.ok(atOnce > 1 && atOnce < 8, `${atOnce} at once`);
    assert.ok(
      server.counts.success > 0 && server.inferences === 2 * server.counts.success,
      String(server.inferences),
    );
    assert.ok([...server.batches].every(([rows, count]) => rows % 2 === 0 && rows <= 8 && count > 0));
    assert.ok(
      level.slices.length === 6 && level.slices.some(({ requestsPerSecond }) => requestsPerSecond > 0),
    );
    assert.ok(level.use.cores > 0 && level.use.residentBytes > 0 && level.use.loopDelay.count > 0);
    // The server also counts requests before the first window and after the last one.
    assert.ok(2 * tally.latency.meanMs * 1000 > server.meanUs('queue') + server.meanUs('compute_infer'));
  });

  test(`${transport}: a number of requests is sent exactly`, async (t) => {
    const models = { slow: identity({ delayMs: 1 }) };
    const run = await measured(
      perfOptions(await placeOf(t, transport, models), 'slow', {}, { requestCount: 33, warmup: 5 }),
    );
    const [level] = run.levels;
    assert.deepEqual([level?.tally.requests, level?.stable, level?.windows.length], [33, true, 1]);
    assert.ok((level?.tally.latency.leastMs ?? 0) >= 1);
  });

  test(`${transport}: sequences begin and end as the model wants them`, async (t) => {
    const direct = onnx(addModel(), {
      maxBatchSize: 64,
      batching: false,
      more: 'sequence_batching { direct { } }',
    });
    const place = await placeOf(t, transport, { direct });
    const sequences = { length: 5, variation: 0, firstId: 10, lastId: 2000, atOnce: 3 };
    const run = await measured(perfOptions(place, 'direct', { sequences }));
    assert.deepEqual([run.failure, run.sequences], [undefined, true]);
    const { requests = 0, sequences: ended = 0 } = run.levels[0]?.tally ?? {};
    assert.ok(ended > 0 && Math.abs(requests / ended - 5) < 2, `${requests} requests, ${ended} sequences`);
    // All ids are free again, although a number of requests ends in the middle of sequences: four slots, four callers.
    const counted = await measured(
      perfOptions(place, 'direct', { sequences }, { requestCount: 18, warmup: 3 }),
    );
    assert.deepEqual([counted.failure, counted.levels[0]?.tally.requests], [undefined, 18]);
    const load = {
      mode: 'rate',
      range: { start: 300, end: 300, step: 1 },
      search: 'linear',
      poisson: false,
    } as const;
    const rated = await measured(perfOptions(place, 'direct', { sequences, load }));
    assert.equal(rated.failure, undefined);
    assert.ok((rated.levels[0]?.tally.sequences ?? 0) > 0);
  });

  test(`${transport}: outputs are compared with those of the file, and a wrong one ends the run`, async (t) => {
    const place = await placeOf(t, transport, { add });
    const folder = await temporaryFolder(t);
    const row = (value: number): number[] => Array.from({ length: 16 }, () => value);
    const write = async (name: string, wanted: number): Promise<string> => {
      const file = join(folder, name);
      const data = [{ x: row(0.5) }, { x: { content: row(2), shape: [16] } }];
      await writeFile(file, JSON.stringify({ data, validation_data: [{ y: row(1.5) }, { y: row(wanted) }] }));
      return file;
    };
    const good = await measured(
      perfOptions(place, 'add', { inputData: [await write('good.json', 3)], batch: 2 }),
    );
    assert.deepEqual([good.failure, (good.levels[0]?.tally.requests ?? 0) > 0], [undefined, true]);
    const bad = await measured(perfOptions(place, 'add', { inputData: [await write('bad.json', 4)] }));
    const { error } = bad.failure ?? {};
    assert.ok(error instanceof TritonError);
    assert.equal(
      error.message,
      "model 'add': output 'y' is not that of validation_data: element 0 is 3, not 4",
    );
  });
}

for (const transport of ['in process', 'grpc'] as const) {
  test(`${transport}: responses of decoupled models are counted, and the times to the first and between them`, async (t) => {
    const place = await placeOf(t, transport, { counting });
    const folder = await temporaryFolder(t);
    const file = join(folder, 'data.json');
    await writeFile(file, JSON.stringify({ data: [{ n: [4] }] }));
    const run = await measured(perfOptions(place, 'counting', { inputData: [file] }));
    assert.deepEqual([run.failure, run.streaming], [undefined, true]);
    const tally = run.levels[0]?.tally;
    assert.ok(tally && tally.requests > 0);
    assert.equal(tally.responses, 4 * tally.requests);
    assert.deepEqual([tally.first.count, tally.gaps.count], [tally.requests, 3 * tally.requests]);
    assert.ok(tally.first.meanMs <= tally.latency.meanMs);
  });
}

test('streams need gRPC', async (t) => {
  const place = await placeOf(t, 'http', { counting });
  await rejected(measured(perfOptions(place, 'counting')), 'INVALID_ARG', /measure the gRPC port/);
});

test('a rate is kept, with equal and with random times, and its lateness is recorded', async (t) => {
  const place = await placeOf(t, 'http', { add });
  for (const poisson of [false, true]) {
    const load = {
      mode: 'rate',
      range: { start: 200, end: 200, step: 1 },
      search: 'linear',
      poisson,
    } as const;
    const run = await measured(perfOptions(place, 'add', { load }, { intervalMs: 500 }));
    const [level] = run.levels;
    assert.ok(level);
    const { tally } = level;
    // Other work of the machine may make it less, and what was late for one window comes in the next one.
    const asked = (200 * tally.elapsedMs) / 1000;
    assert.ok(tally.requests < 1.5 * asked, `${tally.requests} of ${asked} requests`);
    assert.ok(tally.requests > 0.2 * asked, `${tally.requests} of ${asked} requests`);
    assert.ok(tally.lateness.count >= tally.requests);
    assert.equal(level.mode, 'request rate');
  }
});

test('given times between requests are kept', async (t) => {
  const place = await placeOf(t, 'in process', { add });
  const load = { mode: 'intervals', intervalsMs: [2, 8] } as const;
  const [level] = (await measured(perfOptions(place, 'add', { load }, { intervalMs: 300 }))).levels;
  assert.ok(level);
  assert.equal(level.value, 200);
  const asked = (200 * level.tally.elapsedMs) / 1000;
  assert.ok(
    level.tally.requests < 1.5 * asked && level.tally.requests > 0.2 * asked,
    String(level.tally.requests),
  );
});

test('levels end at the latency threshold', async (t) => {
  const place = await placeOf(t, 'in process', { slow: identity({ delayMs: 20, maxBatchSize: 1 }) });
  const load = {
    mode: 'concurrency',
    range: { start: 1, end: Infinity, step: 1 },
    search: 'linear',
  } as const;
  const run = await measured(perfOptions(place, 'slow', { load }, { latencyThresholdMs: 55 }));
  const last = run.levels.at(-1);
  assert.equal(last?.aboveThreshold, true);
  assert.ok(run.levels.length >= 2 && run.levels.slice(0, -1).every(({ aboveThreshold }) => !aboveThreshold));
});

test('refusals by a busy server are counted, and do not end the run', async (t) => {
  const models = {
    full: identity({ delayMs: 5, maxBatchSize: 1, batching: 'default_queue_policy { max_queue_size: 1 }' }),
  };
  const load = { mode: 'concurrency', range: { start: 16, end: 16, step: 1 }, search: 'linear' } as const;
  for (const transport of transports) {
    const run = await measured(perfOptions(await placeOf(t, transport, models), 'full', { load }));
    assert.equal(run.failure, undefined);
    const tally = run.levels[0]?.tally;
    assert.ok(tally && tally.refusals > 0 && tally.requests > 0, transport);
  }
});

test('sequences that are open at the end are ended at the server', async (t) => {
  const open = new Set<unknown>();
  let begun = 0;
  const url = await plainServer(
    t,
    (_, response, sequence) => {
      if (sequence.sequence_start === true) begun++;
      if (sequence.sequence_end === true) open.delete(sequence.sequence_id);
      else open.add(sequence.sequence_id);
      response.end(answer);
    },
    {
      name: 'm',
      backend: 'other',
      max_batch_size: 0,
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [2] }],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [2] }],
      sequence_batching: { direct: {} },
    },
  );
  const sequences = { length: 50, variation: 0, firstId: 1, lastId: 5, atOnce: 4 };
  const rate = {
    mode: 'rate',
    range: { start: 200, end: 200, step: 1 },
    search: 'linear',
    poisson: false,
  } as const;
  for (const load of [undefined, rate]) {
    const options = { sequences, ...(load && { load }) };
    const run = await measured(perfOptions({ url }, 'm', options, { requestCount: 30, warmup: 3 }));
    assert.deepEqual([run.failure, run.sequences, run.levels[0]?.tally.requests], [undefined, true, 30]);
    assert.ok(begun > 0);
    assert.deepEqual([...open], []);
  }
  await rejected(
    measured(perfOptions({ url }, 'm', { sequences: { ...sequences, lastId: 3 } })),
    'INVALID_ARG',
    /--sequence-id-range has 3 ids, too few for the 4 sequences/,
  );
});

test('a level without an answer is a failure, and keeps the levels before it', async (t) => {
  const first = await plainServer(t, (_, response) => {
    response.writeHead(503).end('{"error":"busy"}');
  });
  const none = await measured(perfOptions({ url: first }, 'm', {}, { requestCount: 5 }));
  assert.match(String(none.failure?.error), /no request was answered; the server refused them: busy/);
  let count = 0;
  const second = await plainServer(t, (_, response) => {
    if (++count > 20) response.writeHead(503).end('{"error":"busy"}');
    else response.end(answer);
  });
  const load = { mode: 'concurrency', range: { start: 1, end: 2, step: 1 }, search: 'linear' } as const;
  const some = await measured(perfOptions({ url: second }, 'm', { load }, { requestCount: 20 }));
  assert.deepEqual([some.levels.length, some.failure !== undefined], [1, true]);
});

test('a range above what can be under way is refused before the first level', async (t) => {
  const url = await plainServer(t, (_, response) => response.end(answer));
  const load = { mode: 'concurrency', range: { start: 1, end: 5000, step: 1 }, search: 'linear' } as const;
  await rejected(
    measured(perfOptions({ url }, 'm', { load })),
    'INVALID_ARG',
    /at most 4096 requests at once/,
  );
});

test('the latency threshold ends a range also with a number of requests', async (t) => {
  const place = await placeOf(t, 'in process', { slow: identity({ delayMs: 20, maxBatchSize: 1 }) });
  const load = {
    mode: 'concurrency',
    range: { start: 1, end: Infinity, step: 1 },
    search: 'linear',
  } as const;
  const run = await measured(
    perfOptions(place, 'slow', { load }, { latencyThresholdMs: 3, requestCount: 3 }),
  );
  assert.deepEqual([run.levels.length, run.levels[0]?.aboveThreshold], [1, true]);
});

test('a server that refuses everything ends windows of a number of requests, too', async (t) => {
  const url = await plainServer(t, (_, response) => {
    response.writeHead(503).end('{"error":"busy"}');
  });
  const run = await measured(perfOptions({ url }, 'm', {}, { mode: 'count', trials: 100 }));
  assert.match(String(run.failure?.error), /refused all requests of 3 windows: busy/);
});

test('further responses to a request end the run', async (t) => {
  const url = await plainServer(t, (request, response) => {
    response.end(answer);
    request.socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`);
  });
  const run = await measured(perfOptions({ url }, 'm'));
  assert.match(String(run.failure?.error), /more than one response|that no request asked for/);
});

test('a server that refuses everything ends the run', async (t) => {
  const url = await plainServer(t, (_, response) => {
    response.writeHead(503).end('{"error":"busy"}');
  });
  const run = await measured(perfOptions({ url }, 'm', {}, { trials: 100 }));
  assert.match(String(run.failure?.error), /refused all requests of 3 windows: busy/);
  assert.deepEqual(run.levels, []);
});

test("the statistics of an ensemble's steps are read, too", async (t) => {
  const both = ensemble(
    [
      { model: 'add', from: { x: 'x' }, to: { y: 'between' } },
      { model: 'add', from: { x: 'between' }, to: { y: 'y' } },
    ],
    { maxBatchSize: 64 },
  );
  for (const transport of transports) {
    const run = await measured(perfOptions(await placeOf(t, transport, { both, add }), 'both'));
    const [level] = run.levels;
    const step = level?.composing.get('add');
    assert.ok(level?.server && step, transport);
    assert.ok(step.counts.success > level.server.counts.success && step.meanUs('compute_infer') > 0);
  }
});

test('texts have the length that is asked for, and variable dims need a shape', async (t) => {
  const dims = [-1];
  const words = identity({
    inputs: [{ name: 'x', datatype: 'BYTES', dims }],
    outputs: [{ name: 'y', datatype: 'BYTES', dims }],
  });
  for (const transport of transports) {
    const place = await placeOf(t, transport, { words });
    await rejected(measured(perfOptions(place, 'words')), 'INVALID_ARG', /give one with --shape x:<n>/);
    const run = await measured(perfOptions(place, 'words', { shapes: new Map([['x', [3]]]), batch: 4 }));
    assert.deepEqual([run.failure, (run.levels[0]?.tally.requests ?? 0) > 0], [undefined, true]);
  }
});

test('options that do not fit the model are refused by words', async (t) => {
  const place = await placeOf(t, 'in process', { add });
  const refused = (options: Partial<PerfOptions>, message: RegExp): Promise<unknown> =>
    rejected(measured(perfOptions(place, 'add', options)), 'INVALID_ARG', message);
  await refused({ batch: 65 }, /at most 64 for --batch-size/);
  await refused({ shapes: new Map([['y', [1]]]) }, /--shape: model 'add' has no input 'y'/);
  await refused({ shapes: new Map([['x', [4, 4]]]) }, /expected a shape like \[16\] for 'x'/);
  await refused({ inputData: ['nowhere.json'] }, /'nowhere.json' cannot be read/);
  await refused({ inputData: ['random', 'zero'] }, /stand alone/);
  await rejected(measured(perfOptions(place, 'ad')), 'NOT_FOUND', /'ad'/);
});

test('files of data with faults are refused, with the place of the fault', async (t) => {
  const place = await placeOf(t, 'in process', { add });
  const folder = await temporaryFolder(t);
  const file = join(folder, 'data.json');
  const row = Array.from({ length: 16 }, () => 1);
  for (const [content, message] of [
    ['{', /data.json is not JSON/],
    ['{}', /data.json: data: expected a list of steps/],
    [{ data: [{}] }, /data\[0\]: input 'x' is missing/],
    [{ data: [{ x: row }, { x: row, z: 1 }] }, /data\[1\]: the model has no tensor 'z'/],
    [{ data: [{ x: [1, 2] }] }, /data.json: data\[0\].*x/],
    [{ data: [{ x: ['a', ...row.slice(1)] }] }, /x/],
    [{ data: [{ x: { b64: 'AAAA' } }] }, /'x' has 3 bytes; expected 16 elements of FP32/],
    [{ data: [{ x: { content: row, shape: [4, 4] } }] }, /expected a shape like \[16\]/],
    [{ data: [{ x: row }], validation_data: [] }, /validation_data: expected a list of 1 entries/],
    [{ data: [[{ x: row }], { x: row }] }, /both steps and lists of steps/],
  ] as const) {
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    await rejected(measured(perfOptions(place, 'add', { inputData: [file] })), 'INVALID_ARG', message);
  }
  const bytes = Buffer.from(Float32Array.from(row).buffer);
  await writeFile(
    file,
    JSON.stringify({ data: [{ x: { content: { b64: bytes.toString('base64') }, shape: [16] } }] }),
  );
  assert.equal((await measured(perfOptions(place, 'add', { inputData: [file] }))).failure, undefined);
  // A folder with a file for each tensor.
  const binary = await temporaryFolder(t);
  await writeFile(join(binary, 'x'), bytes);
  await writeFile(join(binary, 'y'), Buffer.from(Float32Array.from(row.map(() => 2)).buffer));
  assert.equal((await measured(perfOptions(place, 'add', { inputData: [binary] }))).failure, undefined);
  await writeFile(join(binary, 'y'), bytes);
  assert.match(
    String((await measured(perfOptions(place, 'add', { inputData: [binary] }))).failure?.error),
    /element 0 is 2, not 1/,
  );
});

test('an aborted run has the figures so far', async (t) => {
  const place = await placeOf(t, 'http', { add });
  const abort = new AbortController();
  const progress = {
    ...silent,
    window: () => {
      abort.abort();
    },
  };
  const run = await runPerf(perfOptions(place, 'add', {}, { trials: 1000 }), progress, abort.signal);
  const [level] = run.levels;
  assert.deepEqual([run.levels.length, level?.cut, level?.stable, run.failure], [1, true, false, undefined]);
  assert.ok((level?.tally.requests ?? 0) > 0);
});

for (const transport of ['http', 'grpc'] as const) {
  test(`${transport}: a server that ends in the middle ends the run, with the figures so far`, async (t) => {
    const own = await serve(t, { add });
    const url = await addressOf(t, transport, own);
    let windows = 0;
    const progress = {
      ...silent,
      window: () => {
        if (++windows === 2) void own.close({ timeoutMs: 0 });
      },
    };
    const run = await runPerf(
      perfOptions({ url }, 'add', {}, { trials: 1000 }),
      progress,
      new AbortController().signal,
    );
    const { error } = run.failure ?? {};
    assert.ok(error instanceof TritonError, String(error));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.ok((run.levels[0]?.tally.requests ?? 0) > 0);
    await rejected(measured(perfOptions({ url: 'http://127.0.0.1:9' }, 'add')), 'UNAVAILABLE', /127.0.0.1:9/);
  });
}

test('over TLS, with a header', async (t) => {
  const tls = await certificate(t);
  if (tls === undefined) return;
  const own = await serve(t, { add });
  const endpoint = await serveHttp(own, {
    port: 0,
    tls,
    restricted: [{ protocols: ['inference'], header: 'key', value: 'open' }],
  });
  t.after(() => endpoint.close({ timeoutMs: 0 }));
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  // The certificate is signed by itself.
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  t.after(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    return Promise.resolve();
  });
  const place = { url: `https://127.0.0.1:${endpoint.address.port}` };
  const run = await measured(perfOptions(place, 'add', { headers: { key: 'open' } }));
  assert.deepEqual([run.failure, (run.levels[0]?.tally.requests ?? 0) > 0], [undefined, true]);
  const refused = await measured(perfOptions(place, 'add'));
  assert.match(String(refused.failure?.error), /key/);
});

/** A server of plain KServe v2, without statistics and configurations, that answers in a way of its own. */
async function plainServer(
  t: Context,
  infer: (
    request: IncomingMessage,
    response: ServerResponse,
    parameters: Readonly<Record<string, unknown>>,
  ) => void,
  config?: object,
): Promise<string> {
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const length = Number(request.headers['inference-header-content-length'] ?? 0);
      const head = Buffer.concat(chunks).subarray(0, length).toString() || '{}';
      const { parameters = {} } = JSON.parse(head) as { parameters?: Readonly<Record<string, unknown>> };
      if (request.url?.endsWith('/infer') === true) infer(request, response, parameters);
      else if (request.url === '/v2/models/m/config' && config !== undefined)
        response.end(JSON.stringify(config));
      else if (request.url === '/v2/models/m')
        response.end(
          JSON.stringify({
            name: 'm',
            versions: ['1'],
            platform: '',
            inputs: [{ name: 'x', datatype: 'FP32', shape: [2] }],
            outputs: [{ name: 'y', datatype: 'FP32', shape: [2] }],
          }),
        );
      else if (request.url === '/v2/models/m/ready' || request.url === '/v2/health/live') response.end();
      else response.writeHead(404).end('Not Found');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
    return Promise.resolve();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answer = JSON.stringify({
  model_name: 'm',
  outputs: [{ name: 'y', datatype: 'FP32', shape: [2], data: [1, 2] }],
});

test('a plain KServe v2 server is measured, also with chunked answers and connections that it closes', async (t) => {
  let count = 0;
  const url = await plainServer(t, (_, response) => {
    count++;
    if (count % 5 === 0) response.setHeader('Connection', 'close');
    // Without a length Node sends chunks.
    if (count % 2 === 0) response.write(answer.slice(0, 20));
    response.end(count % 2 === 0 ? answer.slice(20) : answer);
  });
  const run = await measured(perfOptions({ url }, 'm'));
  const [level] = run.levels;
  assert.deepEqual([run.failure, level?.server], [undefined, undefined]);
  assert.ok((level?.tally.requests ?? 0) > 20);
});

test('answers that cannot be read, and errors of the server, end the run', async (t) => {
  for (const [infer, message] of [
    [
      (_: IncomingMessage, response: ServerResponse) => response.end('{}'),
      /cannot be read: it has no outputs/,
    ],
    [
      (_: IncomingMessage, response: ServerResponse) =>
        response.writeHead(400).end(JSON.stringify({ error: 'no such model' })),
      /^TritonError: no such model$/,
    ],
    [(request: IncomingMessage) => request.socket.end('what?\r\n\r\n'), /does not answer in HTTP/],
    [(request: IncomingMessage) => request.socket.destroy(), /no answer from/],
  ] as const) {
    const url = await plainServer(t, (request, response) => void infer(request, response));
    const run = await measured(perfOptions({ url }, 'm'));
    assert.match(String(run.failure?.error), message);
    assert.deepEqual(run.levels, []);
  }
});
