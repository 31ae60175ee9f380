/** The web page's paths, without a browser. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { request as httpRequest } from 'node:http';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { parseFlags } from '../../../src/cli/serve/parse-flags.js';
import { settingsOf, type ServeSettings } from '../../../src/cli/serve/settings.js';
import { serveHttp, uiHandler, type HttpHandlerOptions } from '../../../src/endpoints/http/serve.js';
import { foreignHost } from '../../../src/endpoints/ui/foreign-host.js';
import { LoadHistory } from '../../../src/endpoints/ui/load-history.js';
import { identity, serve, thrown } from '../../support/harness.js';
import { root } from '../../support/project.js';
import type { Context } from '../../support/repository.js';

const own = { 'tritonts-ui': '1' };
const data = Array<number>(16).fill(1);
const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data }] });

async function served(
  t: Context,
  options: HttpHandlerOptions & { readonly ui?: boolean } = {},
): Promise<string> {
  const server = await serve(t, { echo: identity() });
  const endpoint = await serveHttp(server, { port: 0, ui: true, ...options });
  t.after(() => endpoint.close({ timeoutMs: 0 }));
  return `http://127.0.0.1:${endpoint.address.port}`;
}

/** Fetches without the headers that `fetch` adds. */
async function asked(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<number> {
  const sent = httpRequest(url, { method, headers, agent: false });
  sent.end(method === 'POST' ? body : undefined);
  // The event's type is not declared.
  const [response] = (await once(sent, 'response')) as [{ readonly statusCode: number; resume(): void }];
  response.resume();
  return response.statusCode;
}

test('there is no page by default', async (t) => {
  const url = await served(t, { ui: false });
  for (const path of ['/ui', '/ui/', '/ui/state', '/ui/v2/models/echo/infer'])
    assert.equal(await asked(`${url}${path}`, own), 404, path);
});

test('all files have a strict policy, and need nothing of other places', async (t) => {
  const url = await served(t);
  const modules = ['page.js', 'dom.js', 'half.js', 'request/form.js'];
  for (const path of ['', ...modules, 'page.css', 'icon.svg'].map((name) => `/ui/${name}`)) {
    const response = await fetch(`${url}${path}`);
    assert.equal(response.status, 200, path);
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'none'; script-src 'self';/);
    assert.doesNotMatch(policy, /unsafe|\*|http|data:/);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(response.headers.get('x-frame-options'), 'DENY');
    const text = await response.text();
    assert.deepEqual(
      text.match(/https?:\/\/[^"'\s]+/g)?.filter((one) => one !== 'http://www.w3.org/2000/svg') ?? [],
      [],
    );
    assert.doesNotMatch(
      text,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b| on\w+="| style="/,
    );
  }
  assert.equal((await fetch(`${url}/ui`, { redirect: 'manual' })).headers.get('location'), 'ui/');
  assert.equal(await asked(`${url}/ui/other`), 404);
  assert.equal(await asked(`${url}/ui/`, {}, 'POST'), 405);
  assert.equal(await asked(`${url}/ui/`, {}, 'HEAD'), 200);
});

test('data and requests need the header of the page, and are refused to other sites', async (t) => {
  const url = await served(t);
  for (const [path, method] of [
    ['/ui/state', 'GET'],
    ['/ui/v2/models/echo/infer', 'POST'],
    ['/ui/v2/models/echo', 'GET'],
  ] as const) {
    assert.equal(await asked(`${url}${path}`, {}, method), 403, path);
    assert.equal(await asked(`${url}${path}`, own, method), 200, path);
    for (const site of ['cross-site', 'same-site', 'none'])
      assert.equal(await asked(`${url}${path}`, { ...own, 'sec-fetch-site': site }, method), 403, site);
    assert.equal(await asked(`${url}${path}`, { ...own, 'sec-fetch-site': 'same-origin' }, method), 200);
  }
});

test('a name of another site that leads to this machine is refused, and those of proxies are not', async (t) => {
  const url = await served(t);
  const { port } = new URL(url);
  for (const [host, status] of [
    [`other.site:${port}`, 403],
    [`localhost.other.site:${port}`, 403],
    [`127.0.0.1.other.site:${port}`, 403],
    [`other:site:${port}`, 403],
    [`127.0.0.1:${port}`, 200],
    [`[::1]:${port}`, 200],
    [`LOCALHOST:${port}`, 200],
    [`models.localhost.:${port}`, 200],
    [`${hostname()}:${port}`, 200],
    // A proxy passes on the name that its clients use, with its own port.
    ['models.site', 200],
    ['models.site:8443', 200],
  ] as const)
    for (const [path, method] of [
      ['/ui/state', 'GET'],
      ['/ui/v2/models/echo/infer', 'POST'],
    ] as const)
      assert.equal(await asked(`${url}${path}`, { ...own, host }, method), status, `${host} ${path}`);
});

test('connections over any address of this machine are checked, and those of others are not', () => {
  for (const [localAddress, remoteAddress, isChecked] of [
    ['127.0.0.1', '127.0.0.1', true],
    ['::ffff:127.0.0.1', '127.0.0.1', true],
    ['::1', '::1', true],
    ['192.0.2.1', '192.0.2.1', true],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.1', true],
    ['::FFFF:192.0.2.1', '192.0.2.1', true],
    ['2001:db8::1', '2001:db8::1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['2001:db8::1', '2001:db8::2', false],
  ] as const) {
    const asked = (host: string): string | undefined =>
      foreignHost({ socket: { localAddress, remoteAddress, localPort: 8000 }, headers: { host } });
    assert.equal(asked('other.site:8000'), isChecked ? 'other.site:8000' : undefined, localAddress);
    assert.equal(asked('other.site'), undefined);
    assert.equal(asked('192.0.2.1:8000'), undefined);
  }
});

test('only the calls of the page are below it', async (t) => {
  const url = await served(t);
  for (const [path, method, status] of [
    ['/ui/v2/repository/models/echo/unload', 'POST', 404],
    ['/ui/v2/logging', 'GET', 404],
    ['/ui/v2/models/echo/generate', 'POST', 404],
    ['/ui/v2/models/echo/generate_stream', 'POST', 404],
    ['/ui/v2/models/echo/infer', 'GET', 405],
    ['/ui/v2/models/echo/stream', 'GET', 405],
    ['/ui/v2/models/echo/config', 'POST', 405],
    ['/ui/v2/models/echo/versions/1/config', 'GET', 200],
    ['/ui/v2/models/other', 'GET', 404],
  ] as const)
    assert.equal(await asked(`${url}${path}`, own, method), status, `${method} ${path}`);
});

for (const group of [
  'ui',
  'metadata',
  'statistics',
  'model-repository',
  'model-config',
  'inference',
] as const)
  test(`the page shows nothing that the group '${group}' protects`, async (t) => {
    const url = await served(t, { restricted: [{ protocols: [group], header: 'key', value: 'secret' }] });
    const paths = {
      ui: ['/ui/state', '/ui/v2/models/echo', '/ui/v2/models/echo/config', '/ui/v2/models/echo/infer'],
      metadata: ['/ui/state', '/ui/v2/models/echo'],
      statistics: ['/ui/state'],
      'model-repository': ['/ui/state'],
      'model-config': ['/ui/state', '/ui/v2/models/echo/config'],
      inference: ['/ui/v2/models/echo/infer'],
    }[group];
    for (const path of paths) {
      const method = path.endsWith('/infer') ? 'POST' : 'GET';
      assert.equal(await asked(`${url}${path}`, own, method), 403, path);
      assert.equal(await asked(`${url}${path}`, { ...own, key: 'wrong' }, method), 403, path);
      assert.equal(await asked(`${url}${path}`, { ...own, key: 'secret' }, method), 200, path);
    }
    // The page itself is no secret: it asks for one.
    assert.equal(await asked(`${url}/ui/`), 200);
  });

test('a closed server is told of', async (t) => {
  const server = await serve(t, { echo: identity() });
  const endpoint = await serveHttp(server, { port: 0, ui: true });
  t.after(() => endpoint.close({ timeoutMs: 0 }));
  await server.close();
  assert.equal(await asked(`http://127.0.0.1:${endpoint.address.port}/ui/state`, own), 503);
});

test('wrong arguments are refused by words', async (t) => {
  const server = await serve(t, { echo: identity() });
  assert.match(
    thrown(() => uiHandler({} as typeof server)).message,
    /expected an InferenceServer for uiHandler/,
  );
  assert.match(
    thrown(() =>
      uiHandler(server, { restricted: [{ protocols: ['page' as 'ui'], header: 'a', value: 'b' }] }),
    ).message,
    /expected one of .*shared-memory, ui for/,
  );
});

test('the flag --ui has the page served at the HTTP port', () => {
  const settings = (...args: readonly string[]): ServeSettings =>
    settingsOf(parseFlags(['--model-repository=models', ...args]));
  assert.equal(settings().http?.ui, false);
  assert.equal(settings('--ui').http?.ui, true);
  assert.match(
    thrown(() => settings('--ui', '--allow-http=false')).message,
    /--ui needs --allow-http=true: the page is at the HTTP port/,
  );
  assert.deepEqual(settings('--ui', '--http-restricted-api=ui,metadata:key=secret').http?.restricted, [
    { protocols: ['ui', 'metadata'], header: 'key', value: 'secret' },
  ]);
});

test('the module of the page is that of its files', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/ui-page.mjs'), '--check'], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
});

test('each failed load is told, also of a served model', async (t) => {
  const server = await serve(t, { echo: identity() });
  const history = new LoadHistory(server);
  history.compare(await server.scrape());
  const publishes = channel('tritonts:model:fail');
  for (let i = 0; i < 3; i++)
    publishes.publish({ model: 'echo', versions: ['1'], error: new Error('bad file') });
  // Of another server of the process.
  publishes.publish({ model: 'other', versions: [], error: new Error('bad file') });
  await setImmediate();
  assert.deepEqual(
    history.compare(await server.scrape()).map(({ model, state, reason }) => [model, state, reason]),
    [['echo', 'READY', undefined], ...Array<string[]>(3).fill(['echo', 'load failed', 'bad file'])],
  );
});
