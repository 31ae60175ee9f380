/** `server.metrics()` after known requests. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachServer, type InferenceServer, type MetricOptions } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { asking, faulty, gate, held } from '../faults/harness.js';
import {
  configText,
  identity,
  onnx,
  rejection,
  row,
  serve,
  statisticsAfter,
  thrown,
  until,
} from '../support/harness.js';
import { linesOf, seriesOf } from './read-text.js';

const phases = ['request', 'queue', 'compute_input', 'compute_infer', 'compute_output'] as const;

/** Le of the histograms of microseconds. */
const bounds = [
  ...[
    1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
  ],
  ...[1e6, 2.5e6, 5e6, 1e7, 3e7, 6e7],
].map(String);

/** The text's lines, with placeholders for numbers that depend on time. */
function timeless(text: string): string[] {
  return (
    text
      .replaceAll(
        /^((?:nv_\w+_us|nv_model_load_duration_secs|nv_cpu_\w+)(?:\{.*\})?) [\d.e+-]+$/gm,
        '$1 TIME',
      )
      .replaceAll(/^(nv_\w+_bucket\{.*le="[\d.]+".*\}) \d+$/gm, '$1 SOME')
      // The phases of loads have a test of their own.
      .replaceAll(/^(?:# \w+ )?tritonts_model_load_phase_.*\n/gm, '')
      .trim()
      .split('\n')
  );
}

test('the text of a server after known requests', async (t) => {
  const more = 'metric_tags { key: "team" value: "search" }';
  const server = await serve(t, { add: onnx(addModel(), { more }) });
  await Promise.all([1, 2, 3].map((rows) => server.infer('add', { x: row(0, rows * 16) })));
  await server.infer('add', { x: row() });
  const labels = '{_team="search",model="add",version="1"}';
  const le = (bound: string): string => `{_team="search",le="${bound}",model="add",version="1"}`;
  const reason = (of: string): string => `{_team="search",model="add",reason="${of}",version="1"}`;
  const what: Readonly<Record<(typeof phases)[number], string>> = {
    request: 'from call to response',
    queue: 'in the queue',
    compute_input: 'for gathering inputs',
    compute_infer: 'for the model itself',
    compute_output: 'for distributing outputs',
  };
  const family = (name: string, type: string, help: string): string[] => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
  ];
  assert.deepEqual(timeless(server.metrics()), [
    ...family('nv_inference_request_success', 'counter', 'Successful requests'),
    `nv_inference_request_success${labels} 4`,
    ...family(
      'nv_inference_request_failure',
      'counter',
      'Requests that failed after they were queued, by reason',
    ),
    ...['REJECTED', 'CANCELED', 'BACKEND', 'OTHER'].map(
      (why) => `nv_inference_request_failure${reason(why)} 0`,
    ),
    ...family('nv_inference_count', 'counter', 'Rows of successful requests'),
    `nv_inference_count${labels} 7`,
    ...family('nv_inference_exec_count', 'counter', 'Batches that ran, including failed ones'),
    `nv_inference_exec_count${labels} 2`,
    ...phases.flatMap((phase) => [
      ...family(
        `nv_inference_${phase}_duration_us`,
        'counter',
        `Microseconds of all successful requests ${what[phase]}`,
      ),
      `nv_inference_${phase}_duration_us${labels} TIME`,
    ]),
    ...phases.flatMap((phase) => [
      ...family(
        `nv_inference_${phase}_duration_us_bucket`,
        'counter',
        `Successful requests that took at most le microseconds ${what[phase]}`,
      ),
      ...bounds.map((bound) => `nv_inference_${phase}_duration_us_bucket${le(bound)} SOME`),
      `nv_inference_${phase}_duration_us_bucket${le('+Inf')} 4`,
    ]),
    ...family('nv_inference_pending_request_count', 'gauge', 'Requests that wait for a batch'),
    `nv_inference_pending_request_count${labels} 0`,
    ...family('nv_model_load_duration_secs', 'gauge', 'Seconds for loading the version'),
    `nv_model_load_duration_secs${labels} TIME`,
    ...family(
      'tritonts_inference_request_refused',
      'counter',
      'Requests that were refused before they were queued, mostly because the queue was full',
    ),
    `tritonts_inference_request_refused${labels} 0`,
    ...family('tritonts_inference_reruns', 'counter', 'Runs of halves of batches that failed as a whole'),
    `tritonts_inference_reruns${labels} 0`,
    ...family('nv_cpu_utilization', 'gauge', 'Busy share of all processors, 0 to 1'),
    'nv_cpu_utilization TIME',
    ...family('nv_cpu_memory_total_bytes', 'gauge', 'Memory of the machine or container'),
    'nv_cpu_memory_total_bytes TIME',
    ...family('nv_cpu_memory_used_bytes', 'gauge', 'Used memory of the machine or container'),
    'nv_cpu_memory_used_bytes TIME',
    ...family('tritonts_in_flight_bytes', 'gauge', 'Bytes of requests in flight'),
    'tritonts_in_flight_bytes 0',
  ]);
});

test('each phase of a load is counted, also of one that fails', async (t) => {
  const server = await serve(t, { add: onnx(), echo: identity() });
  const counts = (): Record<string, number> => {
    const series = seriesOf(server.metrics());
    const name = 'tritonts_model_load_phase_duration_secs_count';
    const phases = ['listing', 'reading', 'agents', 'download', 'open', 'start'];
    return Object.fromEntries(phases.map((phase) => [phase, series.get(`${name}{phase="${phase}"}`) ?? NaN]));
  };
  const before = { listing: 1, reading: 2, agents: 0, download: 2, open: 2, start: 2 };
  assert.deepEqual(counts(), before);
  await server.rescan();
  assert.deepEqual(counts(), { ...before, listing: 2 });
  const bad = await serve(t, { add: onnx(new Uint8Array(9)) }, { exitOnError: false });
  const series = seriesOf(bad.metrics());
  const bucket = 'tritonts_model_load_phase_duration_secs_bucket';
  assert.equal(series.get(`${bucket}{le="+Inf",phase="open"}`), 1);
  assert.equal(series.get(`${bucket}{le="+Inf",phase="start"}`), 0);
});

test('durations and their histograms are what the statistics say', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 3 }) });
  for (let i = 0; i < 5; i++) await Promise.all([1, 2].map(() => server.infer('slow', { x: row() })));
  const { inference_stats: stats } = await statisticsAfter(server, 'slow', 10);
  const series = seriesOf(server.metrics());
  const labels = '{model="slow",version="1"}';
  const keys = ['success', 'queue', 'compute_input', 'compute_infer', 'compute_output'] as const;
  phases.forEach((phase, i) => {
    const { ns } = stats[keys[i] ?? 'success'];
    assert.equal(series.get(`nv_inference_${phase}_duration_us${labels}`), Math.floor(ns / 1000));
    const counts = [...bounds, '+Inf'].map(
      (bound) =>
        series.get(`nv_inference_${phase}_duration_us_bucket{le="${bound}",model="slow",version="1"}`) ?? NaN,
    );
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
    );
    assert.equal(counts.at(-1), 10);
  });
  // Each run takes 3 ms at least.
  assert.equal(
    series.get('nv_inference_compute_infer_duration_us_bucket{le="2500",model="slow",version="1"}'),
    0,
  );
  assert.equal(series.get('nv_inference_request_duration_us_bucket{le="2500",model="slow",version="1"}'), 0);
});

test('counterLatencies: false leaves durations out, and nothing else', async (t) => {
  const server = await serve(t, { echo: identity() }, { metricsConfig: { counterLatencies: false } });
  await server.infer('echo', { x: row() });
  const text = server.metrics();
  assert.doesNotMatch(text, /duration_us/);
  const series = seriesOf(text);
  assert.equal(series.get('nv_inference_request_success{model="echo",version="1"}'), 1);
  assert.equal(series.get('nv_inference_count{model="echo",version="1"}'), 1);
});

test('histogramLatencies: first responses, with the buckets of the model', async (t) => {
  const more = `model_metrics { metric_control { metric_identifier { family: "nv_inference_first_response_histogram_ms" }
    histogram_options { buckets: [ 1, 10000 ] } } }`;
  const models = { own: identity({ delayMs: 2, more }), usual: identity() };
  const server = await serve(t, models, { metricsConfig: { histogramLatencies: true } });
  for (const model of ['own', 'usual']) await server.infer(model, { x: row() });
  const text = server.metrics();
  const name = 'nv_inference_first_response_histogram_ms';
  assert.deepEqual(linesOf(text, `# TYPE ${name}`), [`# TYPE ${name} histogram`]);
  assert.deepEqual(
    linesOf(text, name).filter((line) => line.includes('"own"') && !line.includes('_sum')),
    [
      `${name}_bucket{le="1",model="own",version="1"} 0`,
      `${name}_bucket{le="10000",model="own",version="1"} 1`,
      `${name}_bucket{le="+Inf",model="own",version="1"} 1`,
      `${name}_count{model="own",version="1"} 1`,
    ],
  );
  assert.ok((seriesOf(text).get(`${name}_sum{model="own",version="1"}`) ?? 0) >= 2);
  assert.deepEqual(
    linesOf(text, `${name}_bucket`).flatMap((line) => /le="(.*?)",model="usual"/.exec(line)?.[1] ?? []),
    ['100', '500', '2000', '5000', '+Inf'],
  );
});

test('summaryLatencies: quantiles of each phase, Nan without a sample', async (t) => {
  const server = await serve(
    t,
    { slow: identity({ delayMs: 3 }) },
    {
      metricsConfig: {
        summaryLatencies: true,
        summaryQuantiles: [
          [0.5, 0.05],
          [0.99, 0.001],
        ],
      },
    },
  );
  const name = 'nv_inference_compute_infer_summary_us';
  assert.deepEqual(linesOf(server.metrics(), name), [
    `${name}_count{model="slow",version="1"} 0`,
    `${name}_sum{model="slow",version="1"} 0`,
    `${name}{model="slow",quantile="0.5",version="1"} Nan`,
    `${name}{model="slow",quantile="0.99",version="1"} Nan`,
  ]);
  for (let i = 0; i < 5; i++) await server.infer('slow', { x: row() });
  await statisticsAfter(server, 'slow', 5);
  const quantile = (phase: string, q: string): number =>
    seriesOf(server.metrics()).get(
      `nv_inference_${phase}_summary_us{model="slow",quantile="${q}",version="1"}`,
    ) ?? NaN;
  await until(() => quantile('request', '0.5') > 0);
  for (const q of ['0.5', '0.99']) {
    assert.ok(quantile('compute_infer', q) >= 2970);
    assert.ok(quantile('request', q) >= 2970);
    assert.ok(quantile('compute_output', q) < quantile('compute_infer', q));
  }
});

test('versions stand in their order, and an unloaded model is gone', async (t) => {
  const config = configText({ more: 'version_policy { all { } }' });
  const server = await serve(
    t,
    { b: { config, versions: { '10': addModel(), '9': addModel() } }, a: identity() },
    { modelControlMode: 'explicit', loadModels: ['*'] },
  );
  const shown = (): string[] =>
    linesOf(server.metrics(), 'nv_inference_count').map(
      (line) => /model="(.*)",version="(.*)"/.exec(line)?.slice(1).join('/') ?? '',
    );
  assert.deepEqual(shown(), ['a/1', 'b/9', 'b/10']);
  await server.unloadModel('b');
  assert.deepEqual(shown(), ['a/1']);
  assert.doesNotMatch(server.metrics(), /"b"/);
});

test('requests that wait are pending, those that run are not', async (t) => {
  const closed = await gate(t);
  const server = await serve(t, { slow: held(closed, { batching: false }) });
  const requests = [1, 2, 3].map(() => server.infer('slow', { x: row() }));
  const pending = (): number | undefined =>
    seriesOf(server.metrics()).get('nv_inference_pending_request_count{model="slow",version="1"}');
  await until(() => pending() === 2);
  assert.ok((seriesOf(server.metrics()).get('tritonts_in_flight_bytes') ?? 0) > 0);
  await closed.open();
  await Promise.all(requests);
  assert.equal(pending(), 0);
});

test('failures are counted by reason', async (t) => {
  const server = await serve(t, { faulty: faulty({ batching: false }) });
  const ends = (fault: 'fails' | 'none' | 'slow', signal?: AbortSignal): Promise<unknown> =>
    server.infer('faulty', asking(fault), { signal }).catch(() => undefined);
  const controller = new AbortController();
  const requests = [ends('fails'), ends('none'), ends('slow'), ends('none', controller.signal)];
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort();
  await Promise.all(requests);
  const { fail_reasons: reasons, inference_stats: stats } = await statisticsAfter(server, 'faulty', 4);
  assert.equal(reasons.BACKEND, 1);
  assert.equal(reasons.CANCELED + stats.success.count, 3);
  assert.deepEqual([reasons.REJECTED, reasons.OTHER], [0, 0]);
  assert.equal(
    seriesOf(server.metrics()).get(
      'nv_inference_request_failure{model="faulty",reason="BACKEND",version="1"}',
    ),
    1,
  );
});

test('what a full queue refuses is refused, and what waits too long is REJECTED', async (t) => {
  const batching = 'default_queue_policy { max_queue_size: 2 allow_timeout_override: true }';
  const server = await serve(t, { slow: identity({ maxBatchSize: 1, batching, delayMs: 50 }) });
  const first = server.infer('slow', { x: row() });
  const options = { timeoutUs: 5000 };
  const late = [1, 2].map(() => rejection(server.infer('slow', { x: row() }, options)));
  const refused = [1, 2, 3].map(() => rejection(server.infer('slow', { x: row() })));
  for (const { code } of await Promise.all([...late, ...refused])) assert.equal(code, 'UNAVAILABLE');
  await first;
  const statistics = await statisticsAfter(server, 'slow', 3);
  assert.deepEqual(statistics.fail_reasons, { REJECTED: 2, CANCELED: 0, BACKEND: 0, OTHER: 0 });
  assert.equal(statistics.refused, 3);
  const series = seriesOf(server.metrics());
  const labels = '{model="slow",version="1"}';
  assert.equal(series.get(`nv_inference_request_success${labels}`), 1);
  assert.equal(series.get(`tritonts_inference_request_refused${labels}`), 3);
  assert.equal(series.get('nv_inference_request_failure{model="slow",reason="REJECTED",version="1"}'), 2);
});

/** A fixed sequence of numbers from 0 to 1. */
function* draws(seed: number): Generator<number, never> {
  for (let state = seed; ;) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield state / 2 ** 31;
  }
}

test('what was answered, what failed and what was refused is what was sent', async (t) => {
  const server = await serve(t, {
    faulty: faulty({ maxBatchSize: 8, batching: 'max_queue_delay_microseconds: 500' }),
  });
  const random = draws(7);
  const next = (): number => random.next().value;
  const faults = [
    'none',
    'none',
    'none',
    'fails',
    'unavailable',
    'slow',
    'answers_twice',
    'wrong_rows',
  ] as const;
  const sent: Promise<unknown>[] = [];
  for (let round = 0; round < 60; round++) {
    const controller = new AbortController();
    for (let i = Math.floor(next() * 12); i >= 0; i--) {
      const fault = faults[Math.floor(next() * faults.length)] ?? 'none';
      const signal = next() < 0.3 ? controller.signal : undefined;
      sent.push(server.infer('faulty', asking(fault), { signal }).catch(() => undefined));
    }
    for (let turns = next() * 3; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
  }
  await Promise.all(sent);
  const total = ({
    inference_stats: { success, fail },
    refused,
  }: ReturnType<InferenceServer['statistics']>[number]): number => success.count + fail.count + refused;
  await until(() => server.statistics('faulty').every((one) => total(one) === sent.length));
  const [statistics] = server.statistics('faulty');
  assert.ok(statistics);
  const { REJECTED, CANCELED, BACKEND, OTHER } = statistics.fail_reasons;
  assert.equal(REJECTED + CANCELED + BACKEND + OTHER, statistics.inference_stats.fail.count);
  assert.ok(BACKEND > 0);
  const series = seriesOf(server.metrics());
  for (const phase of phases) {
    assert.equal(
      series.get(`nv_inference_${phase}_duration_us_bucket{le="+Inf",model="faulty",version="1"}`),
      statistics.inference_stats.success.count,
    );
  }
});

test('an attached server shows the same models', async (t) => {
  const owner = await serve(t, { echo: identity() }, { metricsConfig: { summaryLatencies: true } });
  const attached = await attachServer(structuredClone(owner.handle));
  t.after(() => attached.close({ timeoutMs: 0 }));
  await attached.infer('echo', { x: row() });
  const models = (server: InferenceServer): string[] =>
    linesOf(server.metrics(), 'nv_inference_').filter((line) => !line.includes('quantile'));
  assert.deepEqual(models(attached), models(owner));
  assert.match(attached.metrics(), /nv_inference_queue_summary_us\{.*quantile="0\.999"/);
});

test('metrics of the application stand behind those of the server', async (t) => {
  const server = await serve(t, { echo: identity() });
  server.metric({ name: 'orders_total', help: 'Orders', type: 'counter' }).increment(3);
  assert.match(
    server.metrics(),
    /\n# HELP orders_total Orders\n# TYPE orders_total counter\norders_total 3\n$/,
  );
});

test('scrape() makes the same text in many turns of the event loop; what was asked meanwhile shares the next one', async (t) => {
  const server = await serve(t, { echo: identity() });
  const at = (i: number): MetricOptions => ({
    ...{ name: 'depth', help: 'How deep', type: 'gauge' },
    labels: { at: String(i) },
  });
  for (let i = 0; i < 50_000; i++) server.metric(at(i));
  let turns = 0;
  let done = false;
  const count = (): void => {
    turns++;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  const first = server.scrape();
  server.metric(at(50_000));
  const others = [server.scrape(), server.scrape()];
  const text = await first;
  done = true;
  // The text takes at least 50 ms, and each turn spends a millisecond on it.
  assert.ok(turns >= 5, `${turns} turns`);
  const [second = '', third] = await Promise.all(others);
  assert.equal(second, third);
  assert.deepEqual(timeless(second), timeless(server.metrics()));
  assert.match(second, /^depth\{at="50000"\} 0$/m);
  assert.match(text, /^depth\{at="49999"\} 0$/m);
});

test('scrape() of a server that is closed meanwhile, or was before, is UNAVAILABLE', async (t) => {
  const models = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`m${i}`, identity()]));
  const server = await serve(t, models);
  for (let i = 0; i < 50_000; i++)
    server.metric({ name: 'a', help: 'A', type: 'gauge', labels: { at: String(i) } });
  const asked = Promise.allSettled([server.scrape(), server.scrape()]);
  await server.close();
  const [, second] = await asked;
  assert.equal(second.status, 'rejected');
  assert.equal((await rejection(server.scrape())).code, 'UNAVAILABLE');
});

test('tags and buckets that Prometheus does not take fail the load', async (t) => {
  const buckets = (list: string): string =>
    `model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { buckets: [ ${list} ] } } }`;
  for (const [more, message] of [
    [
      'metric_tags { key: "a-b" value: "x" }',
      /metric_tags\["a-b"\]: expected a key of letters, digits and _/,
    ],
    ['metric_tags { key: "_a" value: "x" }', /metric_tags\["_a"\]/],
    [
      buckets('2, 1'),
      /histogram_options\.buckets: expected finite numbers, each above the one before, but found 2, 1/,
    ],
    [buckets('1, inf'), /but found 1, Infinity/],
  ] as const) {
    const error = await rejection(serve(t, { echo: identity({ more }) }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
});

test('a closed server has no metrics', async (t) => {
  const server = await serve(t, { echo: identity() });
  await server.close();
  assert.equal(thrown(() => server.metrics()).code, 'UNAVAILABLE');
});
