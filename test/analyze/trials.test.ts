// Long: it measures for seconds.

import assert from 'node:assert/strict';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { axesOf } from '../../src/analyze/space/axes.js';
import { presentOf, type SettingName, type SettingValue, type Space } from '../../src/analyze/space/space.js';
import { search } from '../../src/analyze/search/search.js';
import { limited } from '../../src/analyze/trial/limited.js';
import type { TrialOptions } from '../../src/analyze/trial/trial-options.js';
import { Trials, type TunedModel } from '../../src/analyze/trial/trials.js';
import { writtenModel } from '../../src/analyze/trial/written-models.js';
import { perfOptions, counting } from '../perf/harness.js';
import { chain, configText, ensemble, identity, onnx, rejection, type Context } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';

interface Tried {
  readonly trials: Trials;
  readonly tuned: readonly TunedModel[];
  readonly space: Space;
}

/** Trials of a model, whose axes have their present value and one other. */
async function trialsOf(
  context: Context,
  models: Readonly<Record<string, RepositoryModel>>,
  model: string,
  other: Partial<Record<SettingName, SettingValue>>,
  options: Partial<TrialOptions> = {},
): Promise<Tried> {
  const repository = await writeRepository(await temporaryFolder(context), models);
  const { place: _place, load: _load, plan: _plan, ...requests } = perfOptions({ url: '' }, model);
  const trials = new Trials(
    {
      server: { modelRepository: repository },
      model,
      version: undefined,
      composing: [],
      levels: [4],
      budgetMs: 60_000,
      requests,
      objective: { goal: 'throughput', latency: 'mean', limit: undefined, mostMemoryBytes: undefined },
      ...options,
    },
    new AbortController().signal,
  );
  const configs = await trials.present();
  const limits = new Map(
    Object.entries(other).map(([setting, value]) => [
      setting as SettingName,
      { kind: 'values', values: [value] } as const,
    ]),
  );
  const axes = configs
    .flatMap((config) => axesOf({ config, cores: 4, load: 64, batch: 1, limits }).axes)
    .filter(({ setting }) => setting in other);
  const tuned = await Promise.all(
    configs.map(async (config) => ({ config, written: await writtenModel([repository], config.name) })),
  );
  return { trials, tuned, space: { axes, cores: 4 } };
}

/** Measures the candidate whose values are all the other ones. */
async function measureOther({ trials, tuned, space }: Tried): Promise<ReturnType<Trials['limitsOf']>> {
  const candidate = space.axes.map(({ present }) => 1 - present);
  const measured = await trials.measure(space, tuned, candidate, 100);
  assert.ok('figures' in measured, 'failure' in measured ? measured.failure : '');
  const [level] = measured.figures.levels;
  assert.ok(level !== undefined && level.throughput > 0 && level.latencyMs.p99 > 0);
  return trials.limitsOf(candidate);
}

test('a candidate is served with its configuration, and the present one with its own', async (t) => {
  const tried = await trialsOf(t, { slow: identity({ delayMs: 1, maxBatchSize: 2 }) }, 'slow', {
    instances: 3,
    max_batch_size: 4,
    inline: 'off',
  });
  const { trials, tuned, space } = tried;
  assert.match((await measureOther(tried))[0]?.summary ?? '', /of 3 instances/);
  const present = presentOf(space);
  const measured = await trials.measure(space, tuned, present, 100);
  assert.ok('figures' in measured);
  assert.equal(measured.figures.memoryBytes, undefined);
  assert.match(trials.limitsOf(present)[0]?.summary ?? '', /of 1 instances/);
});

test('models of ONNX Runtime without a configuration, in JavaScript, decoupled ones and sequences are measured', async (t) => {
  const bare = await trialsOf(t, { add: { versions: { '1': addModel() } } }, 'add', {
    threads: 1,
    max_batch_size: 8,
  });
  await measureOther(bare);
  await measureOther(await trialsOf(t, { counting }, 'counting', { instances: 2 }, { version: '1' }));
  const sequences = onnx(addModel(), { batching: false, more: 'sequence_batching { }' });
  await measureOther(await trialsOf(t, { sequences }, 'sequences', { instances: 2 }));
});

test('a model that calls others is measured with these, and has its own settings alone', async (t) => {
  const caller = (more: string): RepositoryModel => ({
    config: configText({ backend: 'javascript', maxBatchSize: 4, more }),
    versions: {
      '1': {
        'model.js': `
export default class Caller {
  initialize({ server }) {
    this.server = server;
  }
  execute(requests) {
    return requests.map(async (parent) => {
      const { outputs } = await this.server.infer('inner', { x: parent.inputs.x }, { parent });
      return { y: outputs.y };
    });
  }
}
`,
      },
    },
  });
  const inner = identity({ maxBatchSize: 4 });
  const declared = caller('parameters { key: "requires" value { string_value: "inner" } }');
  for (const [outer, composing] of [
    [declared, []],
    [caller(''), ['inner']],
  ] as const) {
    const tried = await trialsOf(t, { inner, outer }, 'outer', { instances: 2 }, { composing });
    assert.deepEqual(
      (await measureOther(tried)).map(({ model }) => model),
      ['outer'],
    );
  }
  const { trials, tuned, space } = await trialsOf(t, { inner, outer: caller('') }, 'outer', { instances: 2 });
  const alone = await trials.measure(space, tuned, presentOf(space), 100);
  assert.ok('failure' in alone);
  assert.match(alone.failure, /'inner'/);
});

/** A model whose instances hold so many MiB each, and answer 20 ms after they were asked. */
const holding = (mib: number): RepositoryModel => ({
  config: configText({ backend: 'javascript', maxBatchSize: 2, instances: 3 }),
  versions: {
    '1': {
      'model.js': `
export default {
  memory: Buffer.alloc(${mib} * 2 ** 20, 1),
  async execute(requests) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return requests.map(({ inputs }) => ({ y: inputs.x }));
  },
};
`,
    },
  },
});

test('the memory objective chooses the candidate that was measured to have the least', async (t) => {
  const mib = 64;
  const large = holding(mib);
  const objective = {
    goal: 'memory',
    latency: 'mean',
    limit: undefined,
    mostMemoryBytes: undefined,
  } as const;
  const options = { objective, levels: [1] };
  const { trials, tuned, space } = await trialsOf(t, { large }, 'large', { instances: 1 }, options);
  // By this clock each measurement takes as long, so that a busy machine makes as many of them.
  let clock = 0;
  const { best, tried, verdict } = await search(space, objective, 60_000, {
    measure: async (candidate) => {
      // Waiting is a part of what is measured.
      const measured = await trials.measure(space, tuned, candidate, 300);
      clock += 4000;
      return measured;
    },
    now: () => clock,
    stopped: () => false,
    told: () => undefined,
  });
  const bytesOf = (i: number): number => tried[i]?.figures?.memoryBytes ?? 0;
  const saved = (bytesOf(0) - bytesOf(1)) / 2 ** 20;
  assert.ok(saved > 1.5 * mib, `two instances less save ${saved} MiB`);
  const one = space.axes.map(({ present }) => 1 - present);
  // A machine that other work has slowed down may take it for slower, which is then told.
  if (verdict?.best.score.meets === true) assert.deepEqual(best, one);
  else assert.ok((verdict?.best.figures.levels[0]?.throughput ?? 0) > 0);
});

test('steps of an ensemble have settings of their own', async (t) => {
  const models = {
    first: identity({ maxBatchSize: 4 }),
    second: identity({ delayMs: 1, maxBatchSize: 4 }),
    both: ensemble(chain(['first', 'second']), { maxBatchSize: 4 }),
  };
  const limits = await measureOther(await trialsOf(t, models, 'both', { instances: 2 }));
  assert.deepEqual(
    limits.map(({ model }) => model),
    ['first', 'second'],
  );
  assert.match(limits[1]?.summary ?? '', /of 2 instances/);
});

test('a step of an ensemble takes at least the rows of the ensemble', async (t) => {
  const models = {
    first: identity({ maxBatchSize: 16 }),
    both: ensemble(chain(['first']), { maxBatchSize: 4 }),
  };
  const { trials } = await trialsOf(t, models, 'both', { instances: 2 });
  assert.deepEqual([trials.leastRowsOf('first'), trials.leastRowsOf('other')], [4, 1]);
});

test('a load that hangs is not waited for, neither beyond its time nor after an end', async (t) => {
  const hanging: RepositoryModel = {
    config: configText({ backend: 'javascript', maxBatchSize: 1, batching: '' }),
    versions: {
      '1': {
        'model.js':
          'export default { initialize: () => new Promise(() => undefined), execute: (requests) => requests.map(() => ({})) };',
      },
    },
  };
  const late = await rejection(trialsOf(t, { hanging }, 'hanging', {}, { budgetMs: 50 }));
  assert.equal(late.code, 'UNAVAILABLE');
  assert.match(late.message, /^model 'hanging' was not loaded within 0\.05\d* s$/);
  const ended = await rejection(limited(new Promise(() => undefined), 1e9, AbortSignal.abort(), 'late'));
  assert.equal(ended.code, 'CANCELLED');
});

test('callers without an answer are a failure, and what they leave under way is not waited for', async (t) => {
  const silent: RepositoryModel = {
    config: configText({ backend: 'javascript', maxBatchSize: 4, batching: '' }),
    versions: {
      '1': {
        'model.js': 'export default { execute: () => new Promise(() => undefined) };',
      },
    },
  };
  const { trials, tuned, space } = await trialsOf(
    t,
    { silent },
    'silent',
    { max_batch_size: 1 },
    { budgetMs: 5000 },
  );
  const measured = await trials.measure(space, tuned, presentOf(space), 50);
  assert.ok('failure' in measured);
  assert.match(
    measured.failure,
    /^UNAVAILABLE: concurrency 4: 0 of the first 4 requests were answered within 5\.00 s$/,
  );
});

test('a candidate that does not load, or that fails requests, has the reason', async (t) => {
  const picky = (where: 'initialize' | 'execute'): RepositoryModel => ({
    config: configText({ backend: 'javascript', maxBatchSize: 1, batching: '' }),
    versions: {
      '1': {
        'model.js': `
let rows;
const check = (where) => {
  if (where === '${where}' && rows > 1) throw new Error(rows + ' is too many');
};
export default {
  initialize({ config }) {
    rows = config.max_batch_size;
    check('initialize');
  },
  execute(requests) {
    check('execute');
    return requests.map(({ inputs }) => ({ y: inputs.x }));
  },
};
`,
      },
    },
  });
  for (const where of ['initialize', 'execute'] as const) {
    const { trials, tuned, space } = await trialsOf(t, { picky: picky(where) }, 'picky', {
      max_batch_size: 4,
    });
    const measured = await trials.measure(space, tuned, [1], 100);
    assert.ok('failure' in measured, where);
    assert.match(measured.failure, /4 is too many/);
    assert.ok('figures' in (await trials.measure(space, tuned, [0], 100)), 'the next candidate is measured');
  }
});

test('memory is measured where the objective needs it', async (t) => {
  const objective = {
    goal: 'memory',
    latency: 'mean',
    limit: undefined,
    mostMemoryBytes: undefined,
  } as const;
  const { trials, tuned, space } = await trialsOf(
    t,
    { large: holding(32) },
    'large',
    { instances: 2 },
    { objective },
  );
  const measured = await trials.measure(space, tuned, presentOf(space), 100);
  // A small model's growth can be less than what the process frees meanwhile.
  const mib = 'figures' in measured ? (measured.figures.memoryBytes ?? 0) / 2 ** 20 : NaN;
  assert.ok(mib > 24, JSON.stringify(measured));
});

test('a model is looked for in folders of this machine', async (t) => {
  const folder = await temporaryFolder(t);
  assert.equal((await rejection(writtenModel([folder], 'm'))).code, 'NOT_FOUND');
  const { code, message } = await rejection(writtenModel(['s3://bucket/models'], 'm'));
  assert.equal(code, 'INVALID_ARG');
  assert.match(message, /s3:\/\/bucket\/models is elsewhere/);
  await writeRepository(folder, { bare: { versions: { '1': addModel() } } });
  const { text, config, file } = await writtenModel([join(folder, 'none'), folder], 'bare');
  await mkdir(join(folder, 'dangling'));
  await symlink('nowhere', join(folder, 'dangling', 'config.pbtxt'));
  assert.equal((await rejection(writtenModel([folder], 'dangling'))).code, 'INVALID_ARG');
  assert.deepEqual([text, config, file], [undefined, {}, join(folder, 'bare', 'config.pbtxt')]);
});
