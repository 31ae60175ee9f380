import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelDescription, TensorDescription } from '../../../src/config/rules/description.js';
import { doubtedBatching, rowsDoubt } from '../../../src/config/rules/rows.js';
import { normalized } from '../helpers.js';

/** A tensor with dimensions such as `N,16`; `?` is a dimension without a name. */
function tensor(name: string, dims: string, optional = false): TensorDescription {
  const parts = dims === '' ? [] : dims.split(',');
  return {
    name,
    datatype: 'FP32',
    typeName: 'tensor(float)',
    shape: parts.map((part) => (/^\d+$/.test(part) ? Number(part) : -1)),
    optional,
    dimNames: parts.map((part) => (/^\d+$|^\?$/.test(part) ? '' : part)),
  };
}

/** A model with inputs a, b … and outputs y, z …. An input with `=` has a default value. */
function model(inputs: readonly string[], outputs: readonly string[], rowsVary?: string): ModelDescription {
  return {
    inputs: inputs.map((dims, i) => tensor('abc'[i] ?? '', dims.replace('=', ''), dims.startsWith('='))),
    outputs: outputs.map((dims, i) => tensor('yz'[i] ?? '', dims)),
    rowsVary,
  };
}

for (const [inputs, outputs] of [
  [['N,16'], ['N,16']],
  [
    ['N,16', 'N', 'N,N'],
    ['N', 'N,7'],
  ],
  [['N,16', '=W,16'], ['N']],
  [['batch size,16'], ['batch size,?']],
] as const) {
  test(`[${inputs.join('], [')}] to [${outputs.join('], [')}] keeps its rows`, () => {
    assert.equal(rowsDoubt(model(inputs, outputs)), undefined);
    assert.equal(rowsDoubt(model(inputs, outputs, 'it has this')), 'it has this');
  });
}

for (const [inputs, outputs, doubt] of [
  [['N,3'], ['M,2'], 'the first dimension of output "y", [M,2], is not that of input "a", [N,3]'],
  [['N,3'], ['N,2', 'M'], 'the first dimension of output "z", [M], is not that of input "a", [N,3]'],
  [['N,3'], ['2,N'], 'the first dimension of output "y", [2,N], has no name in the model\'s file'],
  [['N,3'], [''], 'the first dimension of output "y", [], has no name in the model\'s file'],
  [['?,3'], ['?,3'], 'the first dimension of input "a", [-1,3], has no name in the model\'s file'],
  [['N,3'], ['?,3'], 'the first dimension of output "y", [-1,3], has no name in the model\'s file'],
  [['N,3', 'M'], ['N'], 'the first dimension of input "b", [M], is not that of input "a", [N,3]'],
  [['N,3', '?'], ['N'], 'the first dimension of input "b", [-1], has no name in the model\'s file'],
  [['N'], ['M\n2'], 'the first dimension of output "y", ["M\\n2"], is not that of input "a", [N]'],
  [[], ['N'], 'the model has no inputs that tell how many rows there are'],
  [['=N'], ['N'], 'the model has no inputs that tell how many rows there are'],
] as const) {
  test(`[${inputs.join('], [')}] to ${JSON.stringify(outputs)} need not keep its rows: ${doubt}`, () => {
    assert.equal(rowsDoubt(model(inputs, outputs)), doubt);
    assert.equal(rowsDoubt(model(inputs, outputs, 'more')), doubt);
  });
}

for (const [text, outcome] of [
  ['max_batch_size: 8 dynamic_batching { }', 'is 8, .* requests that run together may be answered'],
  ['max_batch_size: 8', 'is 8, .* requests fail'],
  ['max_batch_size: 1 dynamic_batching { }', 'is 1, .* requests fail'],
] as const) {
  test(`for ${text} the message is that ${outcome}`, () => {
    const config = normalized(`name: "m" backend: "onnxruntime" ${text}`);
    assert.match(doubtedBatching('it has that', config), new RegExp(outcome));
  });
}
