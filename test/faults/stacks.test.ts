import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { InferenceServer, TritonError } from '../../src/index.js';
import { onnx, rejection, row, serve, turn, type Context } from '../support/harness.js';
import { failingModel } from '../support/models.js';
import { asking, faulty } from './harness.js';

/** The function and file of the first frame of an error's stack. */
function firstFrame({ stack = '' }: TritonError): string {
  return stack.split('\n').find((line) => line.startsWith('    at ')) ?? '';
}

function serverOf(context: Context, captureStacks: boolean): Promise<InferenceServer> {
  return serve(context, { faulty: faulty() }, { captureStacks });
}

// Each caller has a name that the stack shows.
async function callsInfer(server: InferenceServer): Promise<unknown> {
  return server.model('faulty').infer(asking('fails'));
}
async function callsServerInfer(server: InferenceServer): Promise<unknown> {
  return server.infer('faulty', asking('fails'));
}
async function callsMap(server: InferenceServer): Promise<unknown> {
  return server
    .model('faulty')
    .map([asking('fails')])
    .next();
}
async function callsMapLater(server: InferenceServer): Promise<unknown> {
  for await (const result of server.model('faulty').map([asking('none'), asking('none'), asking('fails')])) {
    await Promise.resolve(result);
  }
  return undefined;
}
async function callsAsyncMap(server: InferenceServer): Promise<unknown> {
  async function* items(): AsyncGenerator<ReturnType<typeof asking>> {
    yield asking('none');
    await turn();
    yield asking('fails');
  }
  const results = [];
  for await (const result of server.model('faulty').map(items())) results.push(result);
  return results;
}

const callers = [callsInfer, callsServerInfer, callsMap, callsMapLater, callsAsyncMap];

void suite('with captureStacks a failure after queueing begins with its caller', () => {
  for (const caller of callers) {
    test(caller.name, async (t) => {
      const error = await rejection(caller(await serverOf(t, true)));
      assert.equal(error.message, 'an injected failure');
      assert.match(error.stack ?? '', /^TritonError: an injected failure\n {4}at /);
      assert.match(
        firstFrame(error),
        new RegExp(`at ${caller.name} .*faults/stacks\\.test\\.[tj]s:\\d+:\\d+`),
      );
    });
  }
});

test('without captureStacks it does not have the caller', async (t) => {
  const server = await serverOf(t, false);
  const error = await rejection(callsInfer(server));
  assert.doesNotMatch(error.stack ?? '', /at callsInfer/);
});

test('the line is the caller’s, whichever of many requests fails', async (t) => {
  const server = await serverOf(t, true);
  const here = (text: string | undefined): number =>
    Number(/stacks\.test\.[tj]s:(\d+)/.exec(text ?? '')?.[1]);
  const base = here(new Error().stack);
  const errors = await Promise.all([
    rejection(server.infer('faulty', asking('fails'))),
    rejection(server.infer('faulty', asking('unavailable'))),
    rejection(server.infer('faulty', asking('too_few_bytes'))),
  ]);
  assert.deepEqual(
    errors.map(({ stack }) => here(stack) - base),
    [2, 3, 4],
  );
});

test('an error of the runtime shows its caller, too', async (t) => {
  const models = { failing: onnx(failingModel(), failingConfig) };
  const server = await serve(t, models, { captureStacks: true });
  async function asksTooMuch(): Promise<unknown> {
    return server.infer('failing', { index: BigInt64Array.of(1000n) });
  }
  const error = await rejection(asksTooMuch());
  assert.equal(error.code, 'INTERNAL');
  assert.match(firstFrame(error), /at asksTooMuch .*stacks\.test/);
});

const failingConfig = {
  inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
  outputs: [{ name: 'value', dims: [1] }],
} as const;

test('what is refused before queueing has its caller anyway', async (t) => {
  const server = await serverOf(t, false);
  async function callsWrongly(): Promise<unknown> {
    return server.infer('faulty', { x: row(0) });
  }
  assert.match((await rejection(callsWrongly())).stack ?? '', /at callsWrongly .*stacks\.test/);
});
