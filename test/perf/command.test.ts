// Long: it starts many processes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { flagsText, tableOf } from '../../src/cli/flags/help.js';
import { parseFlags } from '../../src/cli/flags/parse-flags.js';
import { ConsoleProgress } from '../../src/cli/perf/console-progress.js';
import { perfFlagGroups, perfFlags } from '../../src/cli/perf/flags.js';
import { perfSettings, type PerfSettings } from '../../src/cli/perf/settings.js';
import { addressOf } from '../client/harness.js';
import { command } from '../cli/run.js';
import { identity, onnx, serve, thrown } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { root } from '../support/project.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

const add = onnx(addModel(), { maxBatchSize: 64 });
/** Windows of 500 ms, of which three are always stable. */
const short = ['-p', '500', '--stability-percentage=1e9', '-r3'];

function settings(...args: readonly string[]): PerfSettings {
  return perfSettings(parseFlags(perfFlags, 'model-repository', args));
}

function refused(...args: readonly string[]): string {
  const { code, message } = thrown(() => settings(...args));
  assert.equal(code, 'INVALID_ARG');
  return message;
}

test('a place that stands alone is a server or models', async (t) => {
  for (const [place, url] of [
    ['localhost:9000', 'http://localhost:9000'],
    ['[::1]:9000', 'http://[::1]:9000'],
    ['grpc://host:1', 'grpc://host:1'],
    ['HTTP://host:1', 'HTTP://host:1'],
  ] as const)
    assert.deepEqual(settings('-m', 'add', place).options.place, { url });
  assert.deepEqual(settings('-m', 'add', '-i', 'grpc', 'host:1').options.place, { url: 'grpc://host:1' });
  const folder = join(await temporaryFolder(t), 'models:1');
  await mkdir(folder);
  assert.deepEqual(settings('-m', 'add', '-i', 'grpc', 'GRPC://host:1').options.place, {
    url: 'GRPC://host:1',
  });
  for (const models of [
    folder,
    's3://bucket/models',
    'S3://bucket/models',
    'FILE:///models',
    './models',
    'models',
  ])
    assert.ok('server' in settings('-m', 'add', models).options.place);
  assert.match(
    refused('-m', 'add', 'ftp://host'),
    /expected a server \(http:.*\) or models \(a folder, file:\/\/, s3:.*'ftp:\/\/host'$/,
  );
});

test('a server of this process has the options for links', () => {
  const links = ['--outside-links', '--trusted-folder=/a', '--trusted-folder', '/b'];
  const { place } = settings('-m', 'add', './models', ...links).options;
  assert.ok('server' in place);
  const { outsideLinks, trustedFolders } = place.server;
  assert.deepEqual([outsideLinks, trustedFolders], [true, ['/a', '/b']]);
  for (const flag of ['--outside-links', '--trusted-folder=/a'])
    assert.match(refused('-m', 'add', 'http://host', flag), /is for models of this process/);
});

test('the error of a model that cannot be loaded is its own', async (t) => {
  const folder = await temporaryFolder(t);
  await writeRepository(folder, { add });
  const { code, stderr } = await command(t, 'perf', '-m', 'ad', folder);
  assert.equal(code, 99);
  assert.match(
    stderr,
    /^tritonts: NOT_FOUND: model 'ad' is in no repository \(did you mean add\?\): looked in [^\n]*\n$/,
  );
});

test("perf_analyzer's flags are read, in each way of writing them", () => {
  const { options, files, ignored } = settings(
    ...[
      '-m',
      'add',
      '-u',
      'localhost:9000',
      '-i',
      'grpc',
      '-b4',
      '--concurrency-range=2:8:2',
      '-p',
      '1000',
      '-s=5',
      '-a',
    ],
    ...[
      '--shape',
      'x:3,224,224',
      '--shape=y:1',
      '-H',
      'key: secret',
      '--request-parameter',
      'a:b:c:string',
      '-f',
      'out.csv',
    ],
    ...[
      '--request-parameter=n:-3:int',
      '--percentile',
      '95',
      '-l',
      '20.5',
      '-x',
      '2',
      '--sequence-id-range',
      '7:9',
    ],
  );
  assert.deepEqual(options.place, { url: 'grpc://localhost:9000' });
  assert.deepEqual([options.model, options.version, options.batch], ['add', '2', 4]);
  assert.deepEqual(options.load, {
    mode: 'concurrency',
    range: { start: 2, end: 8, step: 2 },
    search: 'linear',
  });
  const { intervalMs, stabilityPercentage, percentile, latencyThresholdMs, trials } = options.plan;
  assert.deepEqual(
    [intervalMs, stabilityPercentage, percentile, latencyThresholdMs, trials],
    [1000, 5, 95, 20.5, 10],
  );
  assert.deepEqual(
    [...options.shapes],
    [
      ['x', [3, 224, 224]],
      ['y', [1]],
    ],
  );
  assert.deepEqual([options.headers, options.parameters], [{ key: 'secret' }, { a: 'b:c', n: -3 }]);
  assert.deepEqual([options.sequences.firstId, options.sequences.lastId], [7, 9]);
  assert.equal(files.csv, 'out.csv');
  assert.match(ignored.join(), /^--async has no effect: /);
});

test('places stand alone, or have flags', () => {
  const place = (...args: readonly string[]): unknown => settings('-m', 'm', ...args).options.place;
  assert.deepEqual(place(), { url: 'http://localhost:8000' });
  assert.deepEqual(place('-i', 'grpc'), { url: 'grpc://localhost:8001' });
  assert.deepEqual(place('grpcs://host'), { url: 'grpcs://host' });
  const server = {
    modelRepository: ['./a', './b'],
    instanceKind: undefined,
    backendDirectory: undefined,
    trustedFolders: [],
    outsideLinks: false,
  };
  assert.deepEqual(place('./a', '--model-repository=./b'), { server });
  assert.deepEqual(place('--service-kind=triton_c_api', './a', './b'), { server });
});

test('wrong flags are refused by words, all at once', () => {
  assert.match(refused('./models'), /^perf needs a model: -m <name>$/);
  assert.match(
    refused('-m', 'm', '--concurency-range', '1:4'),
    /unknown flag --concurency-range \(did you mean --concurrency-range\?\)/,
  );
  assert.match(refused('-m', 'm', '-Q'), /unknown flag -Q/);
  assert.match(refused('-m', '-b', '3'), /--model-name needs a value/);
  const both = refused('-m', 'm', '-b', '0', '-p', '10');
  assert.match(
    both,
    /integer from 1 to 1048576 for --batch-size but received '0'\n.*integer from 100 .* for --measurement-interval/,
  );
  for (const range of ['0:4', '4:1', 'a', '1:2:0', '1:2:3:4', '1.5', ''])
    assert.match(refused('-m', 'm', `--concurrency-range=${range}`), /concurrency-range/, range);
  assert.match(refused('-m', 'm', '--concurrency-range=1:0'), /needs --latency-threshold/);
  assert.match(
    refused('-m', 'm', '--request-rate-range=1:0', '-l5', '--binary-search'),
    /needs the end of --request-rate-range/,
  );
  assert.match(refused('-m', 'm', '--request-rate-range=5', '--concurrency-range=1'), /one kind of load/);
  assert.match(refused('-m', 'm', '--request-distribution=poisson'), /needs --request-rate-range/);
  assert.match(refused('-m', 'm', '--request-distribution=normal'), /one of constant, poisson/);
  assert.match(refused('-m', 'm', '--request-intervals=nowhere'), /nowhere cannot be read/);
  assert.match(refused('-m', 'm', 'http://a', './models'), /one place/);
  assert.match(refused('-m', 'm', 'http://a', 'http://b'), /one server/);
  assert.match(refused('-m', 'm', '-u', 'http://a b'), /expected a URL/);
  assert.match(refused('-m', 'm', '-u', 'http://a', '-i', 'grpc'), /--protocol=grpc does not fit/);
  assert.match(refused('-m', 'm', '--instance-kind=cpu'), /needs --model-repository/);
  assert.match(refused('-m', 'm', '--service-kind=triton_c_api'), /needs --model-repository/);
  assert.match(refused('-m', 'm', '--service-kind=torchserve'), /one of triton, triton_c_api/);
  assert.match(refused('-m', 'm', '--shared-memory=cuda'), /none or system for --shared-memory .*'cuda'/);
  assert.match(
    refused('-m', 'm', '--output-shared-memory-size=9'),
    /--output-shared-memory-size needs --shared-memory=system/,
  );
  assert.match(refused('-m', 'm', '--profile-export-file=x'), /not supported: single requests are not kept/);
  assert.match(refused('-m', 'm', '--collect-metrics'), /--collect-metrics is not supported/);
  for (const [flag, reason] of [
    ['--ssl-grpc-use-ssl=true', /use https:/],
    ['--trace-level=OFF', /traces are the server's/],
    ['--grpc-compression-algorithm=gzip', /only none/],
    ['--periodic-concurrency-range=1:4:1', /--concurrency-range/],
    ['--model-signature-name=x', /signatures/],
    ['-t4', /use --concurrency-range/],
    ['-c4', /use the end of --concurrency-range/],
    ['-d', /use --concurrency-range/],
    ['-z', /use --input-data=zero/],
  ] as const) {
    assert.match(refused('-m', 'm', flag), /is not supported/, flag);
    assert.match(refused('-m', 'm', flag), reason, flag);
  }
  for (const header of ['content-length: 3', 'Transfer-Encoding: chunked'])
    assert.match(refused('-m', 'm', '-H', header), /follows from the request/);
  assert.match(refused('-m', 'm', '--shape', 'x:-1'), /name:d1,d2,… for --shape/);
  assert.match(refused('-m', 'm', '-H', 'no colon'), /name:value for --header/);
  assert.match(refused('-m', 'm', '--request-parameter', 'a:1.5:int'), /--request-parameter/);
  assert.match(refused('-m', 'm', '--sequence-id-range=5:4'), /--sequence-id-range/);
});

test('the page has the table of the flags', async () => {
  const page = await readFile(join(root, 'docs/perf.md'), 'utf8');
  const plain = (text: string): string => text.replaceAll(/[ -]{2,}/g, ' ').replaceAll(/ +\|/g, ' |');
  assert.ok(
    plain(page).includes(plain(tableOf(perfFlagGroups))),
    `docs/perf.md needs this table:\n\n${tableOf(perfFlagGroups)}`,
  );
  assert.ok(flagsText(perfFlagGroups).includes('-m, --model-name=<name>'));
});

test('the command lines of the page are understood', async () => {
  const page = await readFile(join(root, 'docs/perf.md'), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, text = '']) => text);
  const lines = blocks
    .join('')
    .split('\n')
    .filter((line) => line.startsWith('npx tritonts perf '));
  assert.ok(lines.length >= 4);
  for (const line of lines)
    settings(
      ...line
        .replace(/\s*#.*$/, '')
        .split(/\s+/)
        .slice(3),
    );
});

test('the command prints figures, and writes CSV, JSON and a picture, which another run is compared with', async (t) => {
  const url = await addressOf(t, 'http', await serve(t, { add }));
  const folder = await temporaryFolder(t);
  const [csv, json, plot] = ['a.csv', 'a.json', 'a.svg'].map((name) => join(folder, name));
  assert.ok(csv !== undefined && json !== undefined && plot !== undefined);
  const load = ['-m', 'add', url, '--concurrency-range', '1:4:3', ...short];
  const first = await command(t, 'perf', ...load, '-f', csv, '--json', json, '--plot', plot);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /^model 'add', http:\/\/127.0.0.1:\d+\n\nconcurrency 1\n {2}requests /);
  assert.match(first.stdout, /\n {2}latency {8}mean [\d.]+ ms, p50 [\d.]+ ms, p90 /);
  assert.match(
    first.stdout,
    /\n {2}server {9}[\d.,]+ [µm]s: queue [\d.,]+ [µm]s, input [\d.,]+ [µm]s, infer /,
  );
  assert.match(first.stdout, /\n {2}batches {8}[\d,]+, mean /);
  assert.match(first.stdout, /\nconcurrency +infer\/s +mean ms +p50 ms [^\n]*\n +1 [^\n]*\n +4 [^\n]*yes\n$/);
  // Not on a terminal: a line a window.
  assert.equal(first.stderr.trim().split('\n').length, 6);
  assert.match(first.stderr, /^concurrency 1, window 1: [\d,.]+ infer\/s, mean [\d.]+ ms$/m);

  const [head = '', ...rows] = (await readFile(csv, 'utf8')).trimEnd().split('\n');
  assert.equal(
    head,
    'Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency',
  );
  const cells = rows.map((row) => row.split(',').map(Number));
  assert.deepEqual(cells.map(([concurrency]) => concurrency).sort(), [1, 4]);
  assert.ok((cells[0]?.[1] ?? 0) <= (cells[1]?.[1] ?? 0), 'ascending by throughput');
  assert.ok(cells.flat().every((value) => value >= 0));

  const told = JSON.parse(await readFile(json, 'utf8')) as Record<string, unknown> & {
    levels: Record<string, unknown>[];
  };
  assert.deepEqual(
    [told['tool'], told['model'], told['kind'], told.levels.length],
    ['tritonts perf', 'add', 'http', 2],
  );
  const [level] = told.levels;
  assert.deepEqual(Object.keys(level?.['columns'] ?? {}).slice(0, 13), head.split(','));
  const picture = await readFile(plot, 'utf8');
  assert.match(picture, /^<svg xmlns=.*<\/svg>\n$/s);
  assert.match(picture, /<title>p99: [\d.]+ at [\d.]+k?<\/title>/);

  const second = await command(
    t,
    'perf',
    ...load,
    '--compare',
    json,
    '--plot',
    plot,
    '--verbose-csv',
    '-f',
    csv,
  );
  assert.equal(second.code, 0, second.stderr);
  assert.match(second.stdout, /\nconcurrency +figure +before +now +change +99 %/);
  assert.match(second.stdout, /\n +4 +p99 latency +[\d.]+ ms +[\d.]+ ms +[+-]?[\d.]+ % +/);
  assert.match(await readFile(plot, 'utf8'), /p99, the other run/);
  assert.match(await readFile(csv, 'utf8'), /p99 latency,Avg latency,request\/response,response wait\n/);
  const third = await command(
    t,
    'perf',
    ...load,
    '--percentile=95',
    '--verbose-csv',
    '-f',
    csv,
    '-b2',
    '--compare',
    json,
  );
  assert.equal(third.code, 0, third.stderr);
  assert.match(third.stderr, /^the other run has 1 rows a request, this one 2$/m);
  // As perf_analyzer: the mean is left out if a percentile decides.
  assert.match(await readFile(csv, 'utf8'), /p99 latency,request\/response,response wait\n/);
});

test('on a terminal one line shows the running window, and goes before figures are printed', (t) => {
  const written: string[] = [];
  t.mock.method(process.stderr, 'write', (text: string) => {
    written.push(text);
    return true;
  });
  const said = t.mock.method(console, 'error', () => undefined);
  const progress = new ConsoleProgress(true, false);
  const load = { mode: 'concurrency', value: 8 } as const;
  const figures = { throughput: 1234.5, latencyMs: 0.5 };
  progress.running(load, 1, figures);
  progress.window(load, 1, figures);
  progress.running({ mode: 'request rate', value: 50 }, 2, figures);
  progress.clear();
  progress.clear();
  assert.deepEqual(written, [
    '\r\u001b[Kconcurrency 8, window 1: 1,235 infer/s, mean 0.50 ms',
    '\r\u001b[K50.0 requests/s, window 2: 1,235 infer/s, mean 0.50 ms',
    '\r\u001b[K',
  ]);
  assert.equal(said.mock.callCount(), 0);
});

test('exit codes are those of perf_analyzer', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { add });
  const code = async (...args: readonly string[]): Promise<readonly [number, string]> => {
    const { code: own, stderr } = await command(t, 'perf', ...args);
    return [own, stderr];
  };
  assert.equal((await code())[0], 3);
  const [wrong, text] = await code('-m', 'add', repository, '-b', '65');
  assert.equal(wrong, 3, text);
  assert.match(text, /^tritonts: INVALID_ARG: model 'add': expected at most 64/m);
  const [unstable, why] = await code('-m', 'add', repository, '-p100', '-r3', '-s0');
  assert.equal(unstable, 2, why);
  assert.match(why, /concurrency 1: the last windows are not stable/);
  assert.equal((await code('-m', 'add', 'http://127.0.0.1:9'))[0], 99);
  assert.equal((await code('-m', 'other', repository))[0], 99);
  const notThere = join(repository, 'no', 'file');
  assert.equal((await code('-m', 'add', repository, '--compare', notThere))[0], 3);
  await writeFile(join(repository, 'x.json'), '{"tool":"ab"}');
  const [form, message] = await code('-m', 'add', repository, '--compare', join(repository, 'x.json'));
  assert.equal(form, 3);
  assert.match(message, /is not a file of tritonts perf --json/);
  // Found before anything is measured.
  const [unwritable, where] = await code('-m', 'add', repository, ...short, '--json', notThere);
  assert.equal(unwritable, 3);
  assert.match(where, /file cannot be written/);
  const { code: helped, stdout } = await command(t, 'perf', '--help');
  assert.equal(helped, 0);
  assert.match(stdout, /--request-rate-range=<start:end:step>/);
});

test('intervals between requests are finite', async (t) => {
  const file = join(await temporaryFolder(t), 'intervals');
  for (const text of ['Infinity', '1e999', '-1', 'a', '0']) {
    await writeFile(file, text);
    assert.match(refused('-m', 'm', '--request-intervals', file), /--request-intervals/, text);
  }
});

test('a run without an answer fails', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), {
    hung: identity({ delayMs: 30_000 }),
  });
  const { code, stderr } = await command(t, 'perf', '-m', 'hung', repository, '-p', '100', '-r', '2');
  assert.equal(code, 99);
  assert.match(stderr, /^tritonts: UNAVAILABLE: concurrency 1: no request was answered$/m);
});

for (const [signal, wanted] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  test(`${signal} ends with the figures so far`, async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), { add });
    const main = fileURLToPath(new URL('../../command/main.js', import.meta.url));
    const args = [main, 'perf', '-m', 'add', repository, '-p', '100', '-r', '100000', '-s', '0'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    t.after(() => child.kill('SIGKILL'));
    let stdout = '';
    let stderr = '';
    let sent = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      // A second one would end it at once.
      if (!sent && stderr.includes('window 2:')) sent = child.kill(signal);
    });
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, wanted, stderr);
    assert.match(stderr, /ending with the figures so far/);
    assert.match(stdout, /^concurrency 1 \(not complete\)$/m);
    assert.match(stdout, /\nconcurrency +infer\/s/);
  });
