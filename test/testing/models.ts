/** Models that a real server and a test server run alike. */

import type { ModelObject } from '../../src/index.js';

const rows = (name: string, type: string, dims: readonly number[]) =>
  ({ name, data_type: type as 'TYPE_FP32', dims }) as const;

/** The models by name. */
export const models: Readonly<Record<string, ModelObject>> = {
  double: {
    config: {
      max_batch_size: 8,
      dynamic_batching: { priority_levels: 2, default_priority_level: 2 },
      input: [rows('x', 'TYPE_FP32', [2])],
      output: [rows('y', 'TYPE_FP32', [2])],
    },
    execute: (requests) =>
      requests.map(({ inputs }) => ({ y: inputs['x']?.toFloat32().map((value) => 2 * value) })),
  },
  named: {
    config: {
      max_batch_size: 8,
      input: [rows('x', 'TYPE_FP32', [1])],
      output: [rows('y', 'TYPE_FP32', [1])],
    },
    execute: (requests) =>
      requests.map((request) =>
        request.withParameters({ y: request.inputs['x']?.data }, { ...request.parameters, real: 0.5 }),
      ),
  },
  same: {
    config: {
      input: [
        ['TYPE_BOOL', 'bool'],
        ['TYPE_UINT8', 'uint8'],
        ['TYPE_INT16', 'int16'],
        ['TYPE_INT64', 'int64'],
        ['TYPE_FP16', 'fp16'],
        ['TYPE_BF16', 'bf16'],
        ['TYPE_FP64', 'fp64'],
        ['TYPE_STRING', 'text'],
      ].map(([type = '', name = '']) => ({ ...rows(name, type, [-1]), optional: true })),
      output: [
        ['TYPE_BOOL', 'bool'],
        ['TYPE_UINT8', 'uint8'],
        ['TYPE_INT16', 'int16'],
        ['TYPE_INT64', 'int64'],
        ['TYPE_FP16', 'fp16'],
        ['TYPE_BF16', 'bf16'],
        ['TYPE_FP64', 'fp64'],
        ['TYPE_STRING', 'text'],
      ].map(([type = '', name = '']) => rows(name, type, [-1])),
    },
    execute: (requests) => requests.map(({ inputs }) => inputs),
  },
  told: {
    config: {
      max_batch_size: 4,
      input: [rows('x', 'TYPE_INT32', [1])],
      output: [rows('told', 'TYPE_STRING', [1])],
    },
    execute: (requests) =>
      requests.map(({ id, priority, timeoutUs, parameters, wanted, sequence }) => {
        const all = { id, priority, timeoutUs, parameters, wanted, sequence };
        return {
          told: [
            JSON.stringify(all, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)),
          ],
        };
      }),
  },
  reshaped: {
    config: {
      max_batch_size: 2,
      input: [{ ...rows('x', 'TYPE_FP32', [4]), reshape: { shape: [2, 2] } }],
      output: [{ ...rows('y', 'TYPE_FP32', [4]), reshape: { shape: [2, 2] } }],
    },
    execute: (requests) =>
      requests.map(({ inputs: { x } }) => {
        if (x?.shape.join() !== '1,2,2') throw new Error(`the model's shape is ${x?.shape.join() ?? ''}`);
        return { y: x };
      }),
  },
  counting: {
    config: {
      model_transaction_policy: { decoupled: true },
      input: [rows('n', 'TYPE_INT32', [1])],
      output: [rows('i', 'TYPE_INT32', [1])],
    },
    execute: (requests) =>
      requests.map(({ inputs: { n } }) => {
        const count = Number(n?.data[0] ?? 0);
        return (function* () {
          for (let i = 0; i < count; i++) yield { i: [i] };
          if (count === 3) throw new Error('three is too many');
        })();
      }),
  },
  sums: {
    config: {
      sequence_batching: {
        control_input: [
          { name: 'START', control: [{ kind: 'CONTROL_SEQUENCE_START', int32_false_true: [0, 1] }] },
          { name: 'END', control: [{ kind: 'CONTROL_SEQUENCE_END', fp32_false_true: [0, 1] }] },
          { name: 'ID', control: [{ kind: 'CONTROL_SEQUENCE_CORRID', data_type: 'TYPE_UINT64' }] },
        ],
        state: [{ input_name: 'sum_in', output_name: 'sum_out', data_type: 'TYPE_INT32', dims: [1] }],
      },
      max_batch_size: 4,
      input: [rows('x', 'TYPE_INT32', [1])],
      output: [rows('y', 'TYPE_INT32', [3])],
    },
    execute: (requests) =>
      requests.map(({ inputs: { x, sum_in: before, START: start, END: end, ID: id }, wanted }) => {
        // An empty slot of a batch wants nothing.
        if (wanted.length === 0) return {};
        const sum = Number(x?.data[0]) + Number(before?.data[0]);
        const flags = Number(start?.data[0]) + 2 * Number(end?.data[0]);
        return { y: [[sum, flags, Number(id?.data[0])]], sum_out: [[sum]] };
      }),
  },
  waits: {
    config: {
      max_batch_size: 4,
      sequence_batching: {
        control_input: [
          { name: 'START', control: [{ kind: 'CONTROL_SEQUENCE_START', int32_false_true: [0, 1] }] },
        ],
      },
      input: [rows('x', 'TYPE_INT32', [1])],
      output: [rows('y', 'TYPE_INT32', [1])],
    },
    execute: async (requests) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return requests.map(({ inputs: { x }, wanted }) => (wanted.length === 0 ? {} : { y: x }));
    },
  },
  slow: {
    config: { input: [rows('x', 'TYPE_INT32', [1])], output: [rows('y', 'TYPE_INT32', [1])] },
    execute: async (requests) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return requests.map(({ inputs: { x } }) => ({ y: x }));
    },
  },
  many: {
    config: {
      input: [rows('x', 'TYPE_INT32', [1])],
      output: Array.from({ length: 6000 }, (_, i) => rows(`y${i}`, 'TYPE_INT32', [1, 1, 1, 1, 1, 1, 1])),
    },
    execute: (requests) =>
      requests.map(() =>
        Object.fromEntries(
          Array.from({ length: 6000 }, (_, i) => [`y${i}`, { data: [i], shape: [1, 1, 1, 1, 1, 1, 1] }]),
        ),
      ),
  },
  broken: {
    config: {
      max_batch_size: 4,
      dynamic_batching: {},
      input: [rows('how', 'TYPE_STRING', [1])],
      output: [rows('y', 'TYPE_FP32', [2])],
    },
    execute: (requests) =>
      requests.map(({ inputs: { how } }) => {
        const [text] = how?.as('BYTES').strings() ?? [];
        if (text === 'throw') throw new Error('it threw');
        if (text === 'error') return new Error('it returned an error');
        if (text === 'shape') return { y: [[1, 2, 3]] };
        if (text === 'missing') return {};
        if (text === 'unknown') return { y: [[1, 2]], z: [1] };
        return { y: ['one', 'two'] };
      }),
  },
  large: {
    config: { input: [rows('x', 'TYPE_FP32', [-1])], output: [rows('y', 'TYPE_FP32', [-1])] },
    execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: x })),
  },
};
