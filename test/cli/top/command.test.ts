/** `tritonts top`: flags, text and JSON of real servers. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { flagsText, tableOf } from '../../../src/cli/flags/help.js';
import { parseFlags } from '../../../src/cli/flags/parse-flags.js';
import { topFlagGroups, topFlags } from '../../../src/cli/top/flags.js';
import { topSettings, type TopSettings } from '../../../src/cli/top/settings.js';
import type { InferenceServer } from '../../../src/index.js';
import { serveMetrics, serveTop } from '../../../src/metrics/serve.js';
import { RemoteSource } from '../../../src/top/sources/remote-source.js';
import { figuresBetween, momentOf } from '../../../src/top/figures/top-figures.js';
import { addressOf, protocols } from '../../client/harness.js';
import { identity, row, serve, thrown, type Context } from '../../support/harness.js';
import { root } from '../../support/project.js';
import { temporaryFolder } from '../../support/repository.js';
import { command } from '../run.js';

const main = fileURLToPath(new URL('../../../command/main.js', import.meta.url));

function settings(...args: readonly string[]): TopSettings {
  return topSettings(parseFlags(topFlags, 'url', args));
}

async function metricsOf(t: Context, server: InferenceServer): Promise<string> {
  const endpoint = await serveMetrics(server, { port: 0 });
  t.after(() => endpoint.close());
  return `http://127.0.0.1:${endpoint.address.port}/metrics`;
}

/** Keeps a model busy until the test ends. */
function keepBusy(t: Context, server: InferenceServer, model: string): void {
  const timer = setInterval(() => {
    void server.infer(model, { x: row() }).catch(() => undefined);
  }, 5);
  t.after(() => {
    clearInterval(timer);
    return Promise.resolve();
  });
}

test('places are URLs, hosts and sockets', () => {
  const place = (...args: readonly string[]): unknown => settings(...args).place;
  const remote = { metricsUrl: undefined, headers: {} };
  assert.deepEqual(place(), { url: 'http://localhost:8000', ...remote });
  assert.deepEqual(place('host:9000'), { url: 'http://host:9000', ...remote });
  assert.deepEqual(place('-u', 'grpcs://host'), { url: 'grpcs://host', ...remote });
  assert.deepEqual(place('./app.sock'), { socket: './app.sock' });
  assert.deepEqual(place('/run/app.sock'), { socket: '/run/app.sock' });
  assert.deepEqual(place('unix:app.sock'), { socket: 'app.sock' });
  assert.deepEqual(place('unix:///run/app.sock'), { socket: '/run/app.sock' });
  assert.deepEqual(place('\\\\.\\pipe\\app'), { socket: '\\\\.\\pipe\\app' });
  assert.deepEqual(place('host', '-H', 'key:secret', '--metrics-url=http://b:1/m'), {
    url: 'http://host',
    metricsUrl: 'http://b:1/m',
    headers: { key: 'secret' },
  });
  const { intervalMs, choice } = settings('-n0.5', '-s', 'p99', '--reverse', '-f', 'abc');
  assert.deepEqual([intervalMs, choice], [500, { sort: 'p99', reverse: true, filter: 'abc' }]);
});

test('wrong flags are refused by words', async (t) => {
  const refused = (...args: readonly string[]): string => thrown(() => settings(...args)).message;
  assert.match(refused('ftp://a'), /expected the URL of a server/);
  assert.match(refused('http://a b'), /expected the URL of a server/);
  assert.match(refused('a', 'b'), /expected one server but received 'a' and 'b'/);
  assert.match(refused('-s', 'size'), /expected one of model, version, state/);
  assert.match(refused('-n', '0'), /from 0.1 to 3600 for --interval/);
  assert.match(refused('./s', '--metrics-url=http://a'), /--metrics-url needs the URL of a server/);
  assert.match(refused('--metrics-url=grpc://a'), /http or https for --metrics-url/);
  assert.match(refused('-H', 'x'), /name:value for --header/);
  assert.equal((await command(t, 'top', '--wrong')).code, 2);
  const { code, stdout } = await command(t, 'top', '--help');
  assert.equal(code, 0);
  assert.match(stdout, /--metrics-url=<url>/);
});

test('the page has the table of the flags', async () => {
  const page = await readFile(join(root, 'docs/top.md'), 'utf8');
  const plain = (text: string): string => text.replaceAll(/[ -]{2,}/g, ' ').replaceAll(/ +\|/g, ' |');
  assert.ok(
    plain(page).includes(plain(tableOf(topFlagGroups))),
    `docs/top.md needs this table:\n\n${tableOf(topFlagGroups)}`,
  );
  assert.ok(flagsText(topFlagGroups).includes('-n, --interval=<seconds>'));
});

test('the command lines of the page are understood', async () => {
  const page = await readFile(join(root, 'docs/top.md'), 'utf8');
  const lines = [...page.matchAll(/^npx tritonts top(.*)$/gm)].map(([, rest = '']) => rest);
  assert.ok(lines.length >= 5);
  for (const line of lines)
    settings(
      ...line
        .replace(/\s*[#|>].*$/, '')
        .split(/\s+/)
        .filter((word) => word !== ''),
    );
});

for (const protocol of protocols)
  test(`a server is shown over ${protocol}, with percentiles of its histograms`, async (t) => {
    const server = await serve(t, { echo: identity(), idle: identity() });
    keepBusy(t, server, 'echo');
    const url = await addressOf(t, protocol, server);
    const metrics = await metricsOf(t, server);
    const { code, stdout, stderr } = await command(
      t,
      'top',
      ...[url, '--metrics-url', metrics, '--once', '-n', '0.5'],
    );
    assert.equal(code, 0, stderr);
    const [head = '', , titles = '', first = '', second = ''] = stdout.split('\n');
    assert.match(head, /^[\dT:.-]+Z {2}tritonts \S+ {2}\S+ {2}ready {2}2 of 2 ready {2}[\d.]+ req\/s/);
    assert.match(titles, /^model +ver +state +req\/s/);
    const cells = first.split(/\s+/);
    assert.deepEqual(cells.slice(0, 3), ['echo', '1', 'READY']);
    // Requests a second, mean, p50, p95 and p99 are known.
    for (const at of [3, 5, 6, 7, 8]) assert.ok(Number(cells[at]) > 0, `${at}: ${first}`);
    assert.match(second, /^idle +1 +READY +0 +0 +- /);
  });

test('the figures are those of the statistics', async (t) => {
  const server = await serve(t, { echo: identity() });
  const url = await addressOf(t, 'http', server);
  const source = new RemoteSource({
    url,
    metricsUrl: await metricsOf(t, server),
    headers: {},
    timeoutMs: 5000,
  });
  t.after(() => source.close());
  const { signal } = new AbortController();
  const before = momentOf(await source.read(signal));
  const then = server.statistics('echo')[0]?.inference_stats.success;
  for (let i = 0; i < 50; i++) await server.infer('echo', { x: row() });
  const after = momentOf(await source.read(signal));
  const now = server.statistics('echo')[0]?.inference_stats.success;
  assert.ok(then !== undefined && now !== undefined);
  const { models, seconds } = figuresBetween(before, after);
  const [echo] = models;
  assert.ok(echo !== undefined && seconds !== undefined && seconds > 0);
  assert.equal(Math.round((echo.requestsPerS ?? 0) * seconds), 50);
  const meanMs = (now.ns - then.ns) / 50 / 1e6;
  assert.ok(Math.abs((echo.latency.meanMs ?? 0) - meanMs) < 1e-9);
  assert.equal(echo.latency.source, 'histogram');
  assert.equal(echo.instances, 1);
  // A bucket is at most 2.5 times as wide as the next one, so the median is near the mean of equal requests.
  assert.ok((echo.latency.p50Ms ?? 0) > 0 && (echo.latency.p50Ms ?? Infinity) < meanMs * 10);
});

test('JSON is an object a line', async (t) => {
  const server = await serve(t, { echo: identity() });
  const endpoint = await serveTop(server, { path: join(await temporaryFolder(t), 's') });
  t.after(() => endpoint.close());
  const { path } = endpoint;
  const { stdout } = await command(t, 'top', path, '--json', '--once', '-n', '0.2');
  const { models } = JSON.parse(stdout) as { readonly models: readonly Readonly<Record<string, unknown>>[] };
  assert.deepEqual(
    models.map(({ model, state, requests_per_s: rate }) => [model, state, rate]),
    [['echo', 'READY', 0]],
  );
});

test('a server that does not answer: exit code 1 with --once', async (t) => {
  const { code, stderr } = await command(t, 'top', 'http://127.0.0.1:9', '--once');
  assert.equal(code, 1);
  assert.match(stderr, /^[\dT:.-]+Z {2}http:\/\/127.0.0.1:9: UNAVAILABLE: /);
  const json = await command(t, 'top', join(await temporaryFolder(t), 'no'), '--once', '--json');
  assert.equal(json.code, 1);
  assert.match((JSON.parse(json.stdout) as { readonly error: string }).error, /^UNAVAILABLE: no answer from/);
  // The name and password of a URL are not shown.
  const secret = await command(t, 'top', 'http://user:secret@127.0.0.1:9', '--once');
  assert.doesNotMatch(secret.stderr + secret.stdout, /secret/);
});

/** A server of other software: what it says is in its hands. */
async function foreign(t: Context, answers: Readonly<Record<string, unknown>>): Promise<string> {
  const listener: RequestListener = (request, response) => {
    const { [`${request.method} ${request.url}`]: answer } = answers;
    request.resume();
    response.statusCode = answer === undefined ? 404 : 200;
    response.setHeader('content-type', 'application/json');
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer ?? { error: 'no' }));
  };
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
    return Promise.resolve();
  });
  // It listens on a port.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('escape sequences of a server do not reach the terminal', async (t) => {
  const name = 'a\u001b]0;title\u0007\u009b2J\nb';
  const url = await foreign(t, {
    'GET /v2': { name: `s\u001b[2J`, version: '\u001b[31m1', extensions: [] },
    'GET /v2/health/live': '',
    'GET /v2/health/ready': '',
    'GET /v2/models/stats': { model_stats: [] },
    'POST /v2/repository/index': [{ name, version: '1', state: 'UNAVAILABLE', reason: 'r\u001b[5m' }],
    'GET /metrics': 'nv_gpu_utilization{gpu_uuid="g\u001b[7m"} 0.5\n',
  });
  for (const form of [[], ['--json']]) {
    const { code, stdout, stderr } = await command(
      t,
      'top',
      ...[url, '--metrics-url', `${url}/metrics`, '--once', '-n', '0.1', ...form],
    );
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    assert.match(stdout, /a\\u001b\]0;title/);
  }
});

test('statistics of another form are left out', async (t) => {
  const url = await foreign(t, {
    'GET /v2': { name: 's', version: '1', extensions: [] },
    'GET /v2/health/live': '',
    'GET /v2/health/ready': '',
    'GET /v2/models/stats': { model_stats: [{ name: 'odd', version: '1' }, { name: 3 }] },
  });
  const { code, stdout, stderr } = await command(
    t,
    'top',
    ...[url, '--metrics-url', `${url}/metrics`, '--once', '-n', '0.1'],
  );
  assert.equal(code, 0, stderr);
  // A hint would repeat the flag that was given.
  assert.match(stdout, /no metrics, so no percentiles: no answer from .*status 404$/m);
});

test('in a pipe there is a table each interval, and the command ends when its reader leaves', async (t) => {
  const server = await serve(t, { echo: identity() });
  const endpoint = await serveTop(server, { path: join(await temporaryFolder(t), 's') });
  t.after(() => endpoint.close());
  const { path } = endpoint;
  const child = spawn(process.execPath, [main, 'top', path, '-n', '0.1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let text = '';
  child.stdout.on('data', (bytes: Buffer) => {
    text += bytes.toString();
    if ((text.match(/^model /gm) ?? []).length >= 2) child.stdout.destroy();
  });
  await ended;
  assert.equal(child.exitCode, 0);
  assert.match(text, /\n\n[\dT:.-]+Z {2}tritonts /, 'an empty line stands between two tables');
  assert.doesNotMatch(text, /\u001b/);
});
