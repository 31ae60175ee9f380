/** The order of outputs on the wire: JavaScript sorts names that look like integers, but answers must not. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identity, serve } from '../support/harness.js';
import { endpointOf as grpcOf, foreign, responses, type Fields } from './grpc/harness.js';
import { ask, endpointOf as httpOf, json } from './http/harness.js';

const names = ['scores', '307', '12', '__proto__'];
const tensor = { datatype: 'INT32', dims: [-1] } as const;
const inputs = names.map((name, i) => ({ name: `in_${name}`, value: 10 + i }));
const model = identity({
  maxBatchSize: 0,
  batching: false,
  inputs: inputs.map(({ name }) => ({ name, ...tensor })),
  outputs: names.map((name) => ({ name, ...tensor })),
});

interface HttpAnswer {
  readonly outputs: readonly { readonly name: string; readonly data: readonly unknown[] }[];
}

test('outputs come in the order of the configuration, or of the request', async (t) => {
  const server = await serve(t, { m: model });
  const http = await httpOf(t, server);
  const client = await foreign(t, await grpcOf(t, server));
  const reversed = [...names].reverse();
  const values = (order: readonly string[]): number[] => order.map((name) => 10 + names.indexOf(name));
  const httpInputs = inputs.map(({ name, value }) => ({
    name,
    shape: [1],
    datatype: 'INT32',
    data: [value],
  }));
  const grpcRequest: Fields = {
    model_name: 'm',
    inputs: inputs.map(({ name, value }) => ({
      name,
      shape: [1],
      datatype: 'INT32',
      contents: { int_contents: [value] },
    })),
  };
  const raw = (order: readonly string[]): Buffer[] =>
    values(order).map((value) => Buffer.from(Int32Array.of(value).buffer));

  for (const [order, outputs] of [
    [names, undefined],
    [reversed, reversed.map((name) => ({ name }))],
  ] as const) {
    const { outputs: told } = json(
      await ask(http, '/v2/models/m/infer', { body: { inputs: httpInputs, outputs } }),
    ) as HttpAnswer;
    assert.deepEqual(
      told.map(({ name, data }) => [name, ...data]),
      order.map((name, i) => [name, values(order)[i]]),
    );
    const request = { ...grpcRequest, ...(outputs !== undefined && { outputs }) };
    const answer = await client.call('ModelInfer', request);
    const stream = client.stream();
    stream.write(request);
    const first = ((await responses(stream, 1)) as Fields[])[0];
    stream.end();
    for (const one of [answer, first?.['infer_response'] as Fields]) {
      assert.deepEqual(
        (one['outputs'] as { name: string }[]).map(({ name }) => name),
        order,
      );
      assert.deepEqual(one['raw_output_contents'], raw(order));
    }
  }

  const binary = await ask(http, '/v2/models/m/infer', {
    body: { inputs: httpInputs, parameters: { binary_data_output: true } },
  });
  assert.deepEqual(binary.body.subarray(-16), Buffer.concat(raw(names)));

  const classes = json(
    await ask(http, '/v2/models/m/infer', {
      body: {
        inputs: httpInputs,
        outputs: reversed.map((name) => ({ name, parameters: { classification: 1 } })),
      },
    }),
  ) as HttpAnswer;
  assert.deepEqual(
    classes.outputs.map(({ name, data }) => [name, ...data]),
    reversed.map((name) => [name, `${10 + names.indexOf(name)}:0`]),
  );

  const body = Object.fromEntries(inputs.map(({ name, value }) => [name, value]));
  const generated = await ask(http, '/v2/models/m/generate', { body });
  assert.equal(generated.status, 200, generated.text);
  const places = names.map((name) => generated.text.indexOf(`"${name}":`));
  assert.deepEqual(
    places,
    [...places].sort((one, other) => one - other),
  );
});
