import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelConfig } from '../../src/config/schema/types.js';
import { schedulingOf } from '../../src/scheduling/policy.js';
import { normalized } from '../config/helpers.js';

function config(text: string): ModelConfig {
  return normalized(`name: "m" backend: "identity" ${text}`);
}

test('without dynamic_batching requests run one by one', () => {
  assert.equal(schedulingOf(config('max_batch_size: 8'), true), undefined);
});

test('a model that does not batch has nothing to put together', () => {
  assert.equal(schedulingOf(config('max_batch_size: 0 dynamic_batching { }'), true), undefined);
});

test('an empty dynamic_batching fills batches up to max_batch_size without any delay', () => {
  assert.deepEqual(schedulingOf(config('max_batch_size: 8 dynamic_batching { }'), true), {
    maxBatchSize: 8,
    preferredBatchSizes: [8],
    maxQueueDelayUs: 0,
    acrossShapes: true,
  });
});

test('preferred sizes and delay are passed on', () => {
  const batching = 'preferred_batch_size: [ 4, 2 ] max_queue_delay_microseconds: 1500';
  assert.deepEqual(schedulingOf(config(`max_batch_size: 8 dynamic_batching { ${batching} }`), true), {
    maxBatchSize: 8,
    preferredBatchSizes: [4, 2],
    maxQueueDelayUs: 1500,
    acrossShapes: true,
  });
});

test('batches are made across shapes as the parameter says, else the option, and never where order is kept', () => {
  const across = (batching: string, option: boolean, value?: string): boolean | undefined => {
    const parameter =
      value === undefined
        ? ''
        : `parameters { key: "batch_across_shapes" value { string_value: "${value}" } }`;
    return schedulingOf(config(`max_batch_size: 8 dynamic_batching { ${batching} } ${parameter}`), option)
      ?.acrossShapes;
  };
  assert.equal(across('', true), true);
  assert.equal(across('', false), false);
  assert.equal(across('', true, 'false'), false);
  assert.equal(across('', false, 'true'), true);
  assert.equal(across('preserve_ordering: true', true, 'true'), false);
});
