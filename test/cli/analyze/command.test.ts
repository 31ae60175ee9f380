// Long: it measures for seconds.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, lstat, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ConsoleProgress } from '../../../src/cli/analyze/console-progress.js';
import { analyzeFlagGroups, analyzeFlags } from '../../../src/cli/analyze/flags.js';
import { reportAnalysis } from '../../../src/cli/analyze/report.js';
import { analyzeSettings, type AnalyzeSettings } from '../../../src/cli/analyze/settings.js';
import { checkConfigs, writeConfig } from '../../../src/cli/analyze/write-config.js';
import { tableOf } from '../../../src/cli/flags/help.js';
import { parseFlags } from '../../../src/cli/flags/parse-flags.js';
import { analysisText } from '../../../src/analyze/report/text.js';
import type { LevelFigures } from '../../../src/analyze/search/objective.js';
import type { Analysis } from '../../../src/analyze/analyze.js';
import { TritonError } from '../../../src/errors.js';
import { axis, figures, level } from '../../analyze/made-up.js';
import { configText, identity, rejection, thrown } from '../../support/harness.js';
import { root } from '../../support/project.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { command } from '../run.js';

function settings(...args: readonly string[]): AnalyzeSettings {
  return analyzeSettings(parseFlags(analyzeFlags, 'model-repository', args));
}

function refused(...args: readonly string[]): string {
  const { code, message } = thrown(() => settings(...args));
  assert.equal(code, 'INVALID_ARG');
  return message;
}

test('a folder is that of the model, or with -m a repository', () => {
  const alone = settings('/models/digits').options;
  assert.deepEqual([alone.model, alone.server.modelRepository], ['digits', ['/models']]);
  const named = settings('-m', 'digits', './a', '--model-repository=./b', '-x', '3').options;
  assert.deepEqual(
    [named.model, named.version, named.server.modelRepository],
    ['digits', '3', ['./a', './b']],
  );
});

test('its server has the options for links', () => {
  const { outsideLinks, trustedFolders } = settings('m', '--outside-links', '--trusted-folder=/a').options
    .server;
  assert.deepEqual([outsideLinks, trustedFolders], [true, ['/a']]);
  assert.match(refused('HTTP://host'), /cannot change those of the server HTTP:/);
});

test('objectives have levels and figures of their own', () => {
  const of = (...args: readonly string[]) => settings('m', ...args).options;
  assert.deepEqual([of().objective.goal, of().levels, of().budgetMs], ['throughput', [64], 120_000]);
  assert.deepEqual(of('--objective=p99<20ms').levels, [1, 4, 16, 64]);
  assert.deepEqual(of('--objective=p99<20ms').objective.limit, { latency: 'p99', ms: 20 });
  assert.deepEqual(of('--objective=latency').levels, [1, 8]);
  assert.equal(of('--objective=latency', '--percentile=95').objective.latency, 'p95');
  assert.equal(of('--objective=memory', '--max-memory=1.5').objective.mostMemoryBytes, 1.5 * 2 ** 20);
  assert.deepEqual(of('--concurrency=16,4,16').levels, [4, 16]);
  assert.deepEqual([of('--budget=2m').budgetMs, of('--budget', '1.5').budgetMs], [120_000, 1500]);
});

test('limits of settings are lists, ranges, or the present value', () => {
  const { limits } = settings(
    'm',
    '--search=instances=1:4',
    '--search=threads=default,2',
    '--search=delay=0',
    '--search=inline=present',
    '--search=max_batch_size=8',
  ).options;
  assert.deepEqual(Object.fromEntries(limits), {
    instances: { kind: 'range', least: 1, most: 4 },
    threads: { kind: 'values', values: ['default', 2] },
    delay: { kind: 'values', values: [0] },
    inline: { kind: 'present' },
    max_batch_size: { kind: 'values', values: [8] },
  });
});

test('wrong flags are refused by words, all at once', () => {
  assert.match(refused(), /needs a model's folder/);
  assert.match(refused('a', 'b'), /the folder of one model, but received a, b/);
  assert.match(refused('-m', 'm', 'http://localhost:8000'), /cannot change those of the server/);
  assert.match(
    refused('m', '--objective=p98<1ms', '--budget=0.5', '--concurrency=0'),
    /--objective[^]*--concurrency[^]*--budget/,
  );
  for (const text of ['soon', '5h', '100000s', '0s'])
    assert.match(refused('m', `--budget=${text}`), /--budget/, text);
  for (const text of ['', 'a', '1,,2', '1:8', '70000'])
    if (text !== '') assert.match(refused('m', `--concurrency=${text}`), /--concurrency/, text);
  assert.match(refused('m', '--percentile=99'), /needs --objective=latency/);
  assert.match(refused('m', '--search=instance=1'), /no setting 'instance' \(did you mean instances\?\)/);
  for (const text of [
    'instances=0',
    'instances=4:2',
    'instances=a',
    'instances',
    'inline=20000',
    'threads=auto',
  ])
    assert.match(refused('m', `--search=${text}`), /--search=/, text);
});

test('the page has the table of the flags, and its command lines are understood', async () => {
  const page = await readFile(join(root, 'docs/analyze.md'), 'utf8');
  const plain = (text: string): string => text.replaceAll(/[ -]{2,}/g, ' ').replaceAll(/ +\|/g, ' |');
  assert.ok(
    plain(page).includes(plain(tableOf(analyzeFlagGroups))),
    `docs/analyze.md needs this table:\n\n${tableOf(analyzeFlagGroups)}`,
  );
  const blocks = [...page.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, text = '']) => text);
  const lines = blocks
    .join('')
    .split('\n')
    .filter((line) => line.startsWith('npx tritonts analyze '));
  assert.ok(lines.length >= 4);
  for (const line of lines)
    settings(
      ...line
        .replace(/\s+#.*$/, '')
        .replaceAll("'", '')
        .split(/\s+/)
        .slice(3),
    );
});

/** Everything in a folder, with its content. */
async function contents(folder: string): Promise<Record<string, string>> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) =>
    one.isFile(),
  );
  const paths = files.map((one) => join(one.parentPath, one.name)).sort();
  return Object.fromEntries(
    await Promise.all(paths.map(async (path) => [path, await readFile(path, 'base64')] as const)),
  );
}

/** A short search of few candidates. */
const slow = identity({ delayMs: 4, maxBatchSize: 2 });
const quick = ['--budget=12s', '--concurrency=8', '--search=instances=1,4', '--search=max_batch_size=2,8'];
const quickly = [...quick, '--search=delay=present', '--search=preferred=present', '--search=inline=present'];

test('a search prints candidates, limits and a verdict, writes its reports, and leaves the models alone', async (t) => {
  const folder = await temporaryFolder(t);
  const repository = await writeRepository(join(folder, 'models'), { slow });
  const before = await contents(repository);
  const [json, plot] = [join(folder, 'a.json'), join(folder, 'a.svg')];
  const { code, stdout, stderr } = await command(
    t,
    ...['analyze', join(repository, 'slow'), ...quickly, '--json', json, '--plot', plot],
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^model 'slow': the most inferences a second; requests at once: 8$/m);
  assert.match(stdout, /^ {2}instances +\[1\] 4$/m);
  assert.match(stdout, /^not searched:\n/m);
  assert.match(stdout, /^at once +infer\/s +mean ms +p99 ms +candidate$/m);
  assert.match(stderr, /^\d+ of 12 s, the present configuration, 0 measurements$/m);
  assert.deepEqual(await contents(repository), before);
  const told = JSON.parse(await readFile(json, 'utf8')) as Record<string, unknown> & { tried: unknown[] };
  assert.deepEqual([told['tool'], told['model'], told['stopped']], ['tritonts analyze', 'slow', false]);
  assert.ok(told.tried.length >= 1);
  assert.equal(stdout.includes('--write writes this change'), told['proposed']);
  const picture = await readFile(plot, 'utf8');
  assert.match(picture, /^<svg xmlns=.*<\/svg>\n$/s);
  assert.match(picture, /Pareto front/);
});

/** An analysis with made-up figures: eight rows a batch are twice as fast. */
function madeUp(file: string, before: string): Analysis {
  const present = {
    figures: figures(level(1000)),
    score: { meets: true, value: 1000, level: 0 },
    values: [1000],
    ofLimit: undefined,
  };
  const best = {
    figures: figures(level(2000)),
    score: { meets: true, value: 2000, level: 0 },
    values: [2000],
    ofLimit: undefined,
  };
  const limit = { model: 'm', limit: 'batching', summary: 'They are small.' } as const;
  return {
    space: { cores: 2, axes: [axis('max_batch_size', [2, 8, 16], 16), axis('instances', [1, 2], 1)] },
    left: [],
    result: {
      tried: [
        { candidate: [2, 0], figures: present.figures, windowMs: 100, failure: undefined },
        { candidate: [1, 0], figures: best.figures, windowMs: 100, failure: undefined },
        { candidate: [1, 1], figures: undefined, windowMs: 0, failure: 'UNAVAILABLE: no memory' },
      ],
      best: [1, 0],
      verdict: {
        rounds: 9,
        windowMs: 100,
        present,
        best,
        ratio: { change: 1, interval: [0.95, 1.05], significant: true },
        limit: undefined,
      },
      proposed: true,
      stopped: false,
      elapsedMs: 1000,
    },
    presentLimits: [limit],
    bestLimits: [{ ...limit, limit: 'instances' }],
    files: [{ model: 'm', file, before, after: before.replace('16', '8') }],
  };
}

test('a proposed change is shown as a difference, with what limits both and what users would notice', async (t) => {
  const file = join(await temporaryFolder(t), 'config.pbtxt');
  await writeFile(file, '# Rows.\nmax_batch_size: 16\n');
  const said: string[] = [];
  t.mock.method(console, 'log', (text: string) => said.push(text));
  const { length } = said;
  assert.equal(await reportAnalysis(madeUp(file, '# Rows.\nmax_batch_size: 16\n'), settings('m')), undefined);
  const text = said.slice(length).join('\n');
  assert.match(text, /^present {2}1,000 infer\/s with 64 at once[^]*limit: batching\. They are small\.$/m);
  assert.match(text, /^best {5}2,000 infer\/s with 64 at once[^]*max_batch_size 8\n +limit: instances\. /m);
  assert.match(
    text,
    /^The best one is better by more than chance: \+100 % \(from \+95\.0 % to \+105 %\) in 9 rounds in turn\.$/m,
  );
  assert.match(text, /^Caution: model 'm' will refuse requests of more than 8 rows; now it takes 16\.$/m);
  assert.match(text, /^failed:\n {2}max_batch_size 8, instances 2: UNAVAILABLE: no memory$/m);
  assert.match(text, /^@@ -1,2 \+1,2 @@\n # Rows\.\n-max_batch_size: 16\n\+max_batch_size: 8$/m);
  assert.match(text, /^Nothing was written; --write writes this change\.$/m);
  assert.equal(await readFile(file, 'utf8'), '# Rows.\nmax_batch_size: 16\n');
});

test('--write writes the change', async (t) => {
  const file = join(await temporaryFolder(t), 'config.pbtxt');
  const before = '# Rows.\nmax_batch_size: 16\n';
  await writeFile(file, before);
  const said: string[] = [];
  t.mock.method(console, 'log', (text: string) => said.push(text));
  assert.equal(await reportAnalysis(madeUp(file, before), settings('m', '--write')), undefined);
  assert.equal(await readFile(file, 'utf8'), '# Rows.\nmax_batch_size: 8\n');
  assert.equal(said.at(-1), `wrote ${file}`);
  // The file is no longer what was analyzed.
  const again = await reportAnalysis(madeUp(file, before), settings('m', '--write'));
  assert.ok(again instanceof TritonError && again.code === 'UNAVAILABLE');
});

test('what is not decided is said to be so', () => {
  const analysis = madeUp('config.pbtxt', 'max_batch_size: 16\n');
  const { verdict } = analysis.result;
  assert.ok(verdict !== undefined);
  const textOf = (change: number, interval: readonly [number, number] | undefined): string =>
    analysisText(
      {
        ...analysis,
        files: [],
        result: {
          ...analysis.result,
          proposed: false,
          verdict: { ...verdict, ratio: { change, interval, significant: false } },
        },
      },
      settings('m').options.objective,
    );
  assert.match(textOf(0.02, [-0.03, 0.07]), /^Not decided .*\(from -3\.00 % to \+7\.00 %\).*--budget/m);
  assert.match(textOf(0.02, undefined), /^Not decided .* of unknown precision, /m);
  assert.match(textOf(-0.01, [-0.02, 0.005]), /^The best one is not better by 1 % or more: .* can stay\.$/m);
});

test('figures of both are of the same levels', () => {
  const analysis = madeUp('config.pbtxt', 'max_batch_size: 16\n');
  const { verdict } = analysis.result;
  assert.ok(verdict !== undefined);
  const of = (...levels: readonly LevelFigures[]) => ({ ...verdict.present, figures: figures(...levels) });
  const result = {
    ...analysis.result,
    verdict: {
      ...verdict,
      present: of(level(1000, 8), level(900, 32)),
      best: of(level(1500, 8), level(2000, 32)),
    },
  };
  const text = analysisText({ ...analysis, result }, settings('m').options.objective);
  assert.match(text, /^present  1,000 infer\/s with 8 at once.*\n {9}900 infer\/s with 32 at once/m);
  assert.match(text, /^best     1,500 infer\/s with 8 at once.*\n {9}2,000 infer\/s with 32 at once/m);
});

test('a folder that cannot be written is refused before the search', async (t) => {
  const folder = await temporaryFolder(t);
  const missing = join(folder, 'none', 'config.pbtxt');
  const { code, message } = await rejection(checkConfigs([missing]));
  assert.equal(code, 'INVALID_ARG');
  assert.match(message, /^--write: .*config\.pbtxt cannot be written: /);
  await checkConfigs([join(folder, 'config.pbtxt')]);
});

test('exit codes and messages', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), {
    slow,
    broken: { config: 'backend: "identity"\nmax_batch_size: "x"', versions: { '1': {} } },
  });
  const run = async (...args: readonly string[]): Promise<readonly [number, string]> => {
    const { code, stdout, stderr } = await command(t, 'analyze', ...args);
    // Nothing was found, so that only the search for nothing may begin.
    if (!stderr.includes('has nothing to search')) assert.equal(stdout, '');
    return [code, stderr];
  };
  assert.equal((await run())[0], 3);
  const [missing, why] = await run(join(repository, 'nothing'));
  assert.equal(missing, 99);
  assert.match(why, /NOT_FOUND: there is no folder 'nothing' of a model in /);
  const [broken, fault] = await run(join(repository, 'broken'));
  assert.equal(broken, 3);
  assert.match(fault, /config\.pbtxt:2/);
  const presents = ['instances', 'max_batch_size', 'delay', 'preferred', 'inline'].map(
    (name) => `--search=${name}=present`,
  );
  const [nothing, reason] = await run(join(repository, 'slow'), ...presents);
  assert.equal(nothing, 3);
  assert.match(reason, /model 'slow' has nothing to search: /);
  const [shape, text] = await run(join(repository, 'slow'), '--shape=z:4');
  assert.equal(shape, 3);
  assert.match(text, /INVALID_ARG: --shape: model 'slow' has no input 'z'/);
  const [unwritable, where] = await run(join(repository, 'slow'), '--plot', join(repository, 'no', 'a.svg'));
  assert.equal(unwritable, 3);
  assert.match(where, /cannot be written/);
});

test('the budget ends a load and a measurement that would go on for longer', async (t) => {
  // An answer takes much longer than the budget, and so does a load.
  const late = (where: 'initialize' | 'execute') => ({
    config: configText({ backend: 'javascript', maxBatchSize: 2 }),
    versions: {
      '1': {
        'model.js': `
const wait = () => new Promise((resolve) => setTimeout(resolve, 600_000));
export default {
  ${where === 'initialize' ? 'initialize: wait,' : ''}
  async execute(requests) {
    ${where === 'execute' ? 'await wait();' : ''}
    return requests.map(({ inputs }) => ({ y: inputs.x }));
  },
};
`,
      },
    },
  });
  const repository = await writeRepository(await temporaryFolder(t), {
    loads: late('initialize'),
    answers: late('execute'),
  });
  const run = async (model: string): Promise<string> => {
    const { code, stderr } = await command(t, 'analyze', join(repository, model), '--budget=3s');
    assert.equal(code, 3, stderr);
    return stderr;
  };
  assert.match(await run('loads'), /--budget of 3\.00 s is too short: model 'loads' was not loaded in it/);
  assert.match(
    await run('answers'),
    /--budget of 3\.00 s is too short: the present configuration was not measured in it, and a load of model 'answers' takes /,
  );
});

for (const [signal, wanted] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  test(`${signal} ends the search with what it has found`, async (t) => {
    const repository = await writeRepository(await temporaryFolder(t), { slow });
    const main = fileURLToPath(new URL('../../../command/main.js', import.meta.url));
    const child = spawn(process.execPath, [main, 'analyze', join(repository, 'slow'), '--budget=10m'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.after(() => child.kill('SIGKILL'));
    let [said, told] = ['', ''];
    child.stdout.on('data', (bytes: Buffer) => (said += String(bytes)));
    let interrupted = false;
    child.stderr.on('data', (bytes: Buffer) => {
      told += String(bytes);
      if (interrupted || !told.includes('the grid')) return;
      interrupted = true;
      child.kill(signal);
    });
    const [code] = (await once(child, 'close')) as [number | null];
    assert.equal(code, wanted, told);
    assert.match(told, /^ending with what was found so far/m);
    assert.match(
      said,
      /^The search was ended before (another candidate was measured|candidates were compared in turn)\./m,
    );
  });

test('on a terminal one line shows the search, and goes before the report', (t) => {
  const written: string[] = [];
  t.mock.method(process.stderr, 'write', (text: string) => {
    written.push(text);
    return true;
  });
  t.mock.method(console, 'log', () => undefined);
  const progress = new ConsoleProgress(true, settings('m').options);
  progress.opened({ cores: 2, axes: [axis('instances', [1, 2], 1)] }, []);
  progress.running({
    phase: 'grid',
    candidate: [1],
    best: { candidate: [0], score: { meets: true, value: 1234.5, level: 0 } },
    measurements: 3,
    elapsedMs: 4321,
    budgetMs: 60_000,
  });
  progress.clear();
  progress.clear();
  const [line = '', cleared] = written;
  const whole =
    '\r\u001b[K4 of 60 s, the grid, 3 measurements; the best so far: 1,235 infer/s, the present configuration; now instances 2';
  assert.ok(whole.startsWith(line) && line.startsWith('\r\u001b[K4 of 60 s, the grid'), line);
  assert.deepEqual([cleared, written.length], ['\r\u001b[K', 2]);
});

test('a configuration is replaced in one step, a link stays, and a file that changed meanwhile is left alone', async (t) => {
  const folder = await temporaryFolder(t);
  const [file, link] = [join(folder, 'real.pbtxt'), join(folder, 'config.pbtxt')];
  await writeFile(file, 'old', { mode: 0o640 });
  await symlink(file, link);
  await writeConfig({ model: 'm', file: link, before: 'old', after: 'new' });
  assert.equal(await readFile(file, 'utf8'), 'new');
  assert.ok((await lstat(link)).isSymbolicLink());
  assert.equal((await lstat(file)).mode & 0o777, 0o640);
  if (process.getuid?.() === 0) {
    await chown(file, 65_534, 65_533);
    await writeConfig({ model: 'm', file: link, before: 'new', after: 'newer' });
    const { uid, gid, mode } = await lstat(file);
    assert.deepEqual([uid, gid, mode & 0o777], [65_534, 65_533, 0o640]);
    await writeConfig({ model: 'm', file: link, before: 'newer', after: 'new' });
  }
  const { code, message } = await rejection(
    writeConfig({ model: 'm', file: link, before: 'old', after: 'x' }),
  );
  assert.equal(code, 'UNAVAILABLE');
  assert.match(message, /was not written: it was changed since the analysis began/);
  const fresh = join(folder, 'fresh.pbtxt');
  await writeConfig({ model: 'm', file: fresh, before: undefined, after: 'new' });
  assert.equal(await readFile(fresh, 'utf8'), 'new');
  assert.deepEqual((await readdir(folder)).sort(), ['config.pbtxt', 'fresh.pbtxt', 'real.pbtxt']);
});
