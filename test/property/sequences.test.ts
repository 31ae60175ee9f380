/**
 * Random schedules of sequences with states, while instances of their model come and go, runs fail, requests are
 * cancelled, and the model is loaded again. `npm test -- property --seconds 120 --seed N` runs it for longer.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createServer, TritonError, type InferenceServer, type ModelConfigInput } from '../../src/index.js';
import fc from '../support/fast-check.js';
import { floats, turn, until } from '../support/harness.js';
import { failingSum } from '../support/models/sequences.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { inTime } from './patience.js';

/** What a request adds to its sequence's sum; with this much the run fails. */
const failing = 100;
const callers = 6;

type Step =
  /** A caller sends requests, the last of which may end its sequence. */
  | {
      readonly do: 'send';
      readonly caller: number;
      readonly values: readonly number[];
      readonly end: boolean;
      readonly aborted: boolean;
    }
  | { readonly do: 'turns'; readonly count: number }
  /** Aborts the requests so far that are to be aborted. */
  | { readonly do: 'abort' }
  /** Loads the model with another number of instances, and nothing else. */
  | { readonly do: 'instances'; readonly count: number }
  /** Loads another version of the model. */
  | { readonly do: 'reload' }
  /** Ends all sequences, and waits for the answers. */
  | { readonly do: 'settle' };

interface Schedule {
  readonly direct: boolean;
  readonly rows: number;
  readonly slots: number;
  readonly instances: number;
  readonly steps: readonly Step[];
}

const counts = fc.integer({ min: 1, max: 4 });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      caller: fc.nat(callers - 1),
      values: fc.array(fc.oneof({ weight: 9, arbitrary: fc.nat(9) }, fc.constant(failing)), {
        minLength: 1,
        maxLength: 4,
      }),
      end: fc.boolean(),
      aborted: fc.integer({ min: 0, max: 9 }).map((draw) => draw === 0),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('turns' as const), count: counts }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('instances' as const), count: counts }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reload' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
);
const anySchedule: fc.Arbitrary<Schedule> = fc.record({
  direct: fc.boolean(),
  rows: counts,
  slots: counts,
  instances: counts,
  steps: fc.array(anyStep, { maxLength: 30 }),
});

/** A request, and how it ended: its sum, or its error. */
interface Sent {
  readonly value: number;
  readonly aborted: boolean;
  outcome: number | TritonError | undefined;
  ends: number;
}

/** A sequence, from its START on. */
interface Life {
  readonly id: number;
  readonly sent: Sent[];
  /** How many reloads had ended when it began. */
  readonly since: number;
  /** Its caller sends no more requests of it. */
  over: boolean;
}

class Run {
  readonly #server: InferenceServer;
  readonly #schedule: Schedule;
  #instances: number;
  #begun = 0;
  #ended = 0;
  #controller = new AbortController();
  #lastId = 0;
  /** By caller: its sequence. */
  readonly #lives: (Life | undefined)[] = [];
  readonly #all: Life[] = [];
  readonly #answers: Promise<void>[] = [];
  #loads: Promise<void> = Promise.resolve();

  constructor(server: InferenceServer, schedule: Schedule) {
    this.#server = server;
    this.#schedule = schedule;
    this.#instances = schedule.instances;
  }

  async play(): Promise<void> {
    await this.#load();
    for (const step of this.#schedule.steps) await this.#do(step);
    await this.#settle();
    const { sequences } = this.#server.explain('sum');
    assert.ok(sequences);
    assert.deepEqual([sequences.live, sequences.backlog, sequences.stateBytes], [0, 0, 0]);
    // A removed instance is gone once its last sequence has ended.
    const slots = this.#instances * this.#schedule.slots;
    await until(() => this.#server.explain('sum').sequences?.slots === slots);
  }

  async #do(step: Step): Promise<void> {
    switch (step.do) {
      case 'send':
        this.#sendFor(step);
        break;
      case 'turns':
        for (let i = 0; i < step.count; i++) await turn();
        break;
      case 'abort':
        this.#controller.abort();
        this.#controller = new AbortController();
        break;
      case 'instances':
        // A load that changes nothing loads the model again.
        if (step.count === this.#instances) return;
        this.#instances = step.count;
        this.#loadSoon();
        break;
      case 'reload':
        this.#begun++;
        this.#loadSoon();
        break;
      case 'settle':
        await this.#settle();
    }
  }

  #loadSoon(): void {
    const loaded = this.#load();
    this.#loads = Promise.all([this.#loads, loaded]).then(() => undefined);
    // Awaited later.
    this.#loads.catch(() => undefined);
  }

  async #load(): Promise<void> {
    const { direct, rows, slots } = this.#schedule;
    const reloads = this.#begun;
    const config: ModelConfigInput = {
      backend: 'onnxruntime',
      max_batch_size: direct ? slots : rows,
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [2] }],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [2] }],
      instance_group: [{ kind: 'KIND_CPU', count: this.#instances }],
      parameters: { reloads: { string_value: String(reloads) } },
      sequence_batching: {
        max_sequence_idle_microseconds: 600_000_000,
        ...(direct ? { direct: {} } : { oldest: { max_candidate_sequences: slots } }),
        state: [{ input_name: 'sum', output_name: 'next', data_type: 'TYPE_FP32', dims: [2] }],
      },
    };
    await this.#server.loadModel('sum', { config });
    this.#ended = Math.max(this.#ended, reloads);
  }

  #begin(id: number): Life {
    const life: Life = { id, sent: [], since: this.#ended, over: false };
    this.#all.push(life);
    return life;
  }

  #sendFor({ caller, values, end, aborted }: Extract<Step, { readonly do: 'send' }>): void {
    const before = this.#lives[caller];
    let life = before;
    if (before === undefined || before.over || before.sent.some(({ outcome }) => isUnknown(outcome))) {
      // An id may be used again behind an END. Behind a request that is cancelled it would be cancelled, too.
      const isFree = before?.over === true && !before.sent.some((one) => one.aborted);
      life = this.#begin(isFree ? before.id : ++this.#lastId);
      this.#lives[caller] = life;
    }
    if (life !== undefined) this.#send(life, values, end, aborted);
  }

  #send(life: Life, values: readonly number[], end: boolean, aborted: boolean): void {
    const { signal } = this.#controller;
    for (const [i, value] of values.entries()) {
      const isLast = i === values.length - 1;
      const sequence = { id: life.id, start: life.sent.length === 0, end: end && isLast };
      const one: Sent = { value, aborted, outcome: undefined, ends: 0 };
      life.sent.push(one);
      const x = { data: [value, value], shape: [1, 2] };
      const answer = this.#server.infer('sum', { x }, { sequence, ...(aborted && { signal }) }).then(
        (result) => {
          one.ends++;
          one.outcome = floats(result)[0];
        },
        (error: unknown) => {
          one.ends++;
          if (!(error instanceof TritonError)) throw error;
          one.outcome = error;
        },
      );
      answer.catch(() => undefined);
      this.#answers.push(answer);
    }
    // What a cancelled request has done to its sequence is not known.
    if (end || aborted) life.over = true;
  }

  async #settle(): Promise<void> {
    this.#controller.abort();
    this.#controller = new AbortController();
    await this.#loads;
    // Now the engine knows what was cancelled.
    await turn();
    for (const life of [...this.#all]) {
      // A request that was to be cancelled may have run, and its sequence may live.
      if (life.sent.some((one) => one.aborted)) this.#send(this.#begin(life.id), [0], true, false);
      else if (!life.over) this.#send(life, [0], true, false);
    }
    assert.ok(await inTime(Promise.all(this.#answers)), 'requests have not ended');
    // Requests that found their sequence gone have left none.
    for (const life of this.#all.splice(0)) this.#check(life);
    this.#lives.length = 0;
    await until(() => this.#server.explain('sum').sequences?.live === 0);
  }

  #check({ sent, since }: Life): void {
    const wasReloaded = this.#begun > since;
    const wasAborted = sent.some(({ aborted }) => aborted);
    const mayFail = this.#schedule.steps.some((step) => step.do === 'send' && step.values.includes(failing));
    let sum = 0;
    let isGone = false;
    for (const [i, { value, outcome, ends, aborted }] of sent.entries()) {
      const what = `request ${i} of ${JSON.stringify(sent)}`;
      assert.equal(ends, 1, what);
      if (typeof outcome === 'number') {
        assert.ok(!isGone && value !== failing, what);
        sum += value;
        if (!wasAborted) assert.equal(outcome, sum, what);
        continue;
      }
      const code = outcome?.code;
      if (code === 'INVALID_ARG') {
        // Its sequence ended with the version that it was of.
        assert.ok(i > 0 && wasReloaded, what);
        isGone = true;
      } else if (code === 'CANCELLED') {
        assert.ok(aborted || wasAborted, what);
      } else {
        // Others of its batch fail, too.
        assert.ok(code === 'INTERNAL' && mayFail, what);
      }
    }
  }
}

function isUnknown(outcome: Sent['outcome']): boolean {
  return outcome instanceof TritonError && outcome.code === 'INVALID_ARG';
}

const seconds = process.env['TRITONTS_PROPERTY_SECONDS'];
const seed = Number(process.env['TRITONTS_PROPERTY_SEED'] ?? 1);

test('sequences keep their states and their order while instances come and go', async (t) => {
  const repository = await writeRepository(await temporaryFolder({ after }), {
    sum: { versions: { '1': failingSum() } },
  });
  const server = await createServer(repository, { modelControlMode: 'explicit' });
  after(() => server.close({ timeoutMs: 0 }));
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(anySchedule, async (schedule) => {
      runs++;
      try {
        await new Run(server, schedule).play();
      } finally {
        await server.unloadModel('sum');
      }
    }),
    {
      seed,
      ...(seconds === undefined
        ? { numRuns: 40 }
        : {
            numRuns: 1_000_000,
            plugins: [fc.interruptAfterTimeLimit(Number(seconds) * 500, { failOnInterrupt: false })],
          }),
      includeErrorInReport: true,
    },
  );
  t.diagnostic(`${runs} schedules with seed ${seed}`);
});
