/** Measures the cost of queue policies against plain `dynamic_batching { }`, and the lateness of deadlines. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, type InferenceServer, type InferOptions } from '../../src/index.js';
import { addModel } from '../../test/support/models.js';
import { writeRepository } from '../../test/support/repository.js';
import type { Measured } from './limits.js';
import { estimate, median } from '../reports/statistics.js';
import { ratioByTurns, turnMs } from '../measuring/turns.js';

/** Requests outstanding. */
const loads: readonly number[] = [64, 512];
/** How long requests whose lateness is measured may wait, in milliseconds. */
const deadlineMs = 5;
/** Deadlines per round. */
const deadlines = 15;

const tensors = `input [ { name: "x" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 16 ] } ]
instance_group [ { kind: KIND_CPU } ]`;

const tiny = (batching: string): { config: string; versions: { '1': Uint8Array } } => ({
  config: `backend: "onnxruntime" max_batch_size: 512 dynamic_batching { ${batching} } ${tensors}`,
  versions: { '1': addModel() },
});

const repository = {
  plain: tiny(''),
  bounded: tiny('default_queue_policy { max_queue_size: 1024 }'),
  levels: tiny('priority_levels: 3 default_priority_level: 2'),
  timed: tiny('default_queue_policy { default_timeout_microseconds: 1000000 }'),
  ordered: tiny('preserve_ordering: true'),
  busy: {
    config: `backend: "identity" max_batch_size: 1
dynamic_batching { default_queue_policy { allow_timeout_override: true } }
parameters { key: "execute_delay_ms" value { string_value: "${2 * deadlineMs * deadlines}" } } ${tensors}`,
    versions: { '1': {} },
  },
};

/** Models compared with the plain one. */
interface Comparison {
  readonly name: string;
  readonly model: keyof typeof repository;
  readonly atLeast?: number;
  /**
   * A caller's options, from its position among the callers (0 to 1); for both models, or only this one (`alone`).
   */
  readonly options?: (share: number) => InferOptions;
  readonly alone?: boolean;
}

const priorities: readonly InferOptions[] = [{ priority: 1 }, { priority: 2 }, { priority: 3 }];
/**
 * The callers of one priority are contiguous, as requests of one part of a program are. Requests with alternating
 * priorities would be groups of one, under plain batching, too.
 */
const prioritised = (share: number): InferOptions => priorities[Math.floor(3 * share)] ?? {};

const comparisons: readonly Comparison[] = [
  { name: 'max_queue_size', model: 'bounded', atLeast: 0.97 },
  { name: 'three priorities', model: 'levels', atLeast: 0.97, options: prioritised },
  {
    name: 'three priorities, against requests without options',
    model: 'levels',
    options: prioritised,
    alone: true,
  },
  { name: 'default_timeout_microseconds', model: 'timed' },
  { name: 'preserve_ordering', model: 'ordered' },
];

/** Requests per second, with `callers` callers that each await one answer after another. */
async function rateOf(
  server: InferenceServer,
  name: string,
  callers: number,
  options?: Comparison['options'],
): Promise<number> {
  const model = server.model(name);
  let answered = 0;
  const start = performance.now();
  const end = start + turnMs;
  const call = async (caller: number): Promise<void> => {
    const x = new Float32Array(16).fill(caller);
    const own = options?.(caller / callers);
    while (performance.now() < end) {
      for (let i = 0; i < 16; i++) await model.infer({ x }, own);
      answered += 16;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  return (answered * 1000) / (performance.now() - start);
}

/** The median lateness of rejections of requests that expire while the instance is busy, in milliseconds. */
async function lateness(server: InferenceServer): Promise<number> {
  const x = new Float32Array(16);
  const busy = server.infer('busy', { x });
  await sleep(2);
  const late: number[] = [];
  for (let i = 0; i < deadlines; i++) {
    const sent = performance.now();
    await server.infer('busy', { x }, { timeoutUs: 1000 * deadlineMs }).then(
      () => {
        throw new Error('a request was served that should have expired');
      },
      () => late.push(performance.now() - sent - deadlineMs),
    );
  }
  await busy;
  return median(late);
}

/**
 * Measures queue policies. Each is compared with the plain batcher in each round.
 *
 * @param folder - Where models may be written.
 */
export async function measureQueues(folder: string, rounds: number): Promise<Measured[]> {
  await writeRepository(folder, repository);
  const server = await createServer(folder, {
    modelControlMode: 'explicit',
    loadModels: Object.keys(repository),
  });
  try {
    const measured: Measured[] = [];
    for (const callers of loads) {
      for (const { name, model, atLeast, options, alone = false } of comparisons) {
        const plainOptions = alone ? undefined : options;
        const ratios: number[] = [];
        // Round -1 is a warm-up, and is not kept.
        for (let round = -1; round < rounds; round++) {
          const ratio = await ratioByTurns(
            () => rateOf(server, model, callers, options),
            () => rateOf(server, 'plain', callers, plainOptions),
          );
          if (round >= 0) ratios.push(ratio);
        }
        measured.push({
          what: `${name}, ${callers} outstanding`,
          value: estimate(ratios),
          unit: 'x',
          ...(atLeast === undefined ? {} : { limit: { atLeast } }),
          detail: 'of the requests/s of dynamic_batching { }',
        });
      }
    }
    const late: number[] = [];
    for (let round = 0; round < rounds; round++) late.push(await lateness(server));
    measured.push({
      what: 'lateness of a deadline',
      value: estimate(late),
      unit: 'ms',
      limit: { atMost: 1 },
      detail: `median of ${deadlines}, ${deadlineMs} ms each, the instance being busy; until the promise rejects`,
    });
    return measured;
  } finally {
    await server.close();
  }
}
