// Long: it starts many processes.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launcherOf } from '../../../src/cli/serve/launcher.js';
import { ask } from '../../endpoints/http/harness.js';
import { identity, until, type Context } from '../../support/harness.js';
import { temporaryFolder } from '../../support/repository.js';
import { anyPorts, repositoryOf } from './harness.js';

const usual = { platform: 'linux', parent: 17, leadsSession: false } as const;
const scripted = (event: string, script: string): Record<string, string> => ({
  npm_lifecycle_event: event,
  npm_lifecycle_script: script,
});

test('it ends with npx and npm run, whose shell waits for it', () => {
  for (const [event, script] of [
    ['npx', 'tritonts'],
    ['npx', '"tritonts" "serve" "--model-repository=./a&b"'],
    ['start', 'tritonts serve --model-repository=./models'],
    ['start', 'npm run build && exec tritonts serve ./models 2>&1 | tee log'],
    ['start', 'tritonts serve ./models &> log'],
    ['start', "tritonts serve './this & that'; echo done"],
    ['start', 'tritonts serve this\\&that'],
  ] as const)
    assert.ok(launcherOf({ ...usual, env: scripted(event, script) }) !== undefined, script);
});

test('it goes on where it was sent to the background, or was started by another program', () => {
  for (const script of [
    'tritonts serve ./models &',
    'tritonts serve ./models > log 2>&1 & wait-on http://localhost:8000',
    'nohup tritonts serve ./models',
    'setsid tritonts serve ./models',
    'pm2 start tritonts -- serve ./models',
    '(setsid tritonts serve ./models)',
    'node start-everything.js',
    './start.sh',
  ])
    assert.equal(launcherOf({ ...usual, env: scripted('start', script) }), undefined, script);
  const env = scripted('npx', 'tritonts');
  for (const other of [
    { ...usual, env: {} },
    { ...usual, env, leadsSession: true },
    // The parent is a supervisor, or the first process of a container, whose end ends all processes.
    { ...usual, env, parent: 1 },
    { ...usual, env, platform: 'win32' },
  ] as const)
    assert.equal(launcherOf(other), undefined);
});

const main = fileURLToPath(new URL('../../../command/main.js', import.meta.url));

/** Runs a command of npm, in a project that has tritonts and these scripts. */
async function npm(
  t: Context,
  command: readonly [string, ...string[]],
  scripts: Readonly<Record<string, string>> = {},
): Promise<{ readonly kill: () => void; readonly text: () => string; readonly ended: Promise<unknown> }> {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'node_modules', '.bin'), { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'app', version: '1.0.0', scripts }));
  const start = join(folder, 'node_modules', '.bin', 'tritonts');
  // As npm links it.
  await writeFile(join(folder, 'run.mjs'), `#!/usr/bin/env node\nimport ${JSON.stringify(main)};\n`, {
    mode: 0o755,
  });
  await symlink(join(folder, 'run.mjs'), start);
  // A test may be run by npm itself.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
  const [program, ...args] = command;
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    const pid = servedPid(said);
    if (pid !== undefined && isThere(pid)) process.kill(pid, 'SIGKILL');
  });
  return { kill: () => child.kill('SIGTERM'), text: () => said, ended };
}

/** The pid of the serving process, from the prefix of its log lines. */
function servedPid(text: string): number | undefined {
  const pid = / (\d+) tritonts\]/.exec(text)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const listens = /Started Metrics Service at/;

for (const [name, command, script] of [
  ['npx', ['npx', '--no-install', 'tritonts', 'serve'], ''],
  ['npm run', ['npm', 'run', 'start', '--'], 'tritonts serve'],
  ['npm run with a shell in between', ['npm', 'run', 'start'], 'tritonts serve REPOSITORY FLAGS; echo after'],
] as const) {
  test(`SIGTERM to ${name} ends the server, too`, async (t) => {
    const repository = await repositoryOf(t, { one: identity() });
    const whole = script.replace('REPOSITORY', repository).replace('FLAGS', anyPorts.join(' '));
    const args = whole === script ? [...command, repository, ...anyPorts] : command;
    const run = await npm(t, args as [string, ...string[]], { start: whole });
    await until(() => listens.test(run.text()));
    const pid = servedPid(run.text());
    assert.ok(pid !== undefined);
    run.kill();
    await until(() => !isThere(pid));
  });
}

test('a server that a script leaves in the background outlives npm', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const go = join(await temporaryFolder(t), 'go');
  const start = `tritonts serve ${repository} ${anyPorts.join(' ')} & until test -e ${go}; do sleep 0.1; done`;
  const run = await npm(t, ['npm', 'run', 'start'], { start });
  await until(() => listens.test(run.text()));
  await writeFile(go, '');
  await run.ended;
  const [, host = '', port = ''] = /Started HTTPService at (\S+):(\d+)/.exec(run.text()) ?? [];
  const place = { address: { host: host === '0.0.0.0' ? '127.0.0.1' : host, port: Number(port) } };
  // Longer than it takes to notice that a parent is gone.
  const until1s = performance.now() + 1500;
  while (performance.now() < until1s)
    assert.equal((await ask(place, '/v2/health/ready')).status, 200, run.text());
});
