/** The warning about a poll that takes long. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Progress } from '../../../src/registry/polling/progress.js';
import { listSources } from '../../../src/registry/sources/find-models.js';
import type { ModelSource } from '../../../src/registry/sources/model-source.js';
import { until } from '../../support/harness.js';

test('a poll that takes long is told of once, with what it waits for', async () => {
  const lines: string[] = [];
  const none = (): never => assert.fail('it is a warning');
  const log = { warn: (text: string) => void lines.push(text), info: none, error: none, verbose: none };
  const progress = new Progress(log, 1);
  await progress.during("a look at 'a'", () => Promise.resolve());
  let free = (): void => undefined;
  const hanging = new Promise<void>((resolve) => (free = resolve));
  const steps = Array.from({ length: 7 }, (_, i) => progress.during(`the load of 'm${i}'`, () => hanging));
  await until(() => lines.length > 0);
  free();
  await Promise.all(steps);
  progress.end();
  assert.deepEqual(lines, [
    "a poll of the model repositories takes longer than 0.001 s: it waits for the load of 'm0', the load of 'm1', the load of 'm2', the load of 'm3', the load of 'm4', and 2 more",
  ]);
  assert.equal(progress.text(), 'it waits for nothing that has a name');
});

test('a repository that hangs does not keep others from being listed', async () => {
  const unused = (): never => assert.fail('a listing does not need it');
  let free = (): void => undefined;
  const hanging = new Promise<void>((resolve) => (free = resolve));
  const make = (place: string, list: ModelSource['list']): ModelSource => ({
    ...{ place, namespace: '', list, stamp: unused, read: unused, materialise: unused },
  });
  const slow = make('slow', () => hanging.then(() => []));
  const other = make('other', () => {
    free();
    return Promise.resolve([{ name: 'm', path: 'm' }]);
  });
  const listings = await listSources([slow, other], new AbortController().signal);
  assert.deepEqual([...listings.values()].flat(), [{ name: 'm', path: 'm' }]);
  assert.deepEqual([...listings.keys()], [slow, other]);
});
