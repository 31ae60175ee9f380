/** Requests in flight while polls change, add and remove versions and models. */

import assert from 'node:assert/strict';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer, TritonError, type InferenceServer } from '../../../src/index.js';
import { configText, onnx, row, until } from '../../support/harness.js';
import { addModel } from '../../support/models.js';
import { writeRepository } from '../../support/repository.js';
import { settle, short, states } from './harness.js';

/** What {@link changeUnderTraffic} has done. */
export interface TrafficOutcome {
  readonly polls: number;
  readonly answered: number;
  /** Requests for a model that was gone, which were refused. */
  readonly gone: number;
  /** The fewest and the most requests in flight when a poll began. */
  readonly inFlight: readonly [least: number, most: number];
}

/** How many polls a round has. */
export const pollsOfRound = 4;

/** A server of `folder` that polls when it is told to, with the models of {@link changeUnderTraffic}. */
export async function trafficServer(folder: string): Promise<InferenceServer> {
  await writeRepository(folder, {
    steady: {
      config: configText({ more: 'version_policy { all { } }' }),
      versions: { '1': addModel(), '2': addModel({ addend: 2 }) },
    },
    swapped: onnx(addModel()),
    passing: onnx(addModel()),
  });
  return await createServer(folder, { modelControlMode: 'poll', repositoryPollMs: 0 });
}

/**
 * Keeps requests in flight at a server while each round adds a version and removes one, replaces the files of a model, and removes
 * a model and brings it back. Each answer has to be of what was served between the request and the answer.
 *
 * @param other - An empty folder on the same file system.
 * @throws An error for a request that fails, unless it asked for what was gone, and for a wrong answer.
 */
export async function changeUnderTraffic(
  server: InferenceServer,
  folder: string,
  other: string,
  { rounds, inFlight }: { readonly rounds: number; readonly inFlight: number },
): Promise<TrafficOutcome> {
  let [answered, gone, sent] = [0, 0, 0];
  let stop = false;
  const wrong: unknown[] = [];
  const call = async (
    name: string,
    version: number | undefined,
    expected: () => readonly number[],
  ): Promise<void> => {
    const before = expected();
    sent++;
    try {
      const { outputs } = await server.infer(name, { x: row(0) }, { version });
      const got = outputs['y']?.as('FP32').data[0] ?? NaN;
      // It was sent to what was served then, or to what has taken its place.
      assert.ok([...before, ...expected()].includes(got), `${name} answered ${got}`);
      answered++;
    } finally {
      sent--;
    }
  };
  let swapped: readonly number[] = [1];
  let newest: readonly number[] = [2];
  const kinds: (() => Promise<void>)[] = [
    // A version that nobody touches, the newest one, and a model whose only version changes.
    () => call('steady', 1, () => [1]),
    () => call('steady', undefined, () => newest),
    () => call('swapped', undefined, () => swapped),
    async () => {
      try {
        await call('passing', undefined, () => [1]);
      } catch (error) {
        if (!(error instanceof TritonError) || !['NOT_FOUND', 'UNAVAILABLE'].includes(error.code))
          throw error;
        gone++;
      }
    },
  ];
  const caller = async (one: () => Promise<void>): Promise<void> => {
    while (!stop) {
      try {
        await one();
      } catch (error) {
        wrong.push(error);
        stop = true;
      }
      // A model that is gone refuses at once: others must have their turn, too.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const running = Promise.all(
    kinds.flatMap((one) => Array.from({ length: Math.ceil(inFlight / kinds.length) }, () => caller(one))),
  );
  let polls = 0;
  let [least, most] = [Infinity, 0];
  const poll = async (): Promise<string> => {
    polls++;
    least = Math.min(least, sent);
    most = Math.max(most, sent);
    return short(await server.rescan());
  };
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
      assert.equal(await poll(), '?passing ?steady ?swapped');
      assert.equal(await poll(), `~steady:${added}-${end} ~swapped:1-1 -passing`);
      newest = [added];
      await until(() => !states(server).some((state) => state.startsWith('passing')));
      const before = gone;
      await until(() => gone > before || wrong.length > 0);
      await rename(away, join(folder, 'passing'));
      polls += 2;
      assert.equal(await settle(server), '+passing:1');
      if (wrong.length > 0) break;
    }
  } finally {
    stop = true;
  }
  await running;
  if (wrong.length > 0) throw wrong[0];
  return { polls, answered, gone, inFlight: [least, most] };
}
