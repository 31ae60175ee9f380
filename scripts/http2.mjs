// Tests the HTTP/2 of the gRPC endpoint with h2spec (https://github.com/summerwind/h2spec), with and without TLS. h2spec's requests
// are none of gRPC, and the endpoint refuses them at their first frame. So a server of the same connections answers them with a
// text when they are complete.
//
// h2spec comes through the Go module proxy, as source. Without Go, or if the proxy has it not, the test is skipped with a message.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shareSessions } from '../dist/src/endpoints/grpc/http2/limits.js';
import { createHttp2Server } from '../dist/src/endpoints/grpc/http2/server.js';
import { Session } from '../dist/src/endpoints/grpc/http2/session.js';
import { Budget } from '../dist/src/protocol/grpc/budget.js';
import { encodeHeaders } from '../dist/src/protocol/http2/hpack-encoder.js';
import { certificate } from '../dist/test/support/certificate.js';
import { root } from './python-environment.mjs';

/** The newest version that Go can build as a module: those after it break a rule of modules. */
const h2spec = 'github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible';
const place = join(root, 'build', 'http2');
const program = join(place, 'h2spec');
const patienceMs = 300_000;

/** Cases that fail by intention, by their names, and why. */
const exceptions = new Map([
  [
    'http2/4.2: Sends a large size HEADERS frame that exceeds the SETTINGS_MAX_FRAME_SIZE',
    'the case sends 20 KB, and a frame may have 256 KiB here; the call is reset because of its headers',
  ],
]);

const head = encodeHeaders([[':status', '200']]);
const trailers = encodeHeaders([['grpc-status', '0']]);
const text = Buffer.alloc(100, 'x');
const nothing = () => undefined;

/** Answers requests when they are complete. */
function accept(socket, shared) {
  new Session(socket, shared, {
    call(stream) {
      stream.user = {
        received: nothing,
        inputEnded() {
          stream.begin(head);
          stream.write(text);
          stream.end(trailers, 0, false);
        },
        drained: nothing,
        overflowed: nothing,
        isDue: false,
        closed: nothing,
      };
    },
    ...{ ready: nothing, pinged: nothing, ponged: nothing, cancelled: nothing, closed: nothing },
  });
}

/** Installs the program. Returns why it is missing after that; undefined: it is there. */
function whyMissing() {
  if (existsSync(program)) return undefined;
  if (spawnSync('go', ['version'], { stdio: 'ignore' }).status !== 0) return 'there is no go';
  mkdirSync(place, { recursive: true });
  // Only modules are downloaded: no other Go toolchain, and no C compiler is used.
  const env = { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOBIN: place, GOFLAGS: '-mod=mod' };
  const { status, error } = spawnSync('go', ['install', h2spec], {
    stdio: 'inherit',
    env,
    timeout: patienceMs,
  });
  if (status === 0) return undefined;
  return `h2spec cannot be installed (${error?.message ?? `go ended with ${status}`})`;
}

/** Runs h2spec, and returns its cases: `{ name, outcome }`. */
async function casesOf(port, options) {
  const report = join(place, 'report.xml');
  const args = ['--strict', '--timeout=2', `--port=${port}`, `--junit-report=${report}`, ...options];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (text) => (output += text));
  await new Promise((resolve, reject) => child.on('close', resolve).on('error', reject));
  const cases = [];
  for (const [, of, suite] of readFileSync(report, 'utf8').matchAll(
    /<testsuite [^>]*package="([^"]*)"[^>]*>(.*?)<\/testsuite>/gs,
  ))
    for (const [, does, result] of suite.matchAll(
      /<testcase [^>]*classname="([^"]*)"[^>]*>(.*?)<\/testcase>/gs,
    )) {
      const outcome = /<(failure|error|skipped)/.exec(result)?.[1] ?? 'passed';
      cases.push({ name: `${of}: ${does.replaceAll('&#39;', "'")}`, outcome });
    }
  return { cases, output };
}

const failures = [];
const expect = (holds, text) => {
  console.log(`${holds ? 'ok' : 'FAILED'}: ${text}`);
  if (!holds) failures.push(text);
};

async function check(what, tls) {
  const budget = new Budget(1 << 30);
  const shared = shareSessions(100, budget, 300_000);
  const server = createHttp2Server(tls, (socket) => accept(socket, shared));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { cases, output } = await casesOf(server.address().port, tls ? ['--tls', '--insecure'] : []);
  await new Promise((resolve) => server.close(resolve));
  expect(budget.left === budget.max, `${what}: nothing is held after the last connection`);
  const count = (outcome) => cases.filter((one) => one.outcome === outcome).length;
  console.log(
    `${what}: ${cases.length} cases, ${count('passed')} passed, ${count('skipped')} skipped by h2spec`,
  );
  expect(cases.length > 140, `h2spec has run${cases.length > 140 ? '' : `:\n${output}`}`);
  for (const { name, outcome } of cases) {
    const why = exceptions.get(name);
    const isFailure = outcome === 'failure' || outcome === 'error';
    if (isFailure) expect(why !== undefined, `${name} (${why ?? 'no exception is made for it'})`);
    else if (why !== undefined) expect(false, `${name}: an exception is made, but it is ${outcome}`);
  }
}

const missing = whyMissing();
if (missing !== undefined) {
  console.log(`skipped: ${missing}`);
} else {
  const ends = [];
  const context = { after: (end) => ends.push(end), skip: (why) => console.log(`skipped: ${why}`) };
  await check('without TLS', undefined);
  const tls = await certificate(context);
  if (tls !== undefined) await check('with TLS', tls);
  for (const end of ends.reverse()) await end();
  if (failures.length > 0) {
    console.error(`${failures.length} failed`);
    process.exitCode = 1;
  }
}
