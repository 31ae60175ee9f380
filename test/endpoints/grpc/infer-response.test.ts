/** The size of answers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeInferResponse, writeStreamResponse } from '../../../src/endpoints/grpc/infer-response.js';
import { RpcError, status } from '../../../src/protocol/grpc/status.js';
import { newTensor } from '../../../src/tensor/tensor.js';
import { onnx, row, serve } from '../../support/harness.js';

test('an answer that is larger than a message may be is refused where it is written', async (t) => {
  const server = await serve(t, { m: onnx() });
  const small = await server.infer('m', { x: row() });
  // Pages that nothing writes to take no memory. Both outputs are the same bytes.
  const half = new newTensor('UINT8', [2 ** 30], new Uint8Array(2 ** 30));
  const large = { ...small, outputs: { a: half, b: half } };
  for (const write of [
    (): unknown => writeInferResponse(large, undefined),
    (): unknown => writeStreamResponse(large, undefined, true),
  ])
    assert.throws(write, (error) => error instanceof RpcError && error.status === status.resourceExhausted);
  // Nothing of it is left for the next answer.
  const { pieces, size } = writeInferResponse(small, undefined);
  assert.equal(Buffer.concat(pieces).readUInt32BE(1), size - 5);
});
