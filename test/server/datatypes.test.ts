import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../support/fast-check.js';
import type { Datatype, InferenceServer } from '../../src/index.js';
import { identityModel } from '../support/models.js';
import type { RepositoryModel } from '../support/repository.js';
import { anyDims, anySeed, assertSame, datatypes, sample } from './any-tensor.js';
import { batchCounts, configText, serve, type Context } from '../support/harness.js';

const backends = ['identity', 'onnxruntime'] as const;
type BackendName = (typeof backends)[number];
const ranks = [0, 1, 2, 3, 4];
/** See datatypes-copied.test.ts. */
const copying = process.env['TRITONTS_NO_EXTERNAL_BUFFERS'] === '1';

/** A model y = x for tensors of a datatype and rank (without the batch), with every dim variable. */
function echo(backend: BackendName, datatype: Datatype, rank: number, batched: boolean): RepositoryModel {
  const symbols = Array.from({ length: rank }, (_, i) => `d${i}`);
  const dims = rank === 0 ? [1] : symbols.map(() => -1);
  // A tensor without dims is configured as [1], and a batching model needs a reshape for that.
  const reshape = rank === 0 && batched ? 'reshape { }' : '';
  const tensor = (name: string): string =>
    `{ name: "${name}" data_type: TYPE_${datatype === 'BYTES' ? 'STRING' : datatype} dims: [ ${dims.join(', ')} ] ${reshape} }`;
  const config = `${configText({ backend, maxBatchSize: batched ? 8 : 0, inputs: [], outputs: [] })}
    input [ ${tensor('x')} ] output [ ${tensor('y')} ]`;
  const file = identityModel(datatype, batched ? ['N', ...symbols] : symbols);
  return { config, versions: { '1': backend === 'identity' ? {} : file } };
}

function serveDatatype(t: Context, backend: BackendName, datatype: Datatype): Promise<InferenceServer> {
  const models: Record<string, RepositoryModel> = {};
  for (const rank of ranks) {
    models[`alone_${rank}`] = echo(backend, datatype, rank, false);
    models[`batched_${rank}`] = echo(backend, datatype, rank, true);
  }
  return serve(t, models);
}

/** The caller's shape for a tensor with these dims: it is never empty. */
const shown = (dims: readonly number[]): readonly number[] => (dims.length === 0 ? [1] : dims);

for (const backend of backends) {
  for (const datatype of datatypes) {
    test(`any ${datatype} tensor goes through ${backend} bit for bit, alone and batched`, async (t) => {
      const server = await serveDatatype(t, backend, datatype);
      await fc.assert(
        fc.asyncProperty(anyDims, anySeed, async (dims, seed) => {
          const sent = sample(datatype, shown(dims), seed);
          const { outputs } = await server.infer(`alone_${dims.length}`, { x: sent.input });
          assertSame(outputs['y'], datatype, sent);
        }),
        { numRuns: 12 },
      );
      const rows = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 5 });
      await fc.assert(
        fc.asyncProperty(anyDims, rows, anySeed, async (dims, batches, seed) => {
          const sent = batches.map((batch, i) => sample(datatype, [batch, ...shown(dims)], seed + i));
          const model = server.model(`batched_${dims.length}`);
          // Requests of one turn can run together.
          const results = await Promise.all(sent.map(({ input }) => model.infer({ x: input })));
          sent.forEach((one, i) => {
            assertSame(results[i]?.outputs['y'], datatype, one);
          });
        }),
        { numRuns: 12 },
      );
      const sizes = ranks.flatMap((rank) => Object.keys(batchCounts(server, `batched_${rank}`)).map(Number));
      assert.ok(Math.max(...sizes) > 3, `no two requests ran together: batches of ${sizes.join(', ')}`);
    });
  }

  test(`tensors of more than 64 KiB go through ${backend} bit for bit`, async (t) => {
    const model = (datatype: Datatype): RepositoryModel => echo(backend, datatype, 2, true);
    const server = await serve(
      t,
      Object.fromEntries(datatypes.map((datatype) => [datatype, model(datatype)])),
    );
    for (const datatype of datatypes) {
      // One output is over 64 KiB by itself, and the others share a batch with it.
      const sent = [6, 1, 1].map((batch, i) => sample(datatype, [batch, 4000, 3], i));
      const results = await Promise.all(sent.map(({ input }) => server.infer(datatype, { x: input })));
      sent.forEach((one, i) => {
        assertSame(results[i]?.outputs['y'], datatype, one);
      });
      const data = results[0]?.outputs['y']?.data;
      // Only memory of V8 can be transferred, so the variable had its effect.
      if (copying && ArrayBuffer.isView(data)) {
        structuredClone(data.buffer, { transfer: [data.buffer] });
        assert.equal(data.byteLength, 0);
      }
    }
  });
}

test('results of one backend are inputs of the other, looked at before or not', async (t) => {
  for (const datatype of datatypes) {
    const server = await serve(t, {
      first: echo('identity', datatype, 2, true),
      second: echo('onnxruntime', datatype, 2, true),
    });
    const sent = sample(datatype, [2, 3, 4], 5);
    const { outputs } = await server.infer('first', { x: sent.input });
    const y = outputs['y'];
    assert.ok(y);
    assertSame((await server.infer('second', { x: y })).outputs['y'], datatype, sent);
    assertSame(y, datatype, sent);
    assertSame((await server.infer('second', { x: y })).outputs['y'], datatype, sent);
  }
});
