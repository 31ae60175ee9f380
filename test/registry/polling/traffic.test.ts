/** Requests in flight while polls change, add and remove versions and models. */

import assert from 'node:assert/strict';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { TritonError } from '../../../src/index.js';
import { configText, onnx, row, until } from '../../support/harness.js';
import { addModel } from '../../support/models.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { polled, settle, short, states } from './harness.js';

const rounds = 50;
const all = 'version_policy { all { } }';

test('only requests for what is gone fail while polls change everything', async (t) => {
  const steady = {
    config: configText({ more: all }),
    versions: { '1': addModel(), '2': addModel({ addend: 2 }) },
  };
  const { server, folder } = await polled(t, {
    steady,
    swapped: onnx(addModel()),
    passing: onnx(addModel()),
  });
  const other = await temporaryFolder(t);
  let stop = false;
  let answered = 0;
  let gone = 0;
  const call = async (
    name: string,
    version: number | undefined,
    expected: () => readonly number[],
  ): Promise<void> => {
    const before = expected();
    const { outputs } = await server.infer(name, { x: row(0) }, { version });
    const got = outputs['y']?.as('FP32').data[0] ?? NaN;
    // It was sent to what was served then, or to what has taken its place.
    assert.ok([...before, ...expected()].includes(got), `${name} answered ${got}`);
    answered++;
  };
  let swapped: readonly number[] = [1];
  let newest: readonly number[] = [2];
  const callers: (() => Promise<void>)[] = [
    // A version that nobody touches, the newest one, and a model whose only version changes.
    () => call('steady', 1, () => [1]),
    () => call('steady', undefined, () => newest),
    () => call('swapped', undefined, () => swapped),
    async () => {
      try {
        await call('passing', undefined, () => [1]);
      } catch (error) {
        assert.ok(error instanceof TritonError);
        assert.ok(['NOT_FOUND', 'UNAVAILABLE'].includes(error.code), error.message);
        gone++;
      }
    },
  ];
  const caller = async (one: () => Promise<void>): Promise<void> => {
    while (!stop) {
      await Promise.all(Array.from({ length: 8 }, one));
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const running = Promise.all(callers.map(caller));
  try {
    for (let round = 0; round < rounds; round++) {
      const added = round + 10;
      newest = [...newest, added];
      swapped = [swapped.at(-1) ?? NaN, added];
      const away = join(other, 'passing');
      await rename(join(folder, 'passing'), away);
      await writeRepository(folder, {
        steady: { versions: { [String(added)]: addModel({ addend: added }) } },
        swapped: onnx(addModel({ addend: added })),
      });
      if (round > 0) await rm(join(folder, 'steady', String(added - 1)), { recursive: true });
      const end = round === 0 ? '' : String(added - 1);
      assert.equal(short(await server.rescan()), '?passing ?steady ?swapped');
      assert.equal(short(await server.rescan()), `~steady:${added}-${end} ~swapped:1-1 -passing`);
      newest = [added];
      await until(() => !states(server).some((state) => state.startsWith('passing')));
      const before = gone;
      await until(() => gone > before);
      await rename(away, join(folder, 'passing'));
      assert.equal(await settle(server), '+passing:1');
    }
    await until(() => answered > 20_000);
  } finally {
    stop = true;
  }
  await running;
  assert.ok(gone > 0);
});
