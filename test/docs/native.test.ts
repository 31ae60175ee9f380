import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { nativeApi } from '../../src/index.js';
import { noCompiler, sharedObject } from '../support/c-compiler.js';
import { root } from '../support/project.js';
import { onlyGlibc } from '../support/glibc.js';
import { temporaryFolder } from '../support/repository.js';
import { runPageProgram } from './page-program.js';

/** Compiles a program of the page as an addon. */
async function compile(page: string, folder: string, name: string, args: readonly string[]): Promise<void> {
  const code = new RegExp(`<!-- test: ${name}\\.c -->\\s*\`\`\`c\\n([^]*?)\`\`\``).exec(page)?.[1];
  assert.ok(code !== undefined);
  const file = join(folder, `${name}.c`);
  await writeFile(file, code);
  // The package has the type of it.
  const { include_dir: node } = createRequire(import.meta.url)('node-api-headers') as {
    include_dir: string;
  };
  const general = ['-DNAPI_VERSION=9', `-I${node}`, `-I${nativeApi.include}`];
  sharedObject(join(folder, `${name}.node`), [file, ...general, ...args]);
}

test('the addon and the program of the page print what the page says', { skip: noCompiler }, async (t) => {
  const { stdout } = await runPageProgram(t, 'native', (page, folder) =>
    compile(page, folder, 'classify', []),
  );
  assert.equal(stdout, 'scores of version 1: 10\n');
});

/** The reason to skip tests of the library with Triton's functions; false: none. */
const noLibrary = noCompiler === false ? onlyGlibc : noCompiler;

test("an addon calls Triton's functions as the page says", { skip: noLibrary }, async (t) => {
  const { stdout } = await runPageProgram(
    t,
    'native',
    (page, folder) => compile(page, folder, 'score', [`-I${nativeApi.tritonInclude}`, nativeApi.library]),
    'native-triton',
  );
  assert.equal(stdout, 'libtritonserver.so\nplatform onnxruntime_onnx; 10 scores of version 1\n');
});

test(
  "sources that include Triton's headers by their names compile as C and as C++",
  { skip: noCompiler },
  async (t) => {
    const folder = await temporaryFolder(t);
    const file = join(folder, 'source.c');
    await writeFile(
      file,
      `${['server', 'backend', 'cache', 'repoagent'].map((name) => `#include "triton/core/triton${name}.h"\n`).join('')}
TRITONSERVER_Error* call(TRITONSERVER_Server* server, bool* live);
TRITONSERVER_Error* call(TRITONSERVER_Server* server, bool* live) { return TRITONSERVER_ServerIsLive(server, live); }
`,
    );
    for (const [language, standard] of [
      ['c', 'c11'],
      ['c++', 'c++17'],
    ] as const) {
      const args = [
        '-x',
        language,
        `-std=${standard}`,
        '-Wall',
        '-Wextra',
        '-Werror',
        '-pedantic',
        '-fsyntax-only',
      ];
      const { status, stderr } = spawnSync(
        process.env['CC'] ?? 'cc',
        [...args, `-I${nativeApi.tritonInclude}`, file],
        { encoding: 'utf8' },
      );
      assert.equal(status, 0, `${language}: ${stderr}`);
    }
  },
);

test('the header compiles as C11 and as C++, without a warning', { skip: noCompiler }, () => {
  for (const language of ['c', 'c++']) {
    const { status, stderr } = spawnSync(
      process.env['CC'] ?? 'cc',
      [
        ...[
          '-x',
          language,
          `-std=${language}11`,
          '-Wall',
          '-Wextra',
          '-Werror',
          '-pedantic',
          '-fsyntax-only',
        ],
        nativeApi.header,
      ],
      { encoding: 'utf8' },
    );
    // `#pragma once` aside, a header alone is a warning of its own in some compilers.
    assert.equal(status, 0, `${language}: ${stderr}`);
  }
});

test('every function of the table is in the header once, and in the table of the engine, in this order', async () => {
  const header = await readFile(nativeApi.header, 'utf8');
  const table = /typedef struct tritonts_api \{([^]*?)\} tritonts_api;/.exec(header)?.[1] ?? '';
  const declared = [...table.matchAll(/\(\*(\w+)\)\(/g)].map(([, name = '']) => name);
  const engine = await readFile(join(root, 'native', 'c_api', 'api.cc'), 'utf8');
  const defined = [...(/kTable = \{([^]*?)\};/.exec(engine)?.[1] ?? '').matchAll(/^ {4}([A-Z]\w+),$/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'TRITONTS_API_VERSION');
  // `ListModels` is the name of what it calls.
  const named = (name: string): string =>
    ({ list_models: 'ListAll', model_list_delete: 'ListDelete' })[name] ??
    name.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  assert.deepEqual(defined, declared.map(named));
  assert.ok(declared.length > 30);
  assert.equal(dirname(nativeApi.header), nativeApi.include);
});
