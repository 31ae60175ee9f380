/** Requests that are read by a known form are read as the parser reads them, or not at all. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { readInferRequest, type HttpInferRequest } from '../../../src/endpoints/http/infer-request.js';
import { KnownForms } from '../../../src/endpoints/http/known-forms.js';
import { ClientRegions, type NamedRange } from '../../../src/endpoints/service/client-regions.js';
import type { RegionRange } from '../../../src/tensor/region-tensor.js';

/** Regions r0 to r8 of 1,000 bytes, and r9 of many, until they are gone. */
class SomeRegions extends ClientRegions {
  gone = '';

  constructor() {
    super({}, true);
  }

  override range({ region, offset, byteSize }: NamedRange): RegionRange {
    const size = region === 'r9' ? 2 ** 40 : 1000;
    if (!/^r[0-9]$/.test(region) || region === this.gone || offset + byteSize > size)
      return super.range({ region, offset, byteSize });
    return { region: Number(region.slice(1)), offset, byteSize };
  }
}

const regions = new SomeRegions();

function bodyOf(data: string, more = ''): Buffer {
  const shape = '[2,2]';
  return Buffer.from(
    `{"id": "a", "inputs": [{"name": "x", "shape": ${shape}, "datatype": "FP32", "data": ${data}}]${more}}`,
  );
}

function read(body: Buffer): HttpInferRequest {
  return readInferRequest(body, body.length, regions);
}

/** Forms that have learned the form of a body. */
function knowing(body: Buffer, jsonSize = body.length): KnownForms {
  const forms = new KnownForms(regions);
  forms.learn(body, jsonSize, readInferRequest(body, jsonSize, regions));
  return forms;
}

function assertRead(forms: KnownForms, body: Buffer, jsonSize = body.length): void {
  const request = forms.read(body, jsonSize);
  assert.ok(request !== undefined, `was not read: ${body.toString('latin1', 0, 300)}`);
  assert.deepStrictEqual(request, readInferRequest(body, jsonSize, regions));
}

void suite('requests of a form that is known', () => {
  test('are read with their own numbers and id', () => {
    const forms = knowing(bodyOf('[1,2,3,4]'));
    for (const data of [
      '[5,6,7,8]',
      '[[1.5, -2], [0.1, -0.0]]',
      '[ 0.8414709848078965 ,\n123456789.123456789,-1000000000000000000,0.000000000000000000000012 ]',
      '[[[[1]],2],[3],[[],4]]',
    ])
      assertRead(forms, bodyOf(data));
    assertRead(forms, Buffer.from(bodyOf('[9,8,7,6]').toString().replace('"a"', '"another id"')));
  });

  test('numbers of every datatype', () => {
    for (const datatype of [
      'FP64',
      'INT8',
      'INT16',
      'INT32',
      'INT64',
      'UINT8',
      'UINT16',
      'UINT32',
      'UINT64',
    ]) {
      const body = (data: string): Buffer =>
        Buffer.from(bodyOf(data).toString().replace('FP32', datatype).replace('[2,2]', '[3]'));
      assertRead(knowing(body('[1,2,3]')), body('[0,-0,127]'));
    }
  });

  test('shapes of their own, where they stand before the data', () => {
    const body = (shape: string, data: string): Buffer =>
      Buffer.from(bodyOf(data).toString().replace('[2,2]', shape));
    const forms = knowing(body('[2,2]', '[1,2,3,4]'));
    for (const [shape, data] of [
      ['[3]', '[1,2,3]'],
      ['[1, 2]', '[5,6]'],
      ['[ 0 ]', '[]'],
      ['[1,0,7]', '[[]]'],
      ['[2,2]', '[1,2,3,4]'],
    ] as const)
      assertRead(forms, body(shape, data));
  });

  test('texts', () => {
    const body = (shape: string, data: string): Buffer =>
      Buffer.from(bodyOf(data).toString().replace('FP32', 'BYTES').replace('[2,2]', shape));
    const forms = knowing(body('[1,1]', '["a"]'));
    for (const [shape, data] of [
      ['[1,1]', '["bc"]'],
      ['[1,1]', `["${'long '.repeat(100)}"]`],
      ['[2,2]', '[["", "}],"], [ "Grüße", "寿司 🍣" ]]'],
      ['[0]', '[]'],
    ] as const)
      assertRead(forms, body(shape, data));
    const cutUtf8 = body('[1]', '["ab"]');
    cutUtf8[cutUtf8.indexOf('ab')] = 0xc3;
    for (const left of [
      body('[1]', '["\\n"]'),
      body('[1]', '["\n"]'),
      body('[1]', '[1]'),
      body('[1]', '[null]'),
      body('[1]', '["a" "b"]'),
      body('[2]', '["a"]'),
      body('[1]', '["a"'),
      body('[1]', '"a"'),
      cutUtf8,
    ])
      assert.equal(forms.read(left, left.length), undefined, left.toString());
  });

  test('several inputs, of which some have their data in the binary part', () => {
    const json = (y: string): string =>
      `{"inputs":[{"name":"0","shape":[2],"datatype":"INT32","parameters":{"binary_data_size":8}},` +
      `{"data":${y},"name":"__proto__","shape":[1],"datatype":"INT64"}],"parameters":{"binary_data_output":true}}`;
    const body = (y: string, ...elements: number[]): [Buffer, number] => [
      Buffer.concat([Buffer.from(json(y)), Buffer.from(Int32Array.from(elements).buffer)]),
      json(y).length,
    ];
    const forms = knowing(...body('[1]', 2, 3));
    assertRead(forms, ...body('[-77]', 5, 6));
    assert.throws(() => forms.read(...body('[-77]', 5, 6, 7)), /4 bytes behind/);
    assert.throws(() => forms.read(...body('[-77]', 5)), /4 bytes left/);
  });

  test('ranges of shared memory of their own', () => {
    const range = (region: string, offset: number | string, size: number | string): string =>
      `{"shared_memory_region":${region},"shared_memory_offset":${offset}, "shared_memory_byte_size": ${size}}`;
    const body = (input: string, output: string, shape = '[2]'): Buffer =>
      Buffer.from(
        `{"id":"a","inputs":[{"name":"x","shape":${shape},"datatype":"FP32","parameters":${input}},` +
          '{"name":"y","shape":[1],"datatype":"INT32","data":[1]}],' +
          `"outputs":[{"name":"other"},{"parameters":${output},"name":"z"}]}`,
      );
    const forms = knowing(body(range('"r1"', 0, 8), range('"r2"', 100, 50)));
    for (const [one, other, shape] of [
      [range('"r1"', 8, 8), range('"r2"', 100, 50)],
      [range('"r7"', 992, 8), range('"r1"', 0, 1000)],
      [range('"r3"', 0, 16), range('"r4"', 999, 1), '[2,2]'],
      [range('"r1"', 0, 0), range('"r2"', 0, 0), '[0]'],
    ] as const)
      assertRead(forms, body(one, other, shape));
    for (const [one, other] of [
      [range('"r1"', '08', 8), range('"r2"', 0, 8)],
      [range('"r1"', -1, 8), range('"r2"', 0, 8)],
      [range('"r1"', 1.5, 8), range('"r2"', 0, 8)],
      [range('"r1"', '1e2', 8), range('"r2"', 0, 8)],
      [range('"r1"', 0, '"8"'), range('"r2"', 0, 8)],
      [range('"r1"', 0, 8), range('"r2"', 0, '')],
      [range('"r1"', 0, 8), range('"r2"', 0, '1000000000000000')],
      [range('"\\u0072"', 0, 8), range('"r2"', 0, 8)],
      [range('7', 0, 8), range('"r2"', 0, 8)],
    ] as const)
      assert.equal(forms.read(body(one, other), body(one, other).length), undefined, one + other);
    // What is wrong with a range is found for each request.
    for (const [one, other] of [
      [range('"rx"', 0, 8), range('"r2"', 0, 8)],
      [range('"r1"', 0, 8), range('"rx"', 0, 8)],
      [range('"r1"', 993, 8), range('"r2"', 0, 8)],
      [range('"r1"', 0, 12), range('"r2"', 0, 8)],
    ] as const) {
      const wrong = body(one, other);
      const parsed = outcome(() => read(wrong));
      assert.ok(parsed instanceof Error);
      assert.deepStrictEqual(
        outcome(() => forms.read(wrong, wrong.length)),
        parsed,
      );
    }
    regions.gone = 'r1';
    const gone = body(range('"r1"', 0, 8), range('"r2"', 100, 50));
    assert.throws(() => forms.read(gone, gone.length), /Unable to find shared memory region: 'r1'/);
    regions.gone = '';
    assertRead(forms, gone);
  });

  test('ranges that do not name all of their parts', () => {
    const body = (region: string): Buffer =>
      Buffer.from(
        `{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","parameters":{"shared_memory_region":"${region}"}}],` +
          `"outputs":[{"name":"z","parameters":{"shared_memory_region":"${region}"}},` +
          `{"name":"z","parameters":{"shared_memory_byte_size":7,"shared_memory_region":"${region}"}}]}`,
      );
    const forms = knowing(body('r1'));
    assertRead(forms, body('r2'));
    assertRead(forms, body('r1'));
  });

  test('members that are null are absent, and none of those that later requests have', () => {
    const input = (parameters: string, data: string): string =>
      `{"name":"x","shape":[2],"datatype":"FP32","parameters":${parameters},"data":${data}}`;
    const body = (one: string, output: string): Buffer =>
      Buffer.from(`{"inputs":[${one}],"outputs":[{"name":"z","parameters":${output}}]}`);
    const region = '{"shared_memory_region":"r1","shared_memory_byte_size":8}';
    const none = '{"shared_memory_region":null,"shared_memory_byte_size":null}';
    const offset = '{"shared_memory_offset":null}';
    for (const [known, like, others] of [
      [
        body(input(none, '[1,2]'), none),
        body(input(none, '[3,4]'), none),
        [
          body(input(none, '[1,2]'), none.replace('null', '"r1"')),
          body(input(none.replace('null', '"r1"'), '[1,2]'), none),
          body(input(region, '[1,2]'), none),
        ],
      ],
      [
        body(input(offset, '[1,2]'), offset),
        body(input(offset, '[3,4]'), offset),
        [body(input(offset, '[1,2]'), '{"shared_memory_offset":8}')],
      ],
      [
        body(input(region, 'null'), 'null'),
        body(input(region.replace('r1', 'r2'), 'null'), 'null'),
        [body(input(region, '[1,2]'), 'null')],
      ],
    ] as const) {
      const forms = knowing(known);
      assertRead(forms, like);
      for (const other of others) assert.equal(forms.read(other, other.length), undefined, other.toString());
    }
  });

  test('what is learned is no view of the body, whose memory is used again', () => {
    const body = bodyOf('[1,2,3,4]');
    const forms = knowing(body);
    body.fill(0);
    assertRead(forms, bodyOf('[4,3,2,1]'));
  });
});

void suite('requests that are left to the parser', () => {
  test('many elements of types that it reads faster', () => {
    const large = `[${'1,'.repeat(20_000)}1]`;
    for (const [datatype, read] of [
      ['FP32', true],
      ['FP64', false],
      ['INT64', false],
      ['INT32', false],
    ] as const) {
      const body = (data: string, shape: string): Buffer =>
        Buffer.from(bodyOf(data).toString().replace('FP32', datatype).replace('[2,2]', shape));
      const forms = knowing(body('[1,2,3,4]', '[4]'));
      const long = body(large, '[20001]');
      if (read) assertRead(forms, long);
      else assert.equal(forms.read(long, long.length), undefined, datatype);
    }
  });

  test('whatever is not quite of the form', () => {
    const forms = knowing(bodyOf('[1,2,3,4]'));
    for (const body of [
      bodyOf('[1,2,3]'),
      bodyOf('[1,2,3,4,5]'),
      bodyOf('[1,2,3,4]').subarray(0, -1),
      Buffer.concat([bodyOf('[1,2,3,4]'), Buffer.from(' ')]),
      Buffer.from(bodyOf('[1,2,3,4]').toString().replace('"a"', '"\\u0061"')),
      Buffer.from(bodyOf('[1,2,3,4]').toString().replace('"a"', 'null')),
      Buffer.from(bodyOf('[1,2,3,4]').toString().replace('"x"', '"y"')),
      ...[
        '01',
        '-',
        '+1',
        '1.',
        '.5',
        '1e5',
        '1E-5',
        'NaN',
        'Infinity',
        'null',
        '"1"',
        'true',
        '{}',
        '1 2',
        '',
      ].map((one) => bodyOf(`[1,2,3,${one}]`)),
      ...['[1,2,3,4', '1,2,3,4', '[1,2,3,4]]', '[[1,2,3,4]', '[,1,2,3,4]', '[1,2,,3,4]', '[1,2,3,4,]'].map(
        (one) => bodyOf(one),
      ),
    ])
      assert.equal(forms.read(body, body.length), undefined, body.toString());
  });

  test('shapes that are not plain, or too large for the text', () => {
    const forms = knowing(bodyOf('[1,2,3,4]'));
    for (const shape of [
      '[-4]',
      '[4.0]',
      '[04]',
      '[4e0]',
      '[1000000000000000]',
      '[9007199254740992,9007199254740992]',
      '[1000000,1000]',
      '[4,]',
      '[]',
      '[ ]',
      '[[4]]',
      '4',
      '[4',
      '["4"]',
      `[4${',1'.repeat(40)}]`,
    ]) {
      const body = Buffer.from(bodyOf('[1,2,3,4]').toString().replace('[2,2]', shape));
      assert.equal(forms.read(body, body.length), undefined, shape);
    }
    // The shape is not known yet when the elements come.
    const late = (shape: string): Buffer =>
      Buffer.from(`{"inputs":[{"name":"x","datatype":"FP32","data":[1,2],"shape":${shape}}]}`);
    assertRead(knowing(late('[1,2]')), late('[1,2]'));
    assert.equal(knowing(late('[1,2]')).read(late('[2,1]'), late('[2,1]').length), undefined);
  });

  test('integers out of range, with a point or of many digits', () => {
    const body = (datatype: string, data: string): Buffer =>
      Buffer.from(bodyOf(data).toString().replace('FP32', datatype).replace('[2,2]', '[1]'));
    for (const [datatype, data] of [
      ['INT8', '[128]'],
      ['INT8', '[-129]'],
      ['UINT32', '[-1]'],
      ['UINT64', '[-1]'],
      ['INT64', '[9007199254740993]'],
      ['INT32', '[1.0]'],
    ] as const) {
      const wrong = body(datatype, data);
      assert.equal(
        knowing(body(datatype, '[1]')).read(wrong, wrong.length),
        undefined,
        `${datatype} ${data}`,
      );
    }
  });

  test('a text in which it is not clear what changes, or whose other numbers are not plain', () => {
    for (const body of [
      bodyOf('[1,2,3,4]', ',"id":"b"'),
      Buffer.from(bodyOf('[1,2,3,4]').toString().replace('"data"', '"d\\u0061ta"')),
      Buffer.from(
        bodyOf('[9,9]').toString().replace('"data"', '"data": [1,2,3,4], "data"').replace('[2,2]', '[2]'),
      ),
      bodyOf('[1,2,3,4]', ',"parameters":{"a":1.5}'),
      bodyOf('[1,2,3,4]', `,"parameters":{"a":"${'b'.repeat(3000)}"}`),
      bodyOf('[1,2,3,4]', ',"outputs":[],"outputs":[{"name":"z"}]'),
      bodyOf('[1,2,3,4]', ',"outputs":[{"name":"z","parameters":{},"parameters":{"binary_data":true}}]'),
      bodyOf(
        '[1,2,3,4]',
        ',"outputs":[{"name":"z","parameters":{"shared_memory_region":"r1","shared_memory_region":"r2"}}]',
      ),
    ])
      assert.equal(knowing(body).read(body, body.length), undefined, body.toString('latin1', 0, 200));
  });
});

test('a path knows a few forms, and those that are used stay beside any number that are not', () => {
  const forms = knowing(bodyOf('[1,2,3,4]'));
  assertRead(forms, bodyOf('[2,2,2,2]'));
  for (let i = 0; i < 5000; i++) {
    const body = bodyOf('[1,2,3,4]', `,"parameters":{"a":${i}}`);
    forms.learn(body, body.length, read(body));
  }
  assertRead(forms, bodyOf('[3,3,3,3]'));
});

/** What a function returns or throws. */
function outcome(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

/** Inserts, drops and replaces tokens, and checks that the forms read what the parser reads. */
function damage(count: number, good: Buffer, like: Buffer, at: string): void {
  const forms = knowing(like);
  let state = 12345;
  const dice = (sides: number): number => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * sides);
  };
  let wasRead = 0;
  for (let i = 0; i < count; i++) {
    let text = (i % 2 === 0 ? good : like).toString('latin1');
    for (let n = dice(3); n >= 0; n--) {
      const from = dice(4) === 0 ? dice(text.length) : text.indexOf(at) + dice(24);
      text = text.slice(0, from) + (tokens[dice(tokens.length)] ?? '') + text.slice(from + dice(3));
    }
    const body = Buffer.from(text, 'latin1');
    const known = outcome(() => forms.read(body, body.length));
    if (known === undefined) continue;
    wasRead++; // Or refused, for its range.
    assert.ok(
      isDeepStrictEqual(
        known,
        outcome(() => read(body)),
      ),
      text,
    );
  }
  assert.ok(wasRead > 100, `${wasRead} were read`);
}

const tokens = [...'[],.-01e "\\{}N\n\0:\x80\xc3'.split(''), '12'];

test('10,000 damaged texts are read as the parser reads them, or not', () => {
  const good = bodyOf('[10, -2.5,\n[3.25e0, 4], 0]', ',"parameters":{"p":1}');
  const like = bodyOf(
    '[10, -2.5,\n[3.25, 4], 0]'.replace('[3.25, 4], 0', '3.25, 4'),
    ',"parameters":{"p":1}',
  );
  damage(10_000, good, like, '[10');
  const texts = (data: string): Buffer =>
    Buffer.from(bodyOf(data).toString().replace('FP32', 'BYTES').replace('[2,2]', '[1,3]'));
  damage(
    10_000,
    texts('["a text of some words", ["b c"],\n"d\\n"]'),
    texts('["a täxt of some words", ["b c"],\n""]'),
    'a t',
  );
  const shared = (range: string): Buffer =>
    Buffer.from(
      `{"inputs":[{"name":"x","shape":[2],"datatype":"FP32","parameters":${range}}],"outputs":[{"name":"y","parameters":${range}}]}`,
    );
  damage(
    10_000,
    shared('{"shared_memory_region":"r9","shared_memory_offset":1000000000,"shared_memory_byte_size":8}'),
    shared('{"shared_memory_region":"r9","shared_memory_offset":1000000001,"shared_memory_byte_size":8}'),
    '100000000',
  );
});
