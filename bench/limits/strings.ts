/** The cost of strings: BYTES tensors of many short strings, through the identity backend. */
import { setImmediate as turn } from 'node:timers/promises';
import { createServer, type InferResult, type Model } from '../../src/index.js';
import { writeRepository } from '../../test/support/repository.js';
import type { Measured } from './limits.js';
import { estimate } from '../reports/statistics.js';

const count = 1000;
/** Number of requests in a round, one after another. */
const requests = 200;

/** Time of the JS thread, in nanoseconds for each request. */
interface Cost {
  /** Until `infer` returns: checks, encoding, the copy. */
  readonly call: number;
  /** From there until the answer has arrived, without the wait. */
  readonly answer: number;
  /** `strings()` of the answer. */
  readonly read: number;
}

/**
 * Measures in two passes, because reading creates strings, which are garbage-collected during the next request.
 */
async function costOf(model: Model, strings: readonly string[]): Promise<Cost> {
  const unread = await passOf(model, strings, () => undefined);
  let read = 0;
  await passOf(model, strings, ({ outputs }) => {
    const arrived = performance.now();
    const text = outputs['y']?.as('BYTES').strings();
    read += performance.now() - arrived;
    if (text?.length !== strings.length) throw new Error('an answer without its strings');
  });
  return { ...unread, read: (read * 1e6) / requests };
}

async function passOf(
  model: Model,
  strings: readonly string[],
  use: (result: InferResult) => void,
): Promise<Omit<Cost, 'read'>> {
  let call = 0;
  await turn();
  const before = performance.eventLoopUtilization();
  for (let i = 0; i < requests; i++) {
    const start = performance.now();
    const answer = model.infer({ x: { data: strings, shape: [1, strings.length] } });
    call += performance.now() - start;
    use(await answer);
  }
  const { active } = performance.eventLoopUtilization(before);
  const each = (milliseconds: number): number => (milliseconds * 1e6) / requests;
  return { call: each(call), answer: each(active - call) };
}

/**
 * Measures strings in and out.
 *
 * @param folder - Where a model may be written.
 */
export async function measureStrings(folder: string, rounds: number): Promise<Measured[]> {
  await writeRepository(folder, {
    strings: {
      config: `backend: "identity"
max_batch_size: 8
input [ { name: "x", data_type: TYPE_STRING, dims: [ -1 ] } ]
output [ { name: "y", data_type: TYPE_STRING, dims: [ -1 ] } ]
instance_group [ { kind: KIND_CPU, count: 1 } ]
`,
      versions: { '1': {} },
    },
  });
  // The batches run on a thread of the engine, so that the backend's own work is not counted.
  const server = await createServer(folder, {
    modelControlMode: 'explicit',
    loadModels: ['strings'],
    inline: 'off',
  });
  try {
    const model = server.model('strings');
    const many = Array.from({ length: count }, (_, i) => `token ${i}`);
    const one = ['token'];
    const inward: number[] = [];
    const outward: number[] = [];
    const read: number[] = [];
    for (let round = -2; round < rounds; round++) {
      const alone = await costOf(model, one);
      const all = await costOf(model, many);
      if (round < 0) continue;
      inward.push((all.call - alone.call) / (count - 1));
      outward.push((all.answer - alone.answer) / (count - 1));
      read.push((all.read - alone.read) / (count - 1));
    }
    const detail = `of ${count}; a request with one string is taken off`;
    return [
      { what: 'a string in', value: estimate(inward), unit: 'ns', limit: { atMost: 80 }, detail },
      { what: 'a string out, not read', value: estimate(outward), unit: 'ns', limit: { atMost: 10 }, detail },
      { what: 'a string read by strings()', value: estimate(read), unit: 'ns' },
    ];
  } finally {
    await server.close();
  }
}
