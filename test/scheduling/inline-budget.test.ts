import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InlineOption } from '../../src/config/rules/inline-option.js';
import { inlineBudgetUs } from '../../src/scheduling/inline-budget.js';
import { normalized } from '../config/helpers.js';

function budget(option: InlineOption, parameter?: string): number {
  const own = parameter && `parameters { key: "inline" value { string_value: "${parameter}" } }`;
  return inlineBudgetUs(normalized(`name: "m" backend: "identity" ${own ?? ''}`), option);
}

test('auto is 50 microseconds, off is none, and a number is itself', () => {
  assert.deepEqual([budget('auto'), budget('off'), budget(120)], [50, 0, 120]);
});

test("the model's parameter wins", () => {
  assert.deepEqual([budget('off', 'auto'), budget('auto', 'off'), budget('off', '70')], [50, 0, 70]);
});
