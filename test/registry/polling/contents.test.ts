/** What polls read of files, and how often. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Contents } from '../../../src/registry/polling/contents.js';
import type { FoundModel, ModelSource, StampedEntry } from '../../../src/registry/sources/model-source.js';

const large = 0.75 * 2 ** 30;

/** The files of a model, with stamps and contents as the test says, and how often each was read. */
class Files {
  readonly reads: string[] = [];
  readonly contents: Map<string, { stamp: string; content: string; size: number }> = new Map();
  readonly place: FoundModel;
  /** Called when a file is read. */
  onRead: (path: string) => void = () => undefined;
  #open = 0;

  constructor() {
    const unused = (): never => assert.fail('a poll of contents does not need it');
    const source: ModelSource = {
      place: 'files',
      namespace: '',
      list: unused,
      read: unused,
      materialise: unused,
      stamp: () => Promise.resolve(this.stamp),
      entriesOf: (_, stamp) => Promise.resolve(this.#entriesOf(stamp)),
      digest: async (_, { path }) => {
        assert.equal(this.#open++, 0, 'one file is read at a time');
        await new Promise((resolve) => setImmediate(resolve));
        this.#open--;
        this.reads.push(path);
        this.onRead(path);
        return this.contents.get(path)?.content;
      },
    };
    this.place = { source, model: { name: 'm', path: 'm' } };
  }

  write(path: string, stamp: string, content: string, size = 10): void {
    this.contents.set(path, { stamp, content, size });
  }

  get stamp(): string {
    const texts = [...this.contents].map(([path, { stamp, size }]) => `${path}=${stamp}=${size}`);
    return `m\0${texts.join()}`;
  }

  get entries(): readonly StampedEntry[] {
    return this.#entriesOf(this.stamp.slice(2));
  }

  entry(path: string): StampedEntry {
    return this.entries.find((one) => one.path === path) ?? assert.fail(path);
  }

  #entriesOf(stamp: string): readonly StampedEntry[] {
    return stamp.split(',').map((text) => {
      const [path = '', own = '', size] = text.split('=');
      return { path, stamp: own, size: Number(size) };
    });
  }
}

function make(...paths: string[]): {
  readonly files: Files;
  readonly contents: Contents;
  readonly model: { stamp: string };
  readonly note: () => Promise<string>;
} {
  const files = new Files();
  for (const path of paths) files.write(path, '1', path, large);
  const contents = new Contents(new AbortController().signal);
  const model = { stamp: files.stamp };
  const note = async (): Promise<string> => {
    files.reads.length = 0;
    await contents.note(model, files.place, model.stamp, contents.budget(), () =>
      Promise.resolve(files.stamp),
    );
    return files.reads.join();
  };
  return { files, contents, model, note };
}

test('each file is read once, and a poll begins no other one after 1 GiB', async () => {
  const { note } = make('a', 'b', 'c');
  assert.deepEqual([await note(), await note(), await note()], ['a,b', 'c', '']);
});

test('nothing is read of files that are not served', async () => {
  const { files, note } = make('a');
  files.write('b', '1', 'b');
  assert.deepEqual([await note(), await note()], ['', '']);
});

test('what was read of a file is kept while others change', async () => {
  const { files, model, note } = make('a', 'log');
  files.onRead = () => {
    files.write('log', '2', 'log');
  };
  assert.equal(await note(), 'a,log');
  model.stamp = files.stamp;
  assert.equal(await note(), 'log');
  assert.equal(await note(), '');
});

test('comparisons go on where the budget of the last poll ended', async () => {
  const { files, contents, model, note } = make('a', 'b', 'c');
  const before = files.entries;
  while ((await note()) !== '');
  for (const path of ['a', 'b', 'c']) files.write(path, '2', path === 'c' ? 'other' : path, large);
  const compare = async (): Promise<readonly (boolean | undefined)[]> => {
    const budget = contents.budget();
    return await Promise.all(
      before.map((old) => contents.isEqual(model, files.place, old, files.entry(old.path), budget)),
    );
  };
  assert.deepEqual(await compare(), [true, true, undefined]);
  assert.deepEqual(await compare(), [true, true, false]);
  assert.equal(files.reads.join(), 'a,b,c');
});
