import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { atOnce, inSlices, Pace, type Sliced } from '../src/slices.js';
import { turnsUntil } from './support/turns.js';

/** Work of `count` steps, each of which takes at least 0.1 ms. */
function* steps<T>(count: number, result: T): Sliced<T> {
  for (let i = 0; i < count; i++) {
    for (const end = performance.now() + 0.1; performance.now() < end;) continue;
    yield;
  }
  return result;
}

function sliced<T>(work: Sliced<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    inSlices(work, resolve, reject);
  });
}

void suite('work in slices', () => {
  test('lets the event loop turn', async () => {
    // At least 100 ms in all. Each turn takes 1 ms, plus the rest of a step.
    assert.ok((await turnsUntil(sliced(steps(1000, 'a')))) > 10);
  });

  test('of all together has one slice of a turn', async () => {
    const all = Promise.all(Array.from({ length: 100 }, (_, i) => sliced(steps(10, i))));
    assert.ok((await turnsUntil(all)) > 10);
    assert.deepEqual(
      await all,
      Array.from({ length: 100 }, (_, i) => i),
    );
  });

  test('does not wait for longer work that came before', async () => {
    const ended: string[] = [];
    const long = sliced(steps(500, 'long')).then((name) => ended.push(name));
    const short = sliced(steps(5, 'short')).then((name) => ended.push(name));
    await Promise.all([long, short]);
    assert.deepEqual(ended, ['short', 'long']);
  });

  test('fails alone', async () => {
    function* failing(): Sliced<never> {
      yield* steps(30, 0);
      throw new Error('no');
    }
    const other = sliced(steps(50, 'other'));
    await assert.rejects(sliced(failing()), /no/);
    assert.equal(await other, 'other');
  });

  test('that follows from other work is done, too', async () => {
    const second = await new Promise<string>((resolve, reject) => {
      inSlices(
        steps(50, 'first'),
        (first) => {
          inSlices(steps(50, `${first}, second`), resolve, reject);
        },
        reject,
      );
    });
    assert.equal(second, 'first, second');
  });

  test('may be done without a pause', () => {
    assert.equal(atOnce(steps(3, 'a')), 'a');
  });

  test('knows by its cost when to yield', () => {
    const pace = new Pace();
    let yields = 0;
    for (let i = 0; i < 10 * Pace.portion; i += 16) if (pace.spent(16)) yields++;
    assert.equal(yields, 10);
  });
});
