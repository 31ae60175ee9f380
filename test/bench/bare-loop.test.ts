import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openBareLoop, type BareLoopOptions } from '../../bench/contestants/bare-loop.js';
import { temporaryFolder } from '../support/repository.js';

/** Runs a script instead of the program: Node gets the script's path in place of the library. */
async function scripted(t: Parameters<typeof temporaryFolder>[0], script: string): Promise<BareLoopOptions> {
  const library = join(await temporaryFolder(t), 'program.mjs');
  await writeFile(library, script);
  return {
    program: process.execPath,
    library,
    path: 'model.onnx',
    threads: 1,
    datatype: 'FP32',
    model: {
      input: { name: 'x', dims: [4], itemDims: [4] },
      output: { name: 'y', dims: [2] },
      maxBatchSize: 32,
    },
  };
}

/** A script that answers each line of its input with `answer`. */
const answering = (answer: string): string => `
  import { createInterface } from 'node:readline';
  for await (const line of createInterface({ input: process.stdin })) {
    const [batch, ms] = line.split(' ').map(Number);
    ${answer}
  }`;

test('the bare loop runs the batch size that served most, of those that the model takes', async (t) => {
  const script = answering(
    'console.log(JSON.stringify({ batch, items: batch > 16 ? 1 : batch, seconds: ms / 1000 }));',
  );
  const loop = await openBareLoop(await scripted(t, script));
  t.after(() => loop.close());
  assert.equal(loop.how, 'batches of 16');
  assert.deepEqual(await loop.measure(500), {
    answers: 16,
    seconds: 0.5,
    requestsPerSecond: 32,
    latency: undefined,
  });
});

test('the program gets the model and whole milliseconds', async (t) => {
  const script = answering(
    'if (!Number.isInteger(ms)) process.exit(1); else console.log(JSON.stringify({ items: process.argv.slice(2).join(), seconds: 1 }));',
  );
  const loop = await openBareLoop(await scripted(t, script));
  t.after(() => loop.close());
  assert.equal((await loop.measure(12.5)).answers, 'model.onnx,1,x,FP32,4,y,2');
});

test('a program that ends fails the measurement with what it said', async (t) => {
  const script = `console.error('no such library'); process.exit(3);`;
  await assert.rejects(openBareLoop(await scripted(t, script)), /node\S* ended with 3: no such library/);
});

test('a program that is not there fails the measurement', async (t) => {
  const options = { ...(await scripted(t, '')), program: join(process.cwd(), 'no-such-program') };
  await assert.rejects(openBareLoop(options), /no-such-program spawn .*ENOENT/);
});
