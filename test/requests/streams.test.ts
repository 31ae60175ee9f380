/**
 * Random streams: of a native model, of one in JavaScript and of ensembles, read to their end, left, cancelled, and
 * cut off by close(). Each ends once, its responses come in order, and the statistics count what was sent.
 */

// Long: it plays many random cases.

import assert from 'node:assert/strict';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { TritonError, type InferenceServer, type Inputs } from '../../src/index.js';
import { generating } from '../javascript/decoupled.js';
import { asking, numberOf, streaming, type StreamEnd } from '../streams/harness.js';
import { ensemble, serve, statisticsAfter, type Context } from '../support/harness.js';
import { Dice } from './dice.js';

const streams = Math.ceil(Number(process.env['TRITONTS_REQUESTS'] ?? 20_000) / 20);
const seed = Number(process.env['TRITONTS_REQUESTS_SEED'] ?? 1);

const one = { datatype: 'INT32', dims: [1] } as const;

/** Every third number of responses ends with an error. */
const counting = generating(
  `for (let k = 0; k < count; k++) { if (k % 50 === 49) await sleep(0); yield y(k); }
   if (count % 3 === 1) throw new Error('an injected failure');`,
  'async function*',
  { outputs: [{ name: 'y', ...one }], instances: 2, batching: '' },
);

const step = (model: string, from: string, to: string) =>
  ({ model, from: { count: from }, to: { y: to } }) as const;

const models = {
  native: streaming({ instances: 2 }),
  counting,
  chained: ensemble([step('counting', 'count', 'y')], {
    maxBatchSize: 8,
    inputs: [{ name: 'count', ...one }],
    outputs: [{ name: 'y', ...one }],
  }),
};

/** The expected behaviour of a stream. */
interface Drawn {
  readonly model: keyof typeof models;
  readonly inputs: Inputs;
  readonly count: number;
  readonly fails: boolean;
}

/** How many requests of a model ended in each way, as their readers saw it, and responses by their number. */
interface Seen {
  sent: number;
  ended: number;
  failed: number;
  cancelled: number;
}

class RandomStreams {
  readonly seen: Record<keyof typeof models, Seen>;
  readonly #dice: Dice;
  readonly #server: InferenceServer;
  readonly #underWay: Promise<void>[] = [];

  constructor(server: InferenceServer, dice: Dice) {
    this.#server = server;
    this.#dice = dice;
    const none = (): Seen => ({ sent: 0, ended: 0, failed: 0, cancelled: 0 });
    this.seen = { native: none(), counting: none(), chained: none() };
  }

  #draw(): Drawn {
    const dice = this.#dice;
    const model = dice.pick(['native', 'counting', 'chained'] as const);
    const count = dice.below(dice.pick([2, 20, 20, 200]));
    if (model !== 'native') {
      return { model, count, inputs: { count: [[count]] }, fails: count % 3 === 1 };
    }
    const how: StreamEnd = dice.pick(count === 0 ? ['apart', 'fails'] : ['last', 'apart', 'fails']);
    return { model, count, inputs: asking(count, how, 1 + dice.below(40)), fails: how === 'fails' };
  }

  /** Makes some streams in one tick. `closing`: the server may be closed meanwhile. */
  burst(closing = false): void {
    for (let more = this.#dice.below(12); more >= 0; more--)
      this.#underWay.push(this.#read(this.#draw(), closing));
  }

  async allEnded(): Promise<void> {
    await Promise.all(this.#underWay.splice(0));
  }

  async #read({ model, inputs, count, fails }: Drawn, closing: boolean): Promise<void> {
    const dice = this.#dice;
    const seen = this.seen[model];
    seen.sent++;
    const leaveAt = dice.oneIn(4) ? dice.below(count + 1) : Infinity;
    const abortAt = dice.oneIn(4) ? dice.below(count + 1) : Infinity;
    const pause = dice.oneIn(6);
    const controller = new AbortController();
    const { signal } = controller;
    const stream = this.#server.stream(model, inputs, abortAt < Infinity || dice.oneIn(3) ? { signal } : {});
    let next = 0;
    let code: string | undefined;
    try {
      if (leaveAt === 0 || abortAt === 0) await turn();
      if (leaveAt === 0) await stream.return?.();
      else if (abortAt === 0) controller.abort();
      for await (const result of stream) {
        assert.equal(numberOf(result), next++, model);
        if (next === abortAt) controller.abort();
        if (pause && dice.oneIn(10)) await sleep(dice.below(3));
        if (next === leaveAt) break;
      }
    } catch (error) {
      if (!(error instanceof TritonError)) throw error;
      ({ code } = error);
    }
    // The stream has ended, so it yields nothing more.
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    if (signal.aborted && code === 'CANCELLED') {
      seen.cancelled++;
    } else if (next === leaveAt || leaveAt === 0) {
      assert.equal(code, undefined);
      seen.cancelled++;
    } else if (closing && (code === 'CANCELLED' || code === 'UNAVAILABLE')) {
      seen.cancelled++;
    } else {
      assert.equal(next, count, `${model}: ${code ?? 'no error'}`);
      assert.equal(code, fails ? 'INTERNAL' : undefined);
      if (fails) seen.failed++;
      else seen.ended++;
    }
  }
}

async function start(t: Context): Promise<InferenceServer> {
  return serve(t, models);
}

test('each of many random streams ends once, in order, and is counted', async (t) => {
  t.diagnostic(`seed ${seed}`);
  const dice = new Dice(seed);
  const server = await start(t);
  const random = new RandomStreams(server, dice);
  const sent = (): number => Object.values(random.seen).reduce((sum, one) => sum + one.sent, 0);
  while (sent() < streams) {
    random.burst();
    if (dice.oneIn(4)) await random.allEnded();
    else if (dice.oneIn(2)) await turn();
  }
  await random.allEnded();
  const { seen } = random;
  // The ensemble's requests also count for its step.
  for (const [model, requests] of [
    ['native', seen.native.sent],
    ['chained', seen.chained.sent],
    ['counting', seen.counting.sent + seen.chained.sent],
  ] as const) {
    const statistics = await statisticsAfter(server, model, requests);
    const { success, fail } = statistics.inference_stats;
    assert.equal(success.count + fail.count, requests, model);
    if (model === 'counting') continue;
    // A reader may leave after the stream's end.
    assert.ok(success.count >= seen[model].ended && fail.count >= seen[model].failed, model);
    assert.ok(statistics.fail_reasons.CANCELED <= seen[model].cancelled, model);
    assert.equal(statistics.refused, 0);
  }
  for (const model of ['native', 'counting'] as const) {
    const { response_stats, inference_stats } = server.model(model).statistics();
    const all = Object.values(response_stats);
    const sum = (kind: 'fail' | 'cancel' | 'empty_response'): number =>
      all.reduce((total, response) => total + response[kind].count, 0);
    // Every request counts for the first response, and each later response implies the previous one.
    const counts = all.map(
      (one) => one.success.count + one.fail.count + one.empty_response.count + one.cancel.count,
    );
    const requests = inference_stats.success.count + inference_stats.fail.count;
    assert.ok((counts[0] ?? 0) <= requests);
    for (const [k, count] of counts.entries()) assert.ok(k === 0 || count <= (counts[k - 1] ?? 0));
    assert.ok(sum('fail') + sum('cancel') <= inference_stats.fail.count);
    assert.ok(sum('empty_response') <= inference_stats.success.count);
  }
  const { ended, failed, cancelled } = seen.native;
  t.diagnostic(`${sent()} streams; native: ${ended} ended, ${failed} failed, ${cancelled} left or cancelled`);
  assert.ok(ended > 0 && failed > 0 && cancelled > 0);
});

test('close() in the midst of random streams ends each of them once', async (t) => {
  const dice = new Dice(seed + 1);
  for (let round = 0; round < 5; round++) {
    const server = await start(t);
    const random = new RandomStreams(server, dice);
    for (let bursts = 0; bursts < 8; bursts++) {
      random.burst(true);
      if (dice.oneIn(2)) await turn();
    }
    await server.close({ timeoutMs: dice.below(20) });
    await random.allEnded();
  }
});
