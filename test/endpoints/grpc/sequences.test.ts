/** The parameters of sequences in calls and streams, as foreign clients send them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer } from '../../../src/index.js';
import { teller, type Told } from '../../support/sequences.js';
import { endpointOf, floats, foreign, responses, type Fields } from './harness.js';

interface Answer {
  readonly raw_output_contents?: readonly Buffer[];
}

const told = ({ raw_output_contents: [bytes] = [] }: Answer): Told =>
  // The model writes this form, after the length.
  JSON.parse(String(bytes?.subarray(4))) as Told;

const request = (x: number, parameters: Fields): Fields => ({
  model_name: 'm',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1] }],
  raw_input_contents: [floats(x)],
  parameters,
});

const cases: readonly (readonly [Fields, Told[1]])[] = [
  [{ sequence_id: { int64_param: 5 }, sequence_start: { bool_param: true } }, ['5n', true, false]],
  [{ sequence_id: { int64_param: '9223372036854775807' } }, ['9223372036854775807n', false, false]],
  // Triton reads the bits of an integer with a sign as one without.
  [{ sequence_id: { int64_param: -1 } }, ['18446744073709551615n', false, false]],
  [{ sequence_id: { int64_param: '-9223372036854775808' } }, ['9223372036854775808n', false, false]],
  [{ sequence_id: { uint64_param: '18446744073709551615' } }, ['18446744073709551615n', false, false]],
  [{ sequence_id: { string_param: '-1' }, sequence_end: { bool_param: true } }, ['-1', false, true]],
  [{ sequence_start: { bool_param: true } }, ['0n', true, false]],
  [{ sequence_id: { int64_param: 0 }, sequence_end: { bool_param: false } }, null],
  [{ sequence_id: { string_param: '' } }, null],
];

test('ids and flags of calls and of streams come to the model, in order', async (t) => {
  const server = await createServer({ models: { m: teller } });
  t.after(() => server.close({ timeoutMs: 0 }));
  const client = await foreign(t, await endpointOf(t, server));
  for (const [parameters, expected] of cases) {
    const answer: Answer = await client.call('ModelInfer', request(1, parameters));
    assert.deepEqual(told(answer), [1, expected]);
  }
  const stream = client.stream();
  const all = responses<Fields>(stream);
  for (const [i, [parameters]] of cases.entries()) stream.write(request(i, parameters));
  stream.end();
  const answers = await all;
  assert.deepEqual(
    answers.map((one) => told((one['infer_response'] ?? {}) as Answer)),
    cases.map(([, expected], i) => [i, expected]),
  );
});
