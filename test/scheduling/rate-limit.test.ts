/** The rate limiter: which models wait for which, what is refused, and what users see of it. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Explanation, InferenceServer } from '../../src/index.js';
import { checkRateLimit } from '../../src/scheduling/rate-limit.js';
import { executing, script } from '../javascript/harness.js';
import { rejection, serve, thrown, until } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';

/** A model of JavaScript whose runs take 20 ms and tell when they were. Its instances need units of a resource. */
function slow(needs: string, count = 1): RepositoryModel {
  const body = `return Promise.all(requests.map(async () => {
    const from = performance.timeOrigin + performance.now();
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { span: [from, performance.timeOrigin + performance.now()] };
  }));`;
  const model = script(executing(body), {
    ...{ maxBatchSize: 0, batching: false, instances: count },
    inputs: [{ name: 'x', dims: [1] }],
    outputs: [{ name: 'span', datatype: 'FP64', dims: [2] }],
  });
  return { ...model, config: limited(model.config ?? '', needs) };
}

/** A configuration whose instances need units of a resource. */
function limited(config: string, needs: string): string {
  const group = /(instance_group \[ \{[^}]*)\}/;
  assert.match(config, group);
  return config.replace(group, `$1 rate_limiter { ${needs} } }`);
}

const one = 'resources [ { name: "R" count: 1 } ]';

interface Span {
  readonly from: number;
  readonly to: number;
}

/** How many of these spans there are at once, at most. */
function overlap(spans: readonly Span[]): number {
  return Math.max(
    ...spans.map(({ from }) => spans.filter((span) => span.from <= from && from < span.to).length),
  );
}

async function spansOf(server: InferenceServer, names: readonly string[], each: number): Promise<Span[]> {
  const calls = names.flatMap((name) => Array.from({ length: each }, () => server.infer(name, { x: [1] })));
  return (await Promise.all(calls)).map(({ outputs }) => {
    const [from = 0, to = 0] = outputs['span']?.as('FP64').data ?? [];
    return { from, to };
  });
}

test('models that need the same resource run one after the other', async (t) => {
  const models = { a: slow(one), b: slow(one), c: slow(one, 2) };
  const server = await serve(t, models, { rateLimit: { mode: 'execution_count' } });
  assert.equal(overlap(await spansOf(server, ['a', 'b', 'c'], 4)), 1);
});

test('without the option nobody waits, and a note says so', async (t) => {
  const server = await serve(t, { a: slow(one), b: slow(one) });
  assert.ok(overlap(await spansOf(server, ['a', 'b'], 3)) > 1);
  assert.match(
    server.model('a').notes.join('\n'),
    /instance_group\[0\]\.rate_limiter: .* needs the option rateLimit/,
  );
});

test('an instance that takes several batches at a time has one of them under way', async (t) => {
  const a = slow(one);
  const config = `${a.config ?? ''} parameters { key: "max_concurrency" value { string_value: "4" } }`;
  const rateLimit = { mode: 'execution_count' } as const;
  const server = await serve(t, { a: { ...a, config }, b: slow(one) }, { rateLimit });
  assert.equal(overlap(await spansOf(server, ['a', 'b'], 6)), 1);
  const free = await serve(t, { a: { ...a, config } });
  assert.ok(overlap(await spansOf(free, ['a'], 6)) > 1);
});

test('as many instances run at once as there are units', async (t) => {
  const server = await serve(
    t,
    { a: slow(one, 4) },
    { rateLimit: { mode: 'execution_count', resources: [{ name: 'R', count: 2 }] } },
  );
  assert.equal(overlap(await spansOf(server, ['a'], 8)), 2);
  assert.equal(server.model('a').notes.filter((note) => note.includes('rate_limiter')).length, 0);
});

test('a model that needs more than there is does not load, and the error has the field', async (t) => {
  const options = {
    exitOnError: false,
    rateLimit: {
      mode: 'execution_count' as const,
      resources: [
        { name: 'R', count: 2 },
        { name: 'Q', count: 1, device: 0 },
      ],
    },
  };
  const server = await serve(
    t,
    { a: slow('resources [ { name: "Q" count: 1 }, { name: "R" count: 3 } ]'), b: slow(one) },
    options,
  );
  const error = await rejection(server.infer('a', { x: [1] }));
  assert.match(
    error.message,
    /resources\[1\].*Resource count for "R" is limited to 2 .* minimum required count is 3/s,
  );
  assert.equal((await spansOf(server, ['b'], 1)).length, 1);
});

test('one name is either global or of the devices', async (t) => {
  const models = { a: slow(one), b: slow('resources [ { name: "R" count: 1 global: true } ]') };
  const server = await serve(t, models, { exitOnError: false, rateLimit: { mode: 'execution_count' } });
  const states = server.index().map(({ reason }) => reason ?? '');
  assert.equal(
    states.filter((reason) => /present as both global and device-specific/.test(reason)).length,
    1,
  );
});

test('explain and the metrics show what waits for what', async (t) => {
  const server = await serve(t, { a: slow(one), b: slow(one) }, { rateLimit: { mode: 'execution_count' } });
  // Enough for a second, should this thread be late.
  const calls = Array.from({ length: 50 }, (_, i) => server.infer(i % 2 === 0 ? 'a' : 'b', { x: [1] }));
  // Between two batches an instance neither uses its unit nor waits yet, and it gives the unit back after it has answered.
  await until(() => {
    const [resource] = server.explain('a').resources;
    return resource?.inUse === 1 && resource.waiting === 1;
  });
  const { name, device, count } = server.explain('a').resources[0] ?? {};
  assert.deepEqual([name, device, count], ['R', 0, 1]);
  const waits = (): Explanation | undefined =>
    [server.explain('a'), server.explain('b')].find(({ held, limit }) => held === 1 && limit === 'resources');
  let waiting: Explanation | undefined;
  await until(() => (waiting = waits()) !== undefined);
  assert.equal(waiting?.summary, "1 of 1 instances wait for resources. In use are 1 of 1 of 'R'.");
  const row = (what: string): RegExp =>
    new RegExp(`^tritonts_rate_limit_resource_${what}\\{device="0",resource="R"\\} 1$`, 'm');
  await until(() => {
    const text = server.metrics();
    return ['total', 'used', 'waiting'].every((what) => row(what).test(text));
  });
  await Promise.all(calls);
  await until(() => server.explain('a').resources[0]?.inUse === 0);
});

test('resources come and go with models, and a closed server leaves nobody waiting', async (t) => {
  const two = 'resources [ { name: "R" count: 2 } ]';
  const server = await serve(
    t,
    { a: slow(one, 2), b: slow(two) },
    { modelControlMode: 'explicit', rateLimit: { mode: 'execution_count' } },
  );
  await server.loadModel('a');
  assert.equal(server.explain('a').resources[0]?.count, 1);
  await server.loadModel('b');
  assert.equal(server.explain('a').resources[0]?.count, 2);
  const before = Promise.all([spansOf(server, ['a'], 4), spansOf(server, ['b'], 4)]);
  await server.unloadModel('b');
  await before.catch(() => undefined);
  assert.equal(server.explain('a').resources[0]?.count, 1);
  const calls = spansOf(server, ['a'], 10).catch(() => undefined);
  await server.close({ timeoutMs: 50 });
  await calls;
});

test('wrong options are errors', () => {
  for (const [options, message] of [
    [{}, /expected 'off' or 'execution_count' for options\.rateLimit\.mode/],
    [{ mode: 'on' }, /expected 'off' or 'execution_count'/],
    [{ mode: 'execution_count', resources: {} }, /expected an array for options\.rateLimit\.resources/],
    [{ mode: 'execution_count', resources: [{ count: 1 }] }, /expected a name for .*resources\[0\]\.name/],
    [{ mode: 'execution_count', resources: [{ name: 'R', count: -1 }] }, /expected an integer from 0 to/],
    [
      { mode: 'execution_count', resources: [{ name: 'R', count: 1, device: 'x' }] },
      /expected the id of a device/,
    ],
    [{ mode: 'execution_count', resources: new Array(2) }, /resources\[0\]/],
    [{ mode: 'execution_count', limits: [] }, /unknown key 'limits'/],
    [
      { mode: 'off', resources: [{ name: 'R', count: 1 }] },
      /needs options\.rateLimit\.mode 'execution_count'/,
    ],
  ] as const)
    assert.match(thrown(() => checkRateLimit(options)).message, message);
  assert.equal(checkRateLimit({ mode: 'off' }), undefined);
  assert.deepEqual(checkRateLimit({ mode: 'execution_count' }), []);
});
