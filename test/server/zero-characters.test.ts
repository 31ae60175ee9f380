/** Names with a zero character are refused, because interfaces of C would cut them there. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer, type GivenModel } from '../../src/index.js';
import { identity, rejection, row, serve } from '../support/harness.js';

/** A model whose tensors have these names. */
function named(input: string, output: string): GivenModel {
  return {
    config: {
      input: [{ name: input, data_type: 'TYPE_FP32', dims: [16] }],
      output: [{ name: output, data_type: 'TYPE_FP32', dims: [16] }],
    },
    execute: (requests) => requests.map(({ inputs }) => ({ [output]: inputs[input] })),
  };
}

test('names of models and of their tensors', async () => {
  for (const [models, message] of [
    [{ 'a\0b': named('x', 'y') }, /expected a model's name.* but received 'a\\u0000b'/],
    [
      { m: named('x\0a', 'y') },
      /input\[0\]\.name: expected a name without a zero character but found "x\\u0000a"/,
    ],
    [
      { m: named('x', '\0') },
      /output\[0\]\.name: expected a name without a zero character but found "\\u0000"/,
    ],
  ] as const) {
    const error = await rejection(createServer({ models }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
});

test('an escape in the text of a configuration', async (t) => {
  const config = `backend: "identity"
    input [ { name: "x\\000a" data_type: TYPE_FP32 dims: [ 16 ] } ]
    output [ { name: "y" data_type: TYPE_FP32 dims: [ 16 ] } ]`;
  const error = await rejection(serve(t, { m: { config, versions: { '1': {} } } }));
  assert.match(error.message, /config\.pbtxt:2.*input\[0\]\.name: expected a name without a zero character/);
});

test('names in a request', async (t) => {
  const server = await serve(t, { m: identity() });
  for (const [inputs, options, message] of [
    [{ x: row() }, { parameters: { 'a\0b': 1 } }, /parameters must not have the name 'a\\u0000b'/],
    [{ 'x\0': row() }, {}, /no input is named 'x\\u0000'/],
    [{ x: row() }, { outputs: ['y\0z'] }, /unknown output 'y\\u0000z'/],
    [{ x: row() }, { into: { 'y\0z': row() } }, /'y\\u0000z'/],
  ] as const) {
    const error = await rejection(server.infer('m', inputs, options));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
  assert.equal((await rejection(server.infer('m\0', { x: row() }))).code, 'NOT_FOUND');
});
