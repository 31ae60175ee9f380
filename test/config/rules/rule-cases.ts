/** Tests of a rule as a table: configurations with the problems that it reports. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Report } from '../../../src/config/text/problems.js';
import type { ModelConfig } from '../../../src/config/schema/types.js';
import { normalized, reported } from '../helpers.js';

/** A configuration, and the problems that a rule reports. */
export type Case = readonly [text: string, ...patterns: RegExp[]];

/** Makes a test of each case. */
export function check(rule: (config: ModelConfig, report: Report) => void, cases: readonly Case[]): void {
  for (const [text, ...patterns] of cases) {
    test(`${text} ${patterns.length === 0 ? 'is valid' : 'is refused'}`, () => {
      const found = reported((report) => {
        rule(normalized(text), report);
      });
      assert.equal(found.length, patterns.length, found.join('\n'));
      patterns.forEach((pattern, index) => {
        assert.match(found[index] ?? '', pattern);
      });
    });
  }
}
