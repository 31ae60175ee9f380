/** The check that comments and pages name nothing that does not exist (scripts/references). */

import assert from 'node:assert/strict';
import { test } from 'node:test';

const { staleReferences } = (await import(
  new URL('../../../scripts/references/stale.mjs', import.meta.url).href
)) as { staleReferences: (files: Map<string, () => string>) => string[] };

/** The stale references in one file of a small repository. */
function staleIn(file: string, text: string): string[] {
  const files = {
    'native/engine/batch/run.h':
      '#include <napi.h>\nnamespace tritonts { class Run { void Begin(); }; } // class Gone {}',
    'native/engine/batch/run.cc': '',
    'src/config/index.ts': 'export interface Reader { read(): void }',
    'src/config/text/tokens.ts': "const text = '// class Lost {}';",
    'scripts/check.mjs': '',
    'docs/models.md': '',
    'python/stub.py': '',
    [file]: text,
  };
  return staleReferences(new Map(Object.entries(files).map(([name, content]) => [name, () => content])))
    .filter((fault) => fault.startsWith(`${file}:`))
    .map((fault) => fault.slice(file.length + 1));
}

test('a file or folder that is gone is seen, wherever a comment or page names it', () => {
  for (const [file, text] of [
    ['native/a.h', '// Whatever.\n// See batch/past.h (run_past.h), src/config/past and `engine/past`.'],
    ['src/a.ts', 'const a = 1;\n/* See batch/past.h (run_past.h), src/config/past and `engine/past`. */'],
    ['python/a.py', 'def a():\n  """See batch/past.h (run_past.h), src/config/past and `engine/past`."""'],
    ['docs/a.md', '# A\nSee batch/past.h (run_past.h), src/config/past and `engine/past`.'],
    ['docs/b.md', '```text\nbatch/past.h run_past.h src/config/past `engine/past`\n```'],
  ] as const)
    assert.deepEqual(
      staleIn(file, text),
      ['batch/past.h', 'run_past.h', 'src/config/past', 'engine/past'].map(
        (path) => `2: ${path} does not exist`,
      ),
    );
});

test('files and folders that exist are none of them, by any part of their path', () => {
  assert.deepEqual(
    staleIn(
      'src/config/a.ts',
      '// run.h, batch/run.h, native/engine/batch/, `engine/batch`, ./text/tokens.ts, ../../docs/models.md, dist/src/config/index.js',
    ),
    [],
  );
});

test('files of users, of packages and of the program itself are none of them', () => {
  assert.deepEqual(
    staleIn(
      'src/a.ts',
      "write('made.ts'); // made.ts, model.py, models/m/1/model.onnx, config.pbtxt, index.js, lib.d.ts, napi.h, tritonts/http",
    ),
    [],
  );
  assert.deepEqual(staleIn('docs/a.md', '```sh\nnode scripts/past.mjs scripts/check.mjs\n```'), [
    '2: scripts/past.mjs does not exist',
  ]);
  assert.deepEqual(staleIn('docs/a.md', '```ts\n// past.ts\n```\nhttps://example.org/past.md'), []);
  assert.deepEqual(staleIn('scripts/a.mjs', "'past.mjs'; `// past.ts`;"), []);
});

test('a script or module that is gone is seen in its own language', () => {
  assert.deepEqual(staleIn('scripts/a.mjs', '// See past.mjs, and check.mjs.'), [
    '1: past.mjs does not exist',
  ]);
  assert.deepEqual(staleIn('python/a.py', '# See past.py, and stub.py.'), ['1: past.py does not exist']);
});

test('a type or member that is gone is seen', () => {
  assert.deepEqual(staleIn('native/a.h', '// Run::Begin, Run::Past, Gone::Begin, std::max'), [
    '1: Run::Past does not exist',
    '1: Gone::Begin does not exist',
    '1: std::max does not exist',
  ]);
  assert.deepEqual(staleIn('native/a.h', '#include <x>\nint a = std::max(1, 2);  // std::min'), []);
  assert.deepEqual(staleIn('src/a.ts', '// `Reader.read`, `Reader.past()`, {@link Reader.past}'), [
    '1: Reader.past does not exist',
    '1: Reader.past does not exist',
  ]);
  assert.deepEqual(staleIn('src/a.ts', '// `Reader`, `readPast`'), ['1: readPast does not exist']);
});

test('every name in a comment of the engine is one of its own', () => {
  assert.deepEqual(staleIn('native/engine/a.h', 'class RunLife {};  // RunLife, RunLifes, RunPast'), [
    '1: RunPast does not exist',
  ]);
});

test('a file that lacks what a page finds in it is seen', () => {
  assert.deepEqual(
    staleIn(
      'docs/a.md',
      '1. `batch/run.h`, `Begin`\n2. `batch/run.h`, `Run::Begin`\n3. `src/config/index.ts`, `Begin`\n| `run.h`      | `past()` |',
    ),
    ['3: Begin in src/config/index.ts does not exist', '4: past in run.h does not exist'],
  );
});
