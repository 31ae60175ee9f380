// The part of `npm test -- serverless` that runs in a mount namespace: node scripts/serverless/inside.mjs <folder> <rounds>
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Guest } from './guest.mjs';
import { limitMemory, Root } from './root.mjs';

const [base, rounds] = [process.argv[2], Number(process.argv[3])];
const example = join(base, 'example');
const packages = join(example, 'layer', 'nodejs', 'node_modules');
const megabytes = 512;

const image = [...'002dg90000cc7g3001e30g400004ag60000dgg900005d100000b9000001g4000'].map((pixel) =>
  parseInt(pixel, 17),
);

/** The addon and the library: what the system's loader opens. */
const native = execFileSync(
  'find',
  [
    packages,
    '-name',
    'tritonts.node',
    '-path',
    `*${process.platform}*`,
    '-o',
    '-name',
    'libonnxruntime.so*',
    '-path',
    `*/${process.arch}/*`,
  ],
  { encoding: 'utf8' },
)
  .trim()
  .split('\n');

const memory = limitMemory(basename(base), megabytes * 2 ** 20);
console.log(memory.reason ?? `ok: a cgroup limits the memory of what runs in the roots to ${megabytes} MB`);

function newRoot(name) {
  const folder = join(base, name);
  mkdirSync(folder);
  return new Root(folder);
}

/** The middle one. */
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

/**
 * Measures first answers by turns, from the start of the process, and prints the medians. The first way is a bare start of the same Node in the same
 * root.
 *
 * @param ways - By name, functions that resolve with milliseconds.
 */
async function measure(what, ways) {
  const times = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++)
    for (const [name, way] of Object.entries(ways)) times[name].push(await way());
  const [bare, ...rest] = Object.entries(times).map(([name, all]) => [name, median(all)]);
  console.log(`${what}, medians of ${rounds} starts: ${bare[0]} ${bare[1].toFixed(0)} ms`);
  for (const [name, time] of rest)
    console.log(
      `    ${name}: ${time.toFixed(0)} ms, ${(time / bare[1]).toFixed(1)} times as long, ${(time - bare[1]).toFixed(0)} ms more`,
    );
}

/** The file layout of Lambda: the runtime, the function in /var/task, the layer in /opt, and /tmp. */
async function lambda() {
  const root = newRoot('lambda');
  root.showNode('/var/lang/bin/node', native);
  root.show(join(example, 'index.mjs'), '/var/task/index.mjs');
  root.show(join(example, 'models'), '/var/task/models');
  root.show(join(example, 'layer'), '/opt');
  root.show(fileURLToPath(new URL('bootstrap.mjs', import.meta.url)), '/var/runtime/bootstrap.mjs');
  root.write('/var/runtime/bare.mjs', "console.log('{}');\n");
  root.write(
    '/var/runtime/alone.mjs',
    `import { InferenceSession, Tensor } from 'onnxruntime-node';
const session = await InferenceSession.create('/var/task/models/digits/1/model.onnx');
const { scores } = await session.run({ image: new Tensor('float32', Float32Array.of(${image}), [1, 64]) });
console.log(JSON.stringify(scores.dims));\n`,
  );
  // Lambda's own build of Node searches NODE_PATH for imports, too. Others do not: this link leads them to the layer.
  root.link('/node_modules', '/opt/nodejs/node_modules');
  root.scratch('/tmp', '512m');
  root.seal();
  const env = {
    PATH: '/var/lang/bin:/usr/local/bin:/usr/bin:/bin:/opt/bin',
    LANG: 'en_US.UTF-8',
    TZ: ':UTC',
    NODE_PATH: '/opt/nodejs/node_modules:/var/runtime/node_modules',
    LAMBDA_TASK_ROOT: '/var/task',
    LAMBDA_RUNTIME_DIR: '/var/runtime',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(megabytes),
    _HANDLER: 'index.handler',
  };
  // Lambda turns these features of Node off.
  const flags = ['--no-experimental-require-module', '--no-experimental-detect-module'];
  const start = (script) =>
    new Guest(root.folder, ['/var/lang/bin/node', ...flags, `/var/runtime/${script}`], {
      user: 993,
      env,
      memory,
    });
  const event = (body) => JSON.stringify({ body, isBase64Encoded: false });
  const right = event(JSON.stringify({ image }));

  const guest = start('bootstrap.mjs');
  guest.send(right);
  const { statusCode, body } = JSON.parse(await guest.line());
  assert.deepEqual([statusCode, JSON.parse(body).digit], [200, 7]);
  // Lambda freezes the processes of an environment between two events.
  await guest.freeze(2000);
  guest.send(
    JSON.stringify({
      body: Buffer.from(JSON.stringify({ image })).toString('base64'),
      isBase64Encoded: true,
    }),
  );
  assert.equal(JSON.parse(JSON.parse(await guest.line()).body).digit, 7);
  for (const [sent, message] of [
    ['{ "image": [1, 2] }', /model 'digits', input 'image'/],
    ['no JSON', /expected a JSON object/],
    ['', /expected a JSON object/],
  ]) {
    guest.send(event(sent));
    const answer = JSON.parse(await guest.line());
    assert.equal(answer.statusCode, 400);
    assert.match(answer.body, message);
  }
  guest.end();
  const { peakMegabytes, ...seen } = JSON.parse(await guest.line());
  assert.deepEqual(seen, {
    ...{ uid: 993, home: null, sharedMemory: 'ENOENT', shell: 'ENOENT' },
    ...{ writeCode: 'EROFS', writeLayer: 'EROFS', writeRoot: 'EROFS' },
  });
  assert.equal(await guest.ended(), 0);
  assert.ok(peakMegabytes < megabytes, `${peakMegabytes} MB`);
  console.log(
    `ok: the handler answers in the layout of Lambda, also after it was frozen, and says what is wrong with an event; ${peakMegabytes} MB at most`,
  );
  // It searches every place of every runtime, also the home, which this user has not.
  const command = '/opt/nodejs/node_modules/tritonts/dist/command/main.js';
  const lister = new Guest(root.folder, ['/var/lang/bin/node', command, 'backends'], {
    user: 993,
    env,
    memory,
  });
  assert.match(await lister.all(), /onnxruntime: ONNX Runtime 1\.30\.0/);
  assert.equal(await lister.ended(), 0);
  console.log('ok: the command lists the backends there');
  await measure('Lambda', {
    'bare node': () => firstLine(start('bare.mjs')),
    'onnxruntime-node alone, first answer': () => firstLine(start('alone.mjs')),
    'tritonts, first answer': async () => {
      const one = start('bootstrap.mjs');
      one.send(right);
      return firstLine(one);
    },
  });
}

/** From the start of a process to its first line. The process is ended then. */
async function firstLine(guest) {
  await guest.line();
  const time = performance.now() - guest.begin;
  guest.end();
  assert.equal(await guest.ended(), 0);
  return time;
}

/** The last stage of the Dockerfile: its instructions, by name. */
function lastStage() {
  const text = readFileSync(join(example, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
  const lines = text.slice(text.lastIndexOf('\nFROM ')).split('\n');
  const of = (name) =>
    lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
  return {
    folder: of('WORKDIR')[0],
    copies: of('COPY'),
    user: of('USER')[0],
    env: of('ENV'),
    command: JSON.parse(of('CMD')[0]),
  };
}

/** The distroless image of the Dockerfile, as `docker run --read-only` runs it. */
async function distroless() {
  const { folder, copies, user, env, command } = lastStage();
  const root = newRoot('distroless');
  root.showNode('/nodejs/bin/node', native);
  root.write(
    '/etc/passwd',
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n',
  );
  for (const copy of copies) {
    const [from, to] = copy.replace(/--from=\S+ /, '').split(' ');
    const source = from === join(folder, 'node_modules') ? packages : join(example, from);
    root.show(source, join(folder, to));
  }
  root.write(join(folder, 'bare.mjs'), "console.log('{}');\n");
  root.seal();
  // The image's working folder, without a shell that could enter it.
  const enter = `data:text/javascript,process.chdir(${JSON.stringify(folder)})`;
  const start = ([script, ...args]) =>
    new Guest(root.folder, ['/nodejs/bin/node', '--import', enter, join(folder, script), ...args], {
      ...{ user: Number(user.split(':')[0]), memory },
      env: Object.fromEntries(env.map((one) => one.split('='))),
    });
  const ports = ['http', 'grpc', 'metrics'].flatMap((name) => [`--${name}-port=0`]);
  const serve = () => start([...command, '--http-address=127.0.0.1', '--grpc-address=127.0.0.1', ...ports]);
  const ask = async (guest) => {
    const address = await guest.find(/Started HTTPService at (\S+)/);
    const tensor = { name: 'image', datatype: 'FP32', shape: [1, 64], data: image };
    const request = { method: 'POST', body: JSON.stringify({ inputs: [tensor] }) };
    const answer = await fetch(`http://${address}/v2/models/digits/infer`, request);
    const { outputs } = await answer.json();
    return outputs[0].data.indexOf(Math.max(...outputs[0].data));
  };
  const finish = async (guest) => {
    guest.terminate();
    assert.equal(await guest.ended(), 0);
  };

  const guest = serve();
  assert.equal(await ask(guest), 7);
  const status = readFileSync(`/proc/${guest.pid}/status`, 'utf8');
  const peak = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
  assert.equal(/Uid:\s+(\d+)/.exec(status)?.[1], '65532');
  assert.ok(peak < megabytes, `${peak} MB`);
  await finish(guest);
  console.log(
    `ok: the distroless image's command serves HTTP from a read-only root, and ends with 0 at SIGTERM; ${peak} MB at most`,
  );
  await measure('distroless, over HTTP', {
    'bare node': () => firstLine(start(['bare.mjs'])),
    'tritonts serve, first answer': async () => {
      const one = serve();
      await ask(one);
      const time = performance.now() - one.begin;
      await finish(one);
      return time;
    },
  });
}

try {
  await lambda();
  await distroless();
  console.log('passed');
} finally {
  try {
    if (memory.group) rmdirSync(memory.group);
  } catch (error) {
    // After a fault a process may still be in it. The namespace ends that process.
    console.log(`the cgroup is left behind: ${error.message}`);
  }
}
