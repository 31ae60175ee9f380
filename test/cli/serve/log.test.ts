// Long: it starts many processes.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { lineHead } from '../../../src/cli/serve/log.js';
import { foreign } from '../../endpoints/grpc/harness.js';
import { ask, errorOf, json } from '../../endpoints/http/harness.js';
import { identity, until } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';
import { anyPorts, oneRow, repositoryOf, run } from './harness.js';

test('--log-verbose tells each request; --log-info=false tells nothing but that', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const served = run(t, repository, ...anyPorts, '--log-verbose=1');
  const http = await served.place('HTTPService');
  await ask(http, '/v2/models/one/infer', { body: oneRow });
  await served.said(/HTTP request from 127\.0\.0\.1: POST \/v2\/models\/one\/infer: 200, \d+\.\d{3} ms\n/);
  await ask(http, '/v2/%1b[31m');
  await served.said(/GET \/v2\/%1b\[31m: 404/);
  assert.match(served.log(), /model 'one', version 1: LOADING\n/);
});

test('settings of the log are read and changed over HTTP and gRPC, by their names in Triton', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const served = run(t, repository, '--http-port=0', '--metrics-port=0', '--grpc-port=0');
  const http = await served.place('HTTPService');
  const client = await foreign(t, await served.place('GRPCInferenceService'));
  const first = {
    log_file: '',
    log_info: true,
    log_warning: true,
    log_error: true,
    log_verbose_level: 0,
    log_format: 'default',
  };
  assert.deepEqual(json(await ask(http, '/v2/logging')), first);
  const { extensions } = json(await ask(http, '/v2')) as { extensions: string[] };
  assert.equal(extensions.at(-1), 'logging');
  await ask(http, '/v2/health/live');
  assert.doesNotMatch(served.log(), /request from/);
  const changes = { log_verbose_level: 1, log_format: 'ISO8601', log_file: null, whatever: [] };
  const changed = { ...first, log_verbose_level: 1, log_format: 'ISO8601' };
  assert.deepEqual(json(await ask(http, '/v2/logging', { body: changes })), changed);
  await ask(http, '/v2/health/ready');
  await served.said(
    /^\d{4}-\S+Z I \d+ tritonts\] HTTP request from 127\.0\.0\.1: GET \/v2\/health\/ready: 200/m,
  );
  await client.call('ServerLive');
  await served.said(
    /gRPC request from 127\.0\.0\.1: \/inference\.GRPCInferenceService\/ServerLive: status 0, /,
  );
  for (const [body, status, text] of [
    [{ log_file: '/etc/passwd' }, 501, /log_file/],
    [{ log_info: 1 }, 400, /expected true or false for log setting 'log_info'/],
    [{ log_verbose_level: -1 }, 400, /log_verbose_level/],
    [{ log_verbose_level: 2 ** 32 }, 400, /log_verbose_level/],
    [{ log_format: 'xml' }, 400, /expected one of default, ISO8601/],
    [[], 400, /expected an object/],
  ] as const)
    assert.match(errorOf(await ask(http, '/v2/logging', { body }), status), text);
  assert.deepEqual(json(await ask(http, '/v2/logging', { body: {} })), changed);
  const { settings } = await client.call('LogSettings', {
    settings: { log_verbose_level: { uint32_param: 0 }, log_info: { bool_param: false } },
  });
  const told = settings as Record<string, Record<string, unknown>>;
  assert.equal(told['log_verbose_level']?.['uint32_param'], 0);
  assert.equal(told['log_info']?.['bool_param'], false);
  assert.equal(told['log_format']?.['string_param'], 'ISO8601');
  assert.deepEqual(json(await ask(http, '/v2/logging')), {
    ...changed,
    log_verbose_level: 0,
    log_info: false,
  });
});

test('with --log-file the log is there, and stderr is empty; the file is appended to', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const file = join(await temporaryFolder(t), 'server.log');
  const read = (): Promise<string> => readFile(file, 'utf8').catch(() => '');
  for (const starts of [1, 2]) {
    const served = run(t, repository, ...anyPorts, '--log-file', file, '--log-format=ISO8601');
    await until(async () => (await read()).split('Started Metrics Service').length === starts + 1);
    served.child.kill('SIGTERM');
    const { code, stdout, stderr } = await served.ended;
    assert.deepEqual([code, stdout, stderr], [0, '', '']);
  }
  const text = await read();
  assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ I \d+ tritonts\] /);
  assert.equal(text.split('Signal (SIGTERM) received').length, 3);
});

test('with --log-format=json each line is an object, with the model and the code of an error', async (t) => {
  const failing = await repositoryOf(t, {
    one: identity(),
    bad: { config: 'backend: "nobody"', versions: { '1': {} } },
  });
  const served = run(
    t,
    failing,
    ...anyPorts,
    '--log-format=json',
    '--log-verbose=1',
    '--exit-on-error=false',
  );
  await served.said(/Started Metrics Service/);
  const lines = served
    .log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  for (const { time, level, pid, message } of lines) {
    assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.match(String(level), /^(error|warning|info|verbose)$/);
    assert.equal(pid, served.child.pid);
    assert.equal(typeof message, 'string');
  }
  const bad = lines.find(({ level, model }) => level === 'error' && model === 'bad');
  assert.match(String(bad?.['code']), /^(INVALID_ARG|UNSUPPORTED|NOT_FOUND)$/);
  // A table is one message of several lines.
  assert.ok(lines.some(({ message }) => String(message).includes('\n')));
});

test('--log-info=false leaves the warnings; what has no effect is told of', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const failing = await repositoryOf(t, {
    one: identity(),
    bad: { config: 'backend: "nobody"', versions: { '1': {} } },
  });
  const quiet = run(t, failing, ...anyPorts, '--log-info=false', '--exit-on-error=false');
  await quiet.said(/^E\d{4} .*bad/m);
  assert.doesNotMatch(quiet.log(), /^I/m);
  const hints = ['--grpc-infer-allocation-pool-size=4', '--backend-config=dali,threads=1'];
  const told = run(t, repository, ...anyPorts, ...hints);
  await told.place('HTTPService');
  assert.match(told.log(), /ignored --grpc-infer-allocation-pool-size: /);
  assert.match(told.log(), /ignored --backend-config=dali,.*: unknown backend 'dali'/);
});

test("a line's head is Triton's", () => {
  const time = Date.UTC(2026, 10, 24, 3, 4, 5, 6) + 0.789;
  assert.match(lineHead('W', time, 'default'), /^W1124 03:04:05\.00678[89] \d+ tritonts\]$/);
  assert.equal(lineHead('E', time, 'ISO8601'), `2026-11-24T03:04:05Z E ${process.pid} tritonts]`);
});
