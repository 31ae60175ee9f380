/**
 * Random ensembles of random models. `npm test -- ensembles --seconds 120 --seed N` makes more of them, or
 * others. A failure prints its seed.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { TritonError, type InferResult, type InferenceServer } from '../../src/index.js';
import { Dice } from '../requests/dice.js';
import { serve, type Context } from '../support/harness.js';
import { World, type Expected } from './random-world.js';

const seconds = Number(process.env['TRITONTS_ENSEMBLES_SECONDS'] ?? 0);
const seed = Number(process.env['TRITONTS_ENSEMBLES_SEED'] ?? 1);
/** The least number of worlds. */
const worlds = 6;

/** A request, with its expected outcome and other allowed ones. */
interface Sent {
  readonly expected: Expected;
  readonly rows: number;
  readonly settled: Promise<InferResult | TritonError>;
  aborted: boolean;
}

/** How many requests ended in each way. */
interface Ended {
  answered: number;
  failed: number;
  cancelled: number;
  rows: number;
}

function send(server: InferenceServer, world: World, dice: Dice): Sent {
  const rows = 1 + dice.below(dice.oneIn(2) ? 1 : 4);
  const column = (): number[] => Array.from({ length: rows }, () => dice.below(1000));
  const given = Object.fromEntries(world.inputs.map((name) => [name, column()]));
  const wanted = dice.oneIn(2) ? undefined : world.outputs.filter(() => dice.oneIn(2));
  const outputs = wanted === undefined || wanted.length === 0 ? world.outputs : wanted;
  const abort = dice.oneIn(6) ? new AbortController() : undefined;
  const inputs = Object.fromEntries(
    Object.entries(given).map(([name, values]) => [name, Float32Array.from(values)]),
  );
  const settled = server
    .infer('e', inputs, { outputs, signal: abort?.signal })
    .catch((error: unknown): InferResult | TritonError => {
      if (error instanceof TritonError) return error;
      throw error;
    });
  const sent: Sent = { expected: world.evaluate(given, outputs), rows, settled, aborted: false };
  if (abort !== undefined) {
    const cancel = (): void => {
      sent.aborted = true;
      abort.abort();
    };
    if (dice.oneIn(2)) setImmediate(cancel);
    else queueMicrotask(cancel);
  }
  return sent;
}

/** Checks the outcome of a request. */
async function check(sent: Sent, isClosed: boolean, ended: Ended): Promise<void> {
  const got = await sent.settled;
  if (!(got instanceof TritonError)) {
    assert.ok('outputs' in sent.expected, JSON.stringify(sent.expected));
    const outputs = Object.entries(got.outputs).map(([name, { data, shape }]) => {
      assert.deepEqual(shape, [sent.rows, 1]);
      return [name, Array.from(data as Float32Array)];
    });
    assert.deepEqual(Object.fromEntries(outputs), sent.expected.outputs);
    ended.answered++;
    ended.rows += sent.rows;
    return;
  }
  if (got.code === 'CANCELLED') {
    assert.ok(sent.aborted || isClosed, got.message);
    ended.cancelled++;
    return;
  }
  assert.ok('failing' in sent.expected, `${got.message}: expected ${JSON.stringify(sent.expected)}`);
  const { failing } = sent.expected;
  assert.match(got.message, /^in ensemble 'e', /);
  assert.ok(
    failing.some((name) => got.message.includes(`model '${name}'`)),
    `${got.message}: expected one of ${failing.join()}`,
  );
  ended.failed++;
}

async function play(context: Context, number: number, all: Ended): Promise<void> {
  const world = new World(number);
  const dice = new Dice(number + 1_000_003);
  const server = await serve(context, world.models(), {
    modelControlMode: 'explicit',
    loadModels: ['e'],
    inline: dice.oneIn(2) ? 'off' : 'auto',
  });
  const closes = dice.oneIn(3);
  const sent: Sent[] = [];
  const reloads: Promise<unknown>[] = [];
  const turns = 4 + dice.below(12);
  for (let i = 0; i < turns; i++) {
    for (let k = dice.below(dice.oneIn(4) ? 60 : 6); k > 0; k--) sent.push(send(server, world, dice));
    if (dice.oneIn(8)) {
      const reload = server.loadModel(dice.oneIn(2) ? 'e' : dice.pick(world.leaves).name);
      // close() cancels it.
      reloads.push(closes ? reload.catch((error: unknown) => error) : reload);
    }
    if (dice.oneIn(2)) await turn();
    if (dice.oneIn(4)) await Promise.allSettled(sent.slice(-3).map(({ settled }) => settled));
  }
  if (!closes) await Promise.all(reloads);
  const closing = closes ? server.close({ timeoutMs: dice.pick([0, 5, 20_000]) }) : undefined;
  const ended: Ended = { answered: 0, failed: 0, cancelled: 0, rows: 0 };
  for (const one of sent) await check(one, closes, ended);
  await closing;
  await Promise.all(reloads);
  if (!closes) {
    // Reloads of an ensemble reset its counters.
    const { inference_count: rows, inference_stats: statistics } = server.model('e').statistics();
    assert.ok(rows <= ended.rows + ended.cancelled * 4, `${rows} rows, but ${ended.rows} were answered`);
    if (reloads.length === 0) {
      assert.ok(statistics.success.count >= ended.answered);
      assert.ok(statistics.success.count + statistics.fail.count <= sent.length);
      assert.ok(statistics.success.count + statistics.fail.count >= ended.answered + ended.failed);
    }
  }
  await server.close();
  all.answered += ended.answered;
  all.failed += ended.failed;
  all.cancelled += ended.cancelled;
}

test(
  'random ensembles answer each request as worked out by hand',
  { timeout: 600_000 + seconds * 1000 },
  async (t) => {
    const all: Ended = { answered: 0, failed: 0, cancelled: 0, rows: 0 };
    const end = performance.now() + seconds * 1000;
    let number = seed;
    for (; number < seed + worlds || performance.now() < end; number++) {
      try {
        await play(t, number, all);
      } catch (error) {
        throw new Error(`seed ${number}`, { cause: error });
      }
    }
    t.diagnostic(
      `${number - seed} worlds, ${all.answered} answered, ${all.failed} failed, ${all.cancelled} cancelled`,
    );
    assert.ok(all.answered > 0 && all.failed > 0 && all.cancelled > 0);
  },
);
