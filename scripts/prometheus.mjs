// Tests the metrics with Prometheus itself: `promtool check metrics`, a scrape of a process that serves a text classifier,
// and queries of dashboards written for Triton, whose answers are checked.
//
// Prometheus is Debian's package. If it is missing, apt-get installs it, as root. If that is not possible, or takes longer
// than some minutes, the test is skipped with a message, and does not fail.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createServer } from '../dist/src/index.js';
import { serveMetrics } from '../dist/src/metrics/serve.js';
import { whyMissing } from './debian-package.mjs';
import { identity } from '../dist/test/support/harness.js';
import { writeRepository } from '../dist/test/support/repository.js';

/** Allowed complaints of promtool, about Triton's names, by the end of the line. */
const allowed = [
  'counter metrics should have "_total" suffix',
  'metric names should not contain abbreviated units',
  "metric name should not include type 'histogram'",
  "metric name should not include type 'summary'",
  'non-histogram metrics should not have "_bucket" suffix',
  'non-histogram metrics should not have "le" label',
  'non-histogram and non-summary metrics should not have "_count" suffix',
  'use base unit "seconds" instead of "microseconds"',
  'use base unit "seconds" instead of "milliseconds"',
];

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createNetServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Values of labels that need escapes, or that a reader may get wrong. */
const strange = [
  'a "b"',
  'back\\slash',
  '\\n',
  'two\nlines',
  'two\r\nlines',
  'tab\t',
  ' ',
  '{a="b"} 1',
  '# HELP strange',
  '\u0000',
  '\u007f',
  '\u2028',
  '\ufffe',
  'é😀',
  'x'.repeat(10_000),
];

const failures = [];
const expect = (holds, text) => {
  console.log(`${holds ? 'ok' : 'FAILED'}: ${text}`);
  if (!holds) failures.push(text);
};

/** Checks the text with promtool. It must read the text, and may complain only about Triton's names. */
function checkText(text) {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
  // Exit code 3: promtool has read the text, and complains.
  expect(status === 0 || status === 3, `promtool reads the text (it ended with ${status})`);
  const others = complaints.filter((line) => !allowed.some((end) => line.endsWith(end)));
  expect(
    others.length === 0,
    `promtool dislikes nothing but names of Triton's${others.map((line) => `\n  ${line}`).join('')}`,
  );
}

async function query(port, text, time) {
  const at = time === undefined ? '' : `&time=${time}`;
  const response = await fetch(
    `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(text)}${at}`,
  );
  const { status, data, error } = await response.json();
  if (status !== 'success') throw new Error(`${text}: ${error}`);
  return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
}

/** Waits until the answer of a query satisfies `isThere`, and returns it. */
async function until(port, text, isThere) {
  for (const end = performance.now() + 60_000; ; await setTimeout(200)) {
    const result = await query(port, text).catch(() => []);
    if (isThere(result)) return result;
    if (performance.now() > end) return undefined;
  }
}

const show = (result) => result?.map(({ value }) => value).join(', ') ?? 'none in 60 s';

async function main(folder) {
  const repository = await writeRepository(join(folder, 'models'), {
    text_classifier: identity({
      delayMs: 3,
      more: `metric_tags { key: "team" value: "\\"a\\\\\\nb\\"" }`,
    }),
  });
  const server = await createServer(repository, {
    metricsConfig: { summaryLatencies: true, histogramLatencies: true },
  });
  server
    .metric({ name: 'orders', help: 'Orders', type: 'histogram', labels: { shop: 'a "b"\\' } })
    .observe(3);
  strange.forEach((value, i) => {
    const name = 'strange';
    server.metric({ name, help: 'Values\nof "labels" \\', type: 'gauge', labels: { value } }).set(i);
  });
  const endpoint = await serveMetrics(server, { port: 0 });
  const model = server.model('text_classifier');
  const ask = (signal) => model.infer({ x: new Float32Array(16) }, { signal });
  let answered = 0;
  let cancelled = 0;
  const work = async () => {
    await Promise.all(Array.from({ length: 8 }, ask.bind(undefined, undefined)));
    answered += 8;
    const controller = new AbortController();
    const given = ask(controller.signal).catch(() => cancelled++);
    await setTimeout(1);
    controller.abort();
    await given;
  };
  await work();
  checkText(server.metrics());

  const port = await freePort();
  const config = join(folder, 'prometheus.yml');
  const target = `${endpoint.address.host}:${endpoint.address.port}`;
  writeFileSync(
    config,
    `global: { scrape_interval: 1s }\nscrape_configs: [ { job_name: demo, static_configs: [ { targets: [ "${target}" ] } ] } ]\n`,
  );
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ];
  const prometheus = spawn('prometheus', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  try {
    const up = await until(port, 'up', (result) => result[0]?.value === 1);
    expect(up !== undefined, 'Prometheus scrapes it');
    // A rate needs counters that grow between scrapes.
    for (let i = 0; i < 40; i++) {
      await work();
      await setTimeout(100);
    }
    const count = 'nv_inference_count{model="text_classifier"}';
    const rows = (result) => result[0]?.value ?? 0;
    const counted = await until(port, count, (result) => rows(result) >= answered);
    const statistics = server.statistics('text_classifier')[0];
    expect(
      rows(counted ?? []) === statistics.inference_count,
      `${count} is ${show(counted)}, and the statistics say ${statistics.inference_count}`,
    );
    for (const [phase, least, most] of [
      // A run takes 3 ms, and a request may wait for a run that is under way.
      ['compute_infer', 2500, 60_000_000],
      ['queue', 0, 60_000_000],
    ]) {
      const text = `histogram_quantile(0.95, nv_inference_${phase}_duration_us_bucket{model="text_classifier"})`;
      const result = await until(port, text, (found) => found.length > 0);
      const value = result?.[0]?.value ?? NaN;
      expect(value > least && value < most, `${text} is ${show(result)} µs`);
    }
    const rate = 'rate(nv_inference_request_success[1m])';
    const rates = await until(port, rate, (result) => result[0]?.value > 0);
    expect(rates?.[0]?.value > 0 && rates[0].value < answered, `${rate} is ${show(rates)}`);
    const failure = 'rate(nv_inference_request_failure[1m])';
    const failed = await until(port, failure, (result) => result.length === 4);
    const byReason = Object.fromEntries((failed ?? []).map(({ metric, value }) => [metric.reason, value]));
    expect(
      byReason.CANCELED > 0 && byReason.REJECTED === 0 && byReason.BACKEND === 0 && byReason.OTHER === 0,
      `${failure} is ${JSON.stringify(byReason)}`,
    );
    expect(cancelled > 0, `${cancelled} requests were cancelled`);
    const labels = (await query(port, 'strange')).map(({ metric, value }) => [metric.value, value]);
    const wrong = strange.filter((text, i) => !labels.some(([has, value]) => has === text && value === i));
    expect(
      wrong.length === 0 && labels.length === strange.length,
      `labels have the values that they were given, however strange ${JSON.stringify(wrong)}`,
    );
    const tag = (await query(port, count))[0]?.metric._team;
    expect(tag === '"a\\\nb"', `the tag of the model is ${JSON.stringify(tag)}`);
  } finally {
    prometheus.kill();
    await new Promise((resolve) => {
      if (prometheus.exitCode === null && prometheus.signalCode === null) prometheus.once('exit', resolve);
      else resolve();
    });
    await endpoint.close();
    await server.close();
  }
}

const why = whyMissing('prometheus', ['prometheus', 'promtool']);
if (why !== undefined) {
  console.warn(`SKIPPED: Prometheus is not installed: ${why}. Whether it reads the metrics was not checked.`);
} else {
  const folder = mkdtempSync(join(tmpdir(), 'tritonts-prometheus-'));
  try {
    await main(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
  if (failures.length > 0) {
    console.error(`${failures.length} failed`);
    process.exitCode = 1;
  }
}
