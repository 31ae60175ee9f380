/** Models in TorchScript answer as libtorch does: every datatype, names by Triton's rules, tuples, lists, dicts, strings. */

import assert from 'node:assert/strict';
import type { Datatype } from '../../../src/index.js';
import { eachWay, elements, matrix, serve, texts, torch } from './models.js';

const pair = {
  inputs: [
    { name: 'a', dims: [-1] },
    { name: 'b', dims: [-1] },
  ],
  outputs: [
    { name: 'sum__0', dims: [-1] },
    { name: 'difference__1', dims: [-1] },
  ],
};

eachWay('a perceptron gives the numbers that its weights give', async (t) => {
  const options = { inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [3] }] };
  const server = await serve(t, { m: await torch('perceptron', options) });
  const rows = [
    [1, 2, 3, 4],
    [-1, 0.5, 0, 2],
    [0, 0, 0, 0],
  ];
  // relu(x · w + b), with w = -1.25, -1, … in rows of three and b = 0.5, 0.25, 0.
  const expected = rows.flatMap((row) =>
    [0, 1, 2].map((column) => {
      const sum = row.reduce((total, value, i) => total + value * (-1.25 + 0.25 * (3 * i + column)), 0);
      return Math.max(0, sum + 0.5 - 0.25 * column);
    }),
  );
  for (let round = 0; round < 5; round++)
    assert.deepEqual(elements(await server.infer('m', matrix('x', rows))), expected);
});

const numbers: Readonly<Partial<Record<Datatype, readonly [number | bigint, number | bigint][]>>> = {
  FP16: [
    [1.5, 3],
    [-0.25, -0.5],
  ],
  BF16: [
    [1.5, 3],
    [-0.25, -0.5],
  ],
  FP32: [
    [1.1, Math.fround(2 * Math.fround(1.1))],
    [-3e38, -Infinity],
  ],
  FP64: [
    [1.1, 2.2],
    [1e300, 2e300],
  ],
  UINT8: [
    [100, 200],
    [200, 144],
  ],
  INT8: [
    [50, 100],
    [100, -56],
  ],
  INT16: [
    [-5, -10],
    [20000, -25536],
  ],
  INT32: [
    [-5, -10],
    [2 ** 30, -(2 ** 31)],
  ],
  INT64: [
    [-5n, -10n],
    [2n ** 62n, -(2n ** 63n)],
  ],
};

for (const [name, cases] of Object.entries(numbers)) {
  const datatype = name as Datatype;
  eachWay(`${datatype} tensors are served`, async (t) => {
    const options = {
      inputs: [{ name: 'x', datatype, dims: [-1] }],
      outputs: [{ name: 'y', datatype, dims: [-1] }],
    };
    const server = await serve(t, { m: await torch('twice', options) });
    const answer = await server.infer('m', {
      x: { data: cases.map(([value]) => value), shape: [1, cases.length] },
    });
    assert.equal(answer.outputs['y']?.datatype, datatype);
    assert.deepEqual(
      elements(answer),
      cases.map(([, doubled]) => doubled),
    );
  });
}

eachWay('BOOL tensors are served', async (t) => {
  const bool = { datatype: 'BOOL', dims: [-1] } as const;
  const server = await serve(t, {
    m: await torch('opposite', { inputs: [{ name: 'x', ...bool }], outputs: [{ name: 'y', ...bool }] }),
    chosen: await torch('chosen', {
      maxBatchSize: 0,
      inputs: [
        { name: 'x', dims: [-1] },
        { name: 'mask', ...bool },
      ],
    }),
  });
  const opposite = await server.infer('m', { x: { data: [true, false, true], shape: [1, 3] } });
  assert.deepEqual(elements(opposite), [false, true, false]);
  const chosen = await server.infer('chosen', {
    x: { data: [1, 2, 3], shape: [3] },
    mask: { data: [true, false, true], shape: [3] },
  });
  assert.deepEqual(elements(chosen), [1, 3]);
});

eachWay('inputs are found by argument, by index, or by their order', async (t) => {
  const named = (...names: readonly string[]) => ({
    ...pair,
    inputs: names.map((name) => ({ name, dims: [-1] })),
  });
  const server = await serve(t, {
    by_argument: await torch('tuple', named('b', 'a')),
    by_index: await torch('tuple', named('second__1', 'first__0')),
    by_order: await torch('tuple', named('first', 'second')),
    // One name is an argument, and all have no index.
    mixed: await torch('tuple', named('b', 'second')),
    // Without digits, the index is 0.
    without_digits: await torch('tuple', named('second__1', 'first__')),
  });
  for (const [model, first, second] of [
    ['by_argument', 'a', 'b'],
    ['by_index', 'first__0', 'second__1'],
    ['by_order', 'first', 'second'],
    ['mixed', 'b', 'second'],
    ['without_digits', 'first__', 'second__1'],
  ] as const) {
    const answer = await server.infer(model, { ...matrix(first, [[5, 7]]), ...matrix(second, [[1, 2]]) });
    assert.deepEqual(elements(answer, 'sum__0'), [6, 9], model);
    assert.deepEqual(elements(answer, 'difference__1'), [4, 5], model);
  }
  const notes = (model: string): string => server.model(model).notes.join('\n');
  assert.match(notes('by_order'), /arguments of forward \(a, b\) nor <name>__<index>/);
  assert.match(notes('mixed'), /the order of the configuration counts/);
  assert.doesNotMatch(notes('by_index'), /the order of the configuration counts/);
});

eachWay('outputs are found by index, or by their order', async (t) => {
  const named = (...names: readonly string[]) => ({
    ...pair,
    outputs: names.map((name) => ({ name, dims: [-1] })),
  });
  const server = await serve(t, {
    by_index: await torch('tuple', named('d__1', 's__0')),
    by_order: await torch('tuple', named('s', 'd')),
    only_second: await torch('tuple', named('d__1')),
    list: await torch('list', named('d__1', 's__0')),
    both_same: await torch('tuple', named('d__1', 'e__1')),
  });
  const inputs = { ...matrix('a', [[5, 7]]), ...matrix('b', [[1, 2]]) };
  for (const [model, sum, difference] of [
    ['by_index', 's__0', 'd__1'],
    ['by_order', 's', 'd'],
    ['list', 's__0', 'd__1'],
  ] as const) {
    const answer = await server.infer(model, inputs);
    assert.deepEqual(
      [elements(answer, sum), elements(answer, difference)],
      [
        [6, 9],
        [4, 5],
      ],
      model,
    );
  }
  assert.deepEqual(elements(await server.infer('only_second', inputs), 'd__1'), [4, 5]);
  const same = await server.infer('both_same', inputs);
  assert.deepEqual(
    [elements(same, 'd__1'), elements(same, 'e__1')],
    [
      [4, 5],
      [4, 5],
    ],
  );
  const wanted = await server.infer('by_index', inputs, { outputs: ['d__1'] });
  assert.deepEqual(Object.keys(wanted.outputs), ['d__1']);
});

eachWay('a dict of tensors is found by its keys, as input and as output', async (t) => {
  const { inputs } = pair;
  const server = await serve(t, {
    to: await torch('dict', {
      inputs,
      outputs: ['difference', 'sum'].map((name) => ({ name, dims: [-1] })),
    }),
    from: await torch('from_dict', { inputs: inputs.toReversed() }),
  });
  const request = { ...matrix('a', [[5, 7]]), ...matrix('b', [[1, 2]]) };
  const answer = await server.infer('to', request);
  assert.deepEqual(
    [elements(answer, 'sum'), elements(answer, 'difference')],
    [
      [6, 9],
      [4, 5],
    ],
  );
  assert.deepEqual(elements(await server.infer('from', request)), [4, 5]);
});

eachWay('strings are lists of str: one a row', async (t) => {
  const server = await serve(t, {
    rows: await torch('text', {
      inputs: [],
      outputs: [],
      more: `input [ ${texts('s')}, { name: "n" data_type: TYPE_INT64 dims: [ 1 ] reshape { shape: [ ] } } ]
             output [ ${texts('said__0')}, { name: "length__1" data_type: TYPE_INT64 dims: [ 1 ] reshape { shape: [ ] } } ]`,
    }),
    whole: await torch('only_text', {
      maxBatchSize: 0,
      inputs: [{ name: 's', datatype: 'BYTES', dims: [-1] }],
      outputs: [{ name: 'y', datatype: 'BYTES', dims: [-1] }],
    }),
  });
  const words = ['', 'ä', 'a\0b', 'a string that is longer than short ones are'];
  const answers = await Promise.all(
    words.map((word, i) =>
      server.infer('rows', { s: { data: [word], shape: [1, 1] }, n: { data: [BigInt(i)], shape: [1, 1] } }),
    ),
  );
  answers.forEach((answer, i) => {
    const word = words[i] ?? '';
    assert.deepEqual(elements(answer, 'said__0').map(String), [`${word}!`]);
    assert.deepEqual(elements(answer, 'length__1'), [BigInt(Buffer.byteLength(word) + i)]);
  });
  const whole = await server.infer('whole', { s: { data: ['one', 'two', ''], shape: [3] } });
  assert.deepEqual(elements(whole).map(String), ['ONE', 'TWO', '']);
  const none = await server.infer('whole', { s: { data: [], shape: [0] } });
  assert.deepEqual([elements(none), none.outputs['y']?.shape], [[], [0]]);
});

eachWay('empty tensors, and shapes that depend on the data', async (t) => {
  const server = await serve(t, {
    twice: await torch('twice', {
      maxBatchSize: 0,
      inputs: [{ name: 'x', dims: [-1, 3] }],
      outputs: [{ name: 'y', dims: [-1, 3] }],
    }),
    nonzero: await torch('nonzero', {
      maxBatchSize: 0,
      outputs: [{ name: 'y', datatype: 'INT64', dims: [-1, 1] }],
    }),
  });
  const none = await server.infer('twice', { x: { data: new Float32Array(0), shape: [0, 3] } });
  assert.deepEqual(none.outputs['y']?.shape, [0, 3]);
  for (const values of [[0, 1, 0, 2], [1], [0, 0]]) {
    const answer = await server.infer('nonzero', { x: { data: values, shape: [values.length] } });
    const expected = values.flatMap((value, i) => (value === 0 ? [] : [BigInt(i)]));
    assert.deepEqual([answer.outputs['y']?.shape, elements(answer)], [[expected.length, 1], expected]);
  }
});
