/** Which models are looked at when one was loaded. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LostGpus } from '../../src/registry/entries/lost-gpus.js';
import type { ModelEntry } from '../../src/registry/entries/model-entry.js';

test('a load looks for GPUs in the versions of its own model alone', () => {
  const lostGpus = new LostGpus({
    entries: () => assert.fail('all models are looked at'),
    fail: () => undefined,
    tell: () => undefined,
    warn: () => undefined,
  });
  const instances = [{ name: 'm_0', kind: 'KIND_CPU', device: 0 }];
  let looked = 0;
  const entry = {
    hasVersions: true,
    published: () => {
      looked++;
      return { versions: [{ version: 1, state: 'READY', reason: '', descriptor: { instances } }] };
    },
  };
  lostGpus.watch(entry as unknown as ModelEntry);
  assert.equal(looked, 1);
  lostGpus.end();
});
