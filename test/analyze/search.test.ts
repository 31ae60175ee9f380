import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  compareScores,
  objectiveText,
  readObjective,
  scoreOf,
  type Objective,
} from '../../src/analyze/search/objective.js';
import { costsAfter, noCosts, planGrid, planRounds } from '../../src/analyze/search/plan.js';
import { isProposed, search } from '../../src/analyze/search/search.js';
import type { Measured, SearchResult, SearchWorld } from '../../src/analyze/search/world.js';
import { median, ratioOf, settle, type LimitTest, type Ratio } from '../../src/analyze/search/verdict.js';
import {
  allOf,
  candidateText,
  coarseGrid,
  coarseGridSize,
  type Candidate,
  type SettingName,
  type SettingValue,
  type Space,
} from '../../src/analyze/space/space.js';
import { axis, figures, level, MadeUpWorld } from './made-up.js';

const throughput: Objective = {
  goal: 'throughput',
  latency: 'mean',
  limit: undefined,
  mostMemoryBytes: undefined,
};
const mib = 2 ** 20;
const limited: Objective = { ...throughput, limit: { latency: 'p99', ms: 20 } };

test('objectives are read', () => {
  assert.deepEqual(readObjective('throughput'), { goal: 'throughput', limit: undefined });
  assert.deepEqual(readObjective('p99<20ms'), { goal: 'throughput', limit: { latency: 'p99', ms: 20 } });
  assert.deepEqual(readObjective('mean <= 500us'), {
    goal: 'throughput',
    limit: { latency: 'mean', ms: 0.5 },
  });
  assert.deepEqual(readObjective('p50<0.5s'), { goal: 'throughput', limit: { latency: 'p50', ms: 500 } });
  for (const text of ['', 'speed', 'p98<20ms', 'p99<20', 'p99>20ms', 'p99<0ms', 'p99<-1ms'])
    assert.equal(readObjective(text), undefined, text);
  assert.equal(objectiveText(limited), 'the most inferences a second with p99 below 20.0 ms');
});

test('the score is that of the best level, and with a limit of those below it', () => {
  const both = figures(level(1000, 4, 5), level(2000, 16, 19), level(3000, 64, 40));
  assert.deepEqual(scoreOf(throughput, both, undefined), { meets: true, value: 3000, level: 2 });
  assert.deepEqual(scoreOf(limited, both, undefined), { meets: true, value: 2000, level: 1 });
  const slow = scoreOf(limited, figures(level(1000, 4, 40)), undefined);
  const slower = scoreOf(limited, figures(level(1000, 4, 80)), undefined);
  assert.deepEqual([slow.meets, slow.value, slower.value], [false, 0.5, 0.25]);
  assert.ok(compareScores(slow, slower) < 0);
  assert.ok(compareScores(scoreOf(limited, both, undefined), slow) < 0);
});

test('a lower latency at all levels is better, and less memory that keeps the throughput', () => {
  const latency: Objective = { ...throughput, goal: 'latency', latency: 'p99' };
  const score = scoreOf(latency, figures(level(1000, 1, 2), level(1000, 8, 8)), undefined);
  assert.equal(Math.round(1 / score.value), 4);
  const memory: Objective = { ...throughput, goal: 'memory' };
  const present = { ...figures(level(1000)), memoryBytes: 100 * mib };
  const lean = scoreOf(memory, { ...figures(level(960)), memoryBytes: 50 * mib }, present);
  const slow = scoreOf(memory, { ...figures(level(900)), memoryBytes: 10 * mib }, present);
  assert.deepEqual([lean.meets, lean.value, slow.meets], [true, 1 / (50 * mib), false]);
  const most: Objective = { ...throughput, mostMemoryBytes: 80 * mib };
  assert.equal(scoreOf(most, present, undefined).meets, false);
  assert.equal(scoreOf(most, { ...present, memoryBytes: 80 * mib }, undefined).meets, true);
});

test('a candidate that refuses more requests than the present one does not count', () => {
  const present = figures(level(1000));
  const refusing = { levels: [{ ...level(5000), refused: 0.2 }], memoryBytes: undefined };
  assert.equal(scoreOf(throughput, refusing, present).meets, false);
  assert.equal(scoreOf(throughput, refusing, refusing).meets, true);
});

test('rounds in turn are compared one by one', () => {
  // The machine gets slower, and both with it.
  const before = [1000, 900, 800, 700, 600, 500];
  const { change, significant, interval } = ratioOf(
    before,
    before.map((one, i) => one * (1.1 + 0.002 * (i % 3))),
  );
  assert.ok(Math.abs(change - 0.102) < 0.001, String(change));
  assert.ok(significant && interval !== undefined && interval[0] > 0.09 && interval[1] < 0.112);
  assert.equal(ratioOf(before, before.toReversed()).significant, false);
  assert.deepEqual(ratioOf([1000], [2000]), { change: 1, interval: undefined, significant: false });
  assert.equal(ratioOf([], []).significant, false);
  assert.equal(ratioOf([5, 5, 5], [5, 5, 5]).significant, false);
});

test('of many rounds, one in which something else had the machine does not decide', () => {
  const before = Array.from({ length: 10 }, (_, i) => 1000 + i);
  const after = before.map((one, i) => (i === 3 ? one / 50 : one * 1.2));
  const { change, significant } = ratioOf(before, after);
  assert.ok(Math.abs(change - 0.2) < 0.001 && significant, String(change));
});

test('limits are about the medians of the rounds', () => {
  const rounds = [level(900, 64, 10), level(1000, 64, 12), level(1100, 64, 500)].map((one) => figures(one));
  const [first, ...rest] = rounds;
  assert.ok(first !== undefined);
  const { score, values, figures: merged } = settle(limited, [first, ...rest], undefined);
  assert.equal(score.meets, true);
  assert.deepEqual(values, [900, 1000, 1100]);
  assert.equal(merged.levels[0]?.latencyMs.p99, 12);
  assert.equal(median([4, 1, 3, 2]), 2.5);
});

test('a change is proposed if it is better by more than chance and by enough, or alone meets the limits', () => {
  const settled = (meets: boolean) => ({
    figures: figures(level(1)),
    score: { meets, value: 1, level: 0 },
    values: [1],
    ofLimit: undefined,
  });
  const ratio = (change: number, significant: boolean): Ratio => ({
    change,
    interval: undefined,
    significant,
  });
  const limitTest = (present: Ratio, best: Ratio): LimitTest => ({
    present,
    best,
    change: ratio(-0.3, true),
  });
  const of = (
    present: boolean,
    best: boolean,
    change: number,
    significant: boolean,
    limit?: LimitTest,
  ): boolean =>
    isProposed({
      limit,
      rounds: 5,
      windowMs: 1,
      present: settled(present),
      best: settled(best),
      ratio: ratio(change, significant),
    });
  assert.equal(of(true, true, 0.1, true), true);
  assert.equal(of(true, true, 0.1, false), false);
  assert.equal(of(true, true, 0.005, true), false);
  assert.equal(of(true, true, -0.1, true), false);
  const unsure = ratio(0.1, false);
  assert.equal(of(false, true, -0.5, true, limitTest(ratio(0.1, true), unsure)), true);
  assert.equal(of(false, true, -0.5, true, limitTest(unsure, ratio(-0.2, true))), true);
  assert.equal(of(false, true, -0.5, true, limitTest(unsure, unsure)), false);
  assert.equal(of(false, true, 0.5, true, { ...limitTest(ratio(0.1, true), unsure), change: unsure }), false);
  assert.equal(of(true, false, 0.5, true), false);
});

test('the time is divided by what measurements cost', () => {
  const costs = costsAfter(noCosts, 190, 120, 1);
  assert.deepEqual(costs, { overheadMs: 70, factor: 1 });
  assert.equal(Math.round(costsAfter(costs, 280, 120, 1).overheadMs), 97);
  const rich = planGrid(60_000, costs, 20);
  assert.equal(rich.most, 20);
  assert.ok(rich.windowMs > 120 && rich.windowMs <= 1000);
  const poor = planGrid(5000, costs, 200);
  assert.ok(poor.most >= 2 && poor.most < 20 && poor.windowMs === 120);
  assert.equal(planRounds(100, costs, 3, 240).rounds, 5);
  const much = planRounds(600_000, costs, 3, 240);
  assert.deepEqual([much.rounds, much.windowMs], [14, 3000]);
});

/** Like a model on four cores: batches gain up to 32, two instances overlap, more threads than cores hurt, a delay costs. */
const space: Space = {
  cores: 4,
  axes: [
    axis('instances', [1, 2, 3, 4], 1),
    axis('threads', ['default', 1, 2, 4], 'default'),
    axis('max_batch_size', [1, 2, 4, 8, 16, 32, 64, 128], 4),
    axis('delay', [0, 100, 500, 2000], 0),
    axis('preferred', ['none', 4, 8, 16], 'none'),
    axis('inline', ['off', 'auto', 200], 'auto'),
  ],
};

type Of = (setting: SettingName) => SettingValue | undefined;

function modelled(of: Of): number | string {
  const rows = Number(of('max_batch_size'));
  const instances = Number(of('instances'));
  if (instances === 4) return 'UNAVAILABLE: no memory';
  const threads = of('threads') === 'default' ? 4 : Number(of('threads'));
  const batch = (1000 * rows) / (0.5 + 0.05 * rows + 0.0004 * rows * rows);
  const parallel = Math.min(4, instances * threads) ** 0.4 * (instances === 2 ? 1.15 : 1);
  return batch * parallel * (1 - Number(of('delay')) / 20_000) * (of('inline') === 'off' ? 1.04 : 1);
}

async function searched(
  world: MadeUpWorld,
  budgetMs: number,
  of: Space = space,
): Promise<SearchResult & { readonly world: MadeUpWorld }> {
  return { ...(await search(of, throughput, budgetMs, world)), world };
}

for (const budgetMs of [20_000, 60_000, 300_000]) {
  test(`within ${budgetMs / 1000} s the best candidate is found within 5 %, and proposed`, async () => {
    const { best, world, proposed, elapsedMs, verdict } = await searched(
      new MadeUpWorld(space, modelled),
      budgetMs,
    );
    const most = Math.max(...allOf(space).map((one) => world.exact(one)));
    const share = world.exact(best) / most;
    assert.ok(share >= 0.95, `${candidateText(space, best)} has ${share}`);
    assert.equal(proposed, true);
    assert.ok(verdict !== undefined && verdict.ratio.change > 0.5);
    // The clock is the world's own. One measurement may begin before the end.
    assert.ok(elapsedMs <= budgetMs * 1.05, String(elapsedMs));
  });
}

test('each part of the search has its turn', async () => {
  const { world } = await searched(new MadeUpWorld(space, modelled), 60_000);
  assert.deepEqual(
    [...new Set(world.phases.map(({ phase }) => phase))],
    ['present', 'grid', 'steps', 'simpler', 'rounds'],
  );
});

test('what gains nothing is not changed', async () => {
  // Only the batch size matters.
  const world = new MadeUpWorld(space, (of) => (Number(of('max_batch_size')) >= 16 ? 2000 : 1000));
  const { best } = await searched(world, 60_000);
  assert.match(candidateText(space, best), /^max_batch_size (16|32|64|128)$/);
});

test('nothing is proposed where all candidates are alike', async () => {
  for (const noise of [0.01, 0.1]) {
    const { proposed } = await searched(new MadeUpWorld(space, () => 1000, { noise }), 60_000);
    assert.equal(proposed, false);
  }
});

test('the present configuration stays if it is the best', async () => {
  const world = new MadeUpWorld(space, (of) =>
    of('max_batch_size') === 4 && of('instances') === 1 ? 1500 : 1000,
  );
  assert.equal((await searched(world, 60_000)).proposed, false);
});

test('candidates that fail are listed, and never the best', async () => {
  const { tried, best } = await searched(new MadeUpWorld(space, modelled), 60_000);
  const failed = tried.filter(({ failure }) => failure !== undefined);
  assert.ok(failed.length > 0 && failed.every(({ failure }) => failure === 'UNAVAILABLE: no memory'));
  assert.ok(failed.every(({ candidate }) => String(candidate) !== String(best)));
});

test('if the present configuration fails, the search ends at once', async () => {
  const { tried, proposed, verdict } = await searched(
    new MadeUpWorld(space, () => 'INTERNAL: broken'),
    60_000,
  );
  assert.deepEqual(
    [tried.length, tried[0]?.failure, proposed, verdict],
    [1, 'INTERNAL: broken', false, undefined],
  );
});

test('a search that is ended returns the best so far, and proposes nothing that was not compared', async () => {
  const { stopped, proposed, best, verdict } = await searched(
    new MadeUpWorld(space, modelled, { stopAfter: 25 }),
    60_000,
  );
  assert.deepEqual([stopped, proposed, verdict], [true, false, undefined]);
  assert.notEqual(candidateText(space, best), 'the present configuration');
});

test('a space of one axis, and a budget for nothing but the rounds', async () => {
  const small: Space = { cores: 2, axes: [axis('instances', [1, 2], 1)] };
  const world = new MadeUpWorld(small, (of) => 1000 * Number(of('instances')));
  const { best, proposed } = await searched(world, 4000, small);
  assert.deepEqual([best, proposed], [[1], true]);
});

/** A world in which measurements come from a list of made-up ones, by the candidate and the count of its measurements. */
function worldOf(of: (candidate: Candidate, nth: number) => Measured): SearchWorld {
  let now = 0;
  const counts = new Map<string, number>();
  return {
    now: () => now,
    stopped: () => false,
    told: () => undefined,
    measure: (candidate, windowMs) => {
      now += 40 + windowMs;
      const nth = counts.get(String(candidate)) ?? 0;
      counts.set(String(candidate), nth + 1);
      return Promise.resolve(of(candidate, nth));
    },
  };
}

const two: Space = { cores: 4, axes: [axis('instances', [1, 2, 3], 1)] };

test('candidates that are equal at a limit are not proposed', async () => {
  let seed = 1;
  const uniform = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const noisy = (): Measured => ({ figures: figures(level(1000, 16, 20 * (0.8 + 0.4 * uniform()))) });
  let proposed = 0;
  for (let i = 0; i < 40; i++) if ((await search(two, limited, 20_000, worldOf(noisy))).proposed) proposed++;
  assert.ok(proposed <= 2, String(proposed));
});

test('a candidate that meets a limit by far is proposed, even with less throughput', async () => {
  const world = worldOf(([at]) => ({
    figures: figures(at === 1 ? level(800, 16, 10) : level(1000, 16, 24)),
  }));
  const { best, proposed, verdict } = await search(two, limited, 20_000, world);
  assert.deepEqual([best, proposed], [[1], true]);
  assert.ok(verdict?.limit !== undefined && verdict.limit.present.change > 0.19);
});

test('an ensemble whose models have more combinations than memory holds is searched in its time', async () => {
  const models = ['m', 'n', 'o', 'p', 'q'];
  const large: Space = {
    axes: models.flatMap((model) => [
      { ...axis('instances', [1, 2, 3, 4, 6, 8, 12, 16], 1), model },
      { ...axis('threads', ['default', 1, 2, 3, 4, 6, 8, 12, 16], 'default'), model },
      { ...axis('max_batch_size', [1, 2, 4, 8, 16, 32, 64], 1), model },
    ]),
    cores: 16,
  };
  assert.equal(coarseGridSize(large), (8 * 9 * 7) ** models.length);
  assert.equal(coarseGridSize(space), coarseGrid(space, Infinity).length);
  const world = new MadeUpWorld(large, (of) => 100 * Number(of('max_batch_size')));
  const { best, elapsedMs } = await searched(world, 60_000, large);
  assert.ok(elapsedMs <= 60_000);
  assert.ok(world.exact(best) > 1000, String(world.exact(best)));
});

test('a candidate that fails once is out for good', async () => {
  for (let failing = 0; failing < 12; failing++) {
    const world = worldOf(([at], nth) =>
      at === 1 && nth === failing ? { failure: 'boom' } : { figures: figures(level(at === 1 ? 2000 : 1000)) },
    );
    const { best, proposed, tried } = await search(two, throughput, 20_000, world);
    const failed = tried.find(({ failure }) => failure !== undefined);
    if (failed === undefined) continue;
    assert.equal(failed.figures, undefined);
    assert.deepEqual([best[0] === 1, proposed], [false, false], String(failing));
  }
});

test('a round that the present configuration lacks is dropped', async () => {
  // Its windows get slower: rounds that are not paired by their numbers would differ.
  const world = worldOf(([at], nth) =>
    at === 0 && nth === 9
      ? { failure: 'once' }
      : { figures: figures(level((at === 1 ? 1500 : 1000) / (1 + nth))) },
  );
  const { tried, verdict, elapsedMs } = await search(two, throughput, 20_000, world);
  assert.ok(verdict !== undefined && elapsedMs <= 20_000);
  assert.equal(verdict.present.values.length, verdict.rounds);
  assert.equal(verdict.best.values.length, verdict.rounds);
  assert.ok(tried[0]?.figures !== undefined);
});

test('without time for another candidate only the present one is listed, and measured once', async () => {
  let count = 0;
  const world = worldOf(([at]) => {
    count++;
    return { figures: figures(level(at === 1 ? 2000 : 1000)) };
  });
  const { tried, proposed, verdict } = await search(two, throughput, 100, world);
  assert.deepEqual([count, tried.length, proposed, verdict], [1, 1, false, undefined]);
});

test('rounds do not go on when the time is over', async () => {
  for (const budgetMs of [700, 1000, 1500, 2000]) {
    const world = worldOf(([at]) => ({ figures: figures(level(at === 1 ? 2000 : 1000)) }));
    const { elapsedMs } = await search(two, throughput, budgetMs, world);
    assert.ok(elapsedMs <= budgetMs, `${elapsedMs} of ${budgetMs}`);
  }
});

test('a measurement that the end of the time cuts off counts neither for nor against a candidate', async () => {
  for (let budgetMs = 3000; budgetMs < 6000; budgetMs += 250) {
    const world = worldOf(([at]) => ({ figures: figures(level(at === 1 ? 2000 : 1000)) }));
    // Each measurement takes longer than it is thought to.
    let lost = 0;
    const isOver = (): boolean => world.now() + lost >= budgetMs;
    const found = await search(two, throughput, budgetMs, {
      ...world,
      now: () => Math.min(budgetMs, world.now() + lost),
      isOver,
      measure: async (candidate, windowMs) => {
        const measured = await world.measure(candidate, windowMs);
        lost += 3 * windowMs;
        return isOver() ? { failure: 'CANCELLED: the measurement was ended' } : measured;
      },
    });
    assert.ok(found.elapsedMs <= budgetMs);
    assert.deepEqual(
      found.tried.map(({ failure }) => failure),
      found.tried.map(() => undefined),
    );
    const { verdict } = found;
    if (verdict !== undefined) assert.equal(verdict.present.values.length, verdict.best.values.length);
  }
});
