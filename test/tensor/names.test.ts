import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Inputs } from '../../src/tensor/inputs.js';
import { encode, encoderOf, refusal, type InputRow } from './encode.js';

const x: InputRow = ['x', 'FP32', [2]];
const mask: InputRow = ['mask', 'BOOL', [-1], true];
const one = encoderOf(8, x);
const two = encoderOf(8, x, mask);
const both = [one, two];
const data = new Float32Array(2);

describe('the names of inputs', () => {
  it('come in any order and leave out optional ones', () => {
    assert.deepEqual(
      two({ mask: [[true]], x: data }).map((input) => input?.shape),
      [
        [1, 2],
        [1, 1],
      ],
    );
    assert.deepEqual(
      two({ x: data }).map((input) => input?.shape),
      [[1, 2], undefined],
    );
    assert.deepEqual(
      two({ x: [[1, 2]], mask: undefined }).map((input) => input?.shape),
      [[1, 2], undefined],
    );
    assert.deepEqual(encoderOf(8, mask)({}), [undefined]);
    assert.deepEqual(encoderOf(8)({}), []);
  });

  it('may be undefined for inputs that the model does not have', () => {
    for (const encoder of both) assert.equal(encoder({ x: data, other: undefined }).length > 0, true);
  });

  it('are refused where one is missing, with all that are expected', () => {
    assert.equal(
      refusal(() => one({})),
      "model 'm': missing 'x'; expected 'x' (FP32 [N,2])",
    );
    assert.equal(
      refusal(() => two({ x: undefined })),
      "model 'm': missing 'x'; expected 'x' (FP32 [N,2]), 'mask' (BOOL [N,-1], optional)",
    );
  });

  it('are all listed where several are missing', () => {
    const encoder = encoderOf(0, ['a', 'FP32', [2]], ['b', 'BYTES', [1]], ['c', 'INT8', []]);
    assert.match(
      refusal(() => encoder({ b: 'text' }), 'a'),
      /missing 'a', 'c'; expected 'a' \(FP32 \[2\]\), 'b' \(BYTES \[1\]\)/,
    );
  });

  it('are refused where the model has no such input', () => {
    for (const encoder of both) {
      assert.match(
        refusal(() => encoder({ x: data, X: data }), 'X'),
        /^model 'm': no input is named 'X'; expected 'x'/,
      );
      assert.match(
        refusal(() => encoder({ X: data, y: data }), 'X'),
        /no input is named 'X', 'y'; missing 'x'; expected 'x'/,
      );
    }
  });

  it('are listed up to ten unknown ones, shortened and with control characters escaped', () => {
    const names = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`name ${i}`, data]));
    for (const encoder of both) {
      assert.match(
        refusal(() => encoder(names), 'name 0'),
        /'name 8', 'name 9'; missing 'x'/,
      );
      const long = `a\n"${'b'.repeat(500)}`;
      assert.match(
        refusal(() => encoder({ [long]: data }), long),
        /no input is named 'a\\n"b{57}…'/,
      );
    }
  });

  it('are own properties, also of objects without a prototype', () => {
    for (const encoder of both) {
      assert.match(
        refusal(() => encoder(Object.create({ x: data }) as Inputs)),
        /missing 'x'/,
      );
      assert.match(
        refusal(() => encoder({})),
        /missing 'x'/,
      );
      const bare = Object.assign(Object.create(null) as Record<string, Float32Array>, { x: data });
      assert.deepEqual(encoder(bare)[0]?.shape, [1, 2]);
      assert.deepEqual(
        encoder(Object.assign(Object.create({ inherited: data }) as object, { x: data }))[0]?.shape,
        [1, 2],
      );
    }
  });

  it('may be __proto__ and other names that objects inherit', () => {
    const encoder = encoderOf(8, ['__proto__', 'FP32', [2]], ['constructor', 'FP32', [2]]);
    const inputs: unknown = JSON.parse('{"__proto__": [[1, 2]], "constructor": [[3, 4]]}');
    assert.deepEqual(
      encoder(inputs as Inputs).map((input) => [...(input?.data ?? [])]),
      [
        [1, 2],
        [3, 4],
      ],
    );
    assert.match(
      refusal(() => encoder({ constructor: data }), '__proto__'),
      /missing '__proto__'/,
    );
  });

  for (const [value, what] of [
    [undefined, 'undefined'],
    [null, 'null'],
    ['x', "the string 'x'"],
    [[data], 'an array'],
    [data, 'Float32Array of length 2'],
    [new DataView(new ArrayBuffer(2)), 'a DataView'],
    [(): number => 1, 'a function'],
    [new Map([['x', data]]), 'a Map'],
    [Promise.resolve({ x: data }), 'a Promise (await it first)'],
  ] as const) {
    it(`are not looked for in ${what}`, () => {
      for (const encoder of both) {
        const message = refusal(() => encoder(value as unknown as Inputs), null);
        assert.equal(message, `model 'm': expected inputs by name, such as { 'x': … }, but got ${what}`);
      }
    });
  }

  it('leave out the error of a nested value that is undefined itself', () => {
    assert.match(
      refusal(() => encode('FP32', [2], undefined)),
      /missing 'x'/,
    );
  });
});
