/** Invalid requests, and the models that they are for. */

import { gzipSync } from 'node:zlib';
import type { Datatype } from '../../src/index.js';
import { identity, row } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';

const half: object = { name: 'x', datatype: 'FP32', shape: [1, 16] };
/** A request that `m` takes. */
export const good: { readonly inputs: readonly object[] } = { inputs: [{ ...half, data: [...row()] }] };

const free = (datatype: Datatype, rank: number): ReturnType<typeof identity> => {
  const dims = Array<number>(rank).fill(-1);
  return identity({
    maxBatchSize: 0,
    batching: false,
    inputs: [{ name: 'x', datatype, dims }],
    outputs: [{ name: 'y', datatype, dims }],
  });
};

/** Models of the first input `x` and output `y`. */
export const models: Readonly<Record<string, RepositoryModel>> = {
  m: identity(),
  f: free('FP32', 2),
  s: free('BYTES', 2),
  l: free('INT64', 1),
  u: free('UINT8', 1),
};

/** Impossible shapes, or shapes that none of these models takes. Their products overflow, or are not numbers. */
export const wildShapes: readonly (readonly (number | string)[])[] = [
  [],
  [2 ** 31, 2 ** 31],
  // A little more than the limit of 4 GiB, as FP32 and as INT64.
  [2 ** 30 + 1, 1],
  [2 ** 29 + 1],
  [2 ** 53 - 1],
  [2 ** 53 - 1, 2 ** 53 - 1],
  ['9007199254740993', 1],
  ['9223372036854775807', '9223372036854775807'],
  [...Array<number>(40).fill(2 ** 53 - 1), 0],
  [0, ...Array<number>(40).fill(2 ** 53 - 1)],
  Array<number>(40).fill(2 ** 31 - 1),
  [0, 2 ** 53 - 1],
  Array<number>(1025).fill(1),
  [-1, 16],
];

/** A shape in JSON. */
export const textOf = (shape: readonly (number | string)[]): string => `[${shape.join(',')}]`;

/** Bodies that are not a request. */
export const malformed: readonly (string | Buffer)[] = [
  ...[
    '',
    ' ',
    '{',
    '[]',
    '[',
    '5',
    'null',
    '"a"',
    'true',
    '{"a":',
    '{}}',
    'NaN',
    '1e400',
    '{"inputs":[',
    '\0',
  ],
  ...['{"a":01}', '{"a":NaN,}', '{"a":"', '['.repeat(200), '{"a":"\\ud8"}', "{'a':1}"],
  Buffer.from('7b2261223a22ff227d', 'hex'),
  Buffer.alloc(64, 0xff),
  gzipSync('{}'),
];

/** A body of one input with these members. */
export const input = (fields: string): string => `{"inputs":[{"name":"x",${fields}}]}`;
/** The members of an input of `m`. */
export const fp32: string = '"datatype":"FP32","shape":[1,16]';
const data16 = `"data":[${[...row()].join(',')}]`;

/** Invalid bodies of `infer` that are JSON. */
export const wrongInfers: readonly (readonly [model: string, body: string])[] = [
  ...[
    ...['{}', '{"inputs":{}}', '{"inputs":[]}', '{"inputs":[5]}', '{"inputs":[null]}', '{"inputs":[[]]}'],
    ...[
      '{"inputs":[{}]}',
      '{"inputs":null}',
      input(fp32),
      input(`${fp32},"data":5`),
      input(`${fp32},"data":{}`),
    ],
    ...['[]', '[1]', '["a"]', '[null]', '[{}]', '[true]', `[${'1,'.repeat(16)}1]`].map((data) =>
      input(`${fp32},"data":${data}`),
    ),
    ...[
      '5',
      'null',
      '"1"',
      '{}',
      '[1.0,16]',
      '[1,1.6e1]',
      '["1",16]',
      '[null,16]',
      '[[1,16]]',
      '[1,16.5]',
    ].map((shape) => input(`"datatype":"FP32","shape":${shape},${data16}`)),
    ...['5', 'null', '"FP8"', '"constructor"', '"INT32"', '[]'].map((datatype) =>
      input(`"datatype":${datatype},"shape":[1,16],${data16}`),
    ),
    ...['-1', '1.5', '"64"', '1e300', '9007199254740993', '{}', '64', 'null', '0'].map((size) =>
      input(`${fp32},"parameters":{"binary_data_size":${size}}`),
    ),
    input(`${fp32},${data16},"parameters":5`),
    input(`${fp32},${data16},"parameters":{"binary_data_size":64}`),
    `{"inputs":[{"name":5,${fp32},${data16}}]}`,
    ...['5', '[5]', '[{}]', '[{"name":5}]', '[{"name":"z"}]', '[{"name":"y"},{"name":"y"}]'].map(
      (outputs) => `{"inputs":[{"name":"x",${fp32},${data16}}],"outputs":${outputs}}`,
    ),
    ...[
      '{"classification":-1}',
      '{"classification":1.5}',
      '{"classification":"1"}',
      '{"binary_data":1}',
      '5',
    ].map(
      (how) => `{"inputs":[{"name":"x",${fp32},${data16}}],"outputs":[{"name":"y","parameters":${how}}]}`,
    ),
    ...[
      ...[
        '5',
        '[]',
        '{"a":[]}',
        '{"a":{}}',
        '{"a":null}',
        '{"priority":-1}',
        '{"priority":"1"}',
        '{"priority":1.5}',
      ],
      ...[
        '{"timeout":"a"}',
        '{"timeout":18446744073709551615}',
        '{"binary_data_output":1}',
        '{"triton_x":1}',
      ],
    ].map((parameters) => `{"inputs":[{"name":"x",${fp32},${data16}}],"parameters":${parameters}}`),
    ...['5', '{}', '[]', `"${'x'.repeat(5000)}"`].map(
      (id) => `{"id":${id},"inputs":[{"name":"x",${fp32},${data16}}]}`,
    ),
  ].map((body) => ['m', body] as const),
  ...wildShapes.flatMap((shape) =>
    (
      [
        ['f', 'FP32', '[1]'],
        ['f', 'FP32', '[1.5]'],
        ['f', 'FP32', '[]'],
        ['s', 'BYTES', '["a"]'],
        ['s', 'BYTES', '[]'],
        ['l', 'INT64', '[1,2]'],
      ] as const
    ).map(
      ([model, datatype, data]) =>
        [model, input(`"datatype":"${datatype}","shape":${textOf(shape)},"data":${data}`)] as const,
    ),
  ),
  ...['1.0', '1e2', '-1', '256', '"a"', 'null', '99999999999999999999'].map(
    (one) => ['u', input(`"datatype":"UINT8","shape":[1],"data":[${one}]`)] as const,
  ),
];
