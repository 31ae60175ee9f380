/** The page of architecture: its pictures, and the folders that it names. The names in it are checked by scripts/references. */

import assert from 'node:assert/strict';
import { Session, type Profiler } from 'node:inspector';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createServer } from '../../src/index.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');

/** The text below a heading, up to the next one of its level. */
function section(heading: string): string {
  const begin = page.indexOf(`\n${heading}\n`);
  assert.ok(begin >= 0, `no heading ${heading}`);
  const level = heading.replace(/[^#].*$/, '');
  const end = page.indexOf(`\n${level} `, begin + heading.length);
  return page.slice(begin, end < 0 ? undefined : end);
}

/** The pictures in a text. */
function pictures(text: string): string[] {
  return [...text.matchAll(/^```text\n([^]*?)^```$/gm)].map(([, picture = '']) => picture);
}

/** The folders that the tree of the page names. */
function namedFolders(): string[] {
  const [tree = ''] = pictures(section('## Folders'));
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, spaces = '', names] = /^( *)((?:[\w-]+\/(?:\s+|:? |$))+)/.exec(line) ?? [];
    if (names === undefined) return [];
    const level = spaces.length / 2;
    return names
      .trim()
      .split(/[:\s]+/)
      .map((name) => {
        const path = `${level === 0 ? '' : (parents[level - 1] ?? '')}${name}`;
        parents[level] = path;
        return path.slice(0, -1);
      });
  });
}

/** The folders in a folder. */
function foldersIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('build'))
    .map(({ name }) => `${folder}/${name}`);
}

const named = /`[\w./-]+\.(?:h|cc|ts)`(?:,|:| *\|)\s+`[\w:.#]+`/;

test('one infer has at most 25 stations, each a file and a function that scripts/references looks for', () => {
  const stations = [...section('### One `infer`, station by station').matchAll(/^(\d+)\. (.*)$/gm)];
  assert.ok(stations.length > 20 && stations.length <= 25, `${stations.length} stations`);
  assert.deepEqual(
    stations.map(([, number]) => Number(number)),
    stations.map((_, i) => i + 1),
  );
  assert.deepEqual(
    stations.map(([, , station = '']) => station).filter((station) => named.exec(station)?.index !== 0),
    [],
  );
});

test('the first infer passes all stations that are in JavaScript, in their order', async (t) => {
  const stations = [
    ...section('### One `infer`, station by station').matchAll(
      /^\d+\. `(src\/[^`]+)\.ts`, `(?:\w+\.)?([^`]+)`/gm,
    ),
  ].map(([, file = '', name = '']) => `${file} ${name}`);
  assert.ok(stations.length > 8, `${stations.length} stations`);
  const session = new Session();
  session.connect();
  t.after(() => {
    session.disconnect();
  });
  const post = promisify<string, object, unknown>(session.post.bind(session));
  /** Runs the first infer of a new server. */
  const firstInfer = async (): Promise<void> => {
    const server = await createServer(join(root, 'examples/digits/models'));
    try {
      await server.model('digits').infer({ image: new Float32Array(64) });
    } finally {
      await server.close();
    }
  };

  // The functions that run, with their places.
  await post('Profiler.enable', {});
  await post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await firstInfer();
  // The answer of the inspector, as its protocol defines it.
  const { result } = (await post(
    'Profiler.takePreciseCoverage',
    {},
  )) as Profiler.TakePreciseCoverageReturnType;
  await post('Profiler.disable', {});

  // A breakpoint in each station notes it, and never stops, because its condition is false.
  const passed: string[] = [];
  Object.assign(globalThis, { passedStations: passed });
  t.after(() => {
    Reflect.deleteProperty(globalThis, 'passedStations');
  });
  await post('Debugger.enable', {});
  for (const { url, functions } of result) {
    const file = url.replace(/^.*\/dist\/(.*)\.js$/, '$1');
    for (const { functionName, ranges } of functions) {
      const station = `${file} ${functionName}`;
      const begin = ranges[0]?.startOffset;
      if (!stations.includes(station) || begin === undefined) continue;
      const before = readFileSync(fileURLToPath(url), 'utf8').slice(0, begin).split('\n');
      await post('Debugger.setBreakpointByUrl', {
        url,
        lineNumber: before.length - 1,
        columnNumber: before.at(-1)?.length,
        condition: `passedStations.push(${JSON.stringify(station)}) < 0`,
      });
    }
  }
  await firstInfer();
  await post('Debugger.disable', {});
  assert.deepEqual([...new Set(passed)], stations);
});

test('each answer to where to look is a file with a name in it', () => {
  const rows = [...section('## Where to look').matchAll(/^\| (?!-|where|what)(.*)\|$/gm)];
  assert.ok(rows.length > 20, `${rows.length} rows`);
  assert.deepEqual(
    rows.map(([, row = '']) => row).filter((row) => !named.test(row)),
    [],
  );
});

test('the layers, the way of a request and the states have one picture each', () => {
  for (const heading of ['## Layers', '## The way of a request', '## States'])
    assert.equal(pictures(section(heading)).length, 1, heading);
});

test('the folders that the page names exist, where it says', () => {
  const named = namedFolders();
  assert.ok(named.length > 40, `only ${named.length} folders`);
  assert.deepEqual(
    named.filter((folder) => statSync(join(root, folder), { throwIfNoEntry: false })?.isDirectory() !== true),
    [],
  );
});

test('no folder of src, native and the engine is missing in it', () => {
  const named = namedFolders();
  assert.deepEqual(
    ['src', 'native', 'native/engine'].flatMap(foldersIn).filter((folder) => !named.includes(folder)),
    [],
  );
});
