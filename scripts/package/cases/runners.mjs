// Test runners.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../paths.mjs';
import { run, write } from '../project.mjs';

const use = `
  const server = await createServer('./models');
  const { outputs } = await server.infer('digits', { image: new Float32Array(64) });
  expect(outputs.scores.shape).toEqual([1, 10]);
  await expect(server.infer('digits', {})).rejects.toBeInstanceOf(TritonError);
  await server.close();
`;

/** Copies an example of test servers, with the model whose configuration it takes. */
function copyExample(app, name) {
  cpSync(join(root, 'examples', name), join(app, name), { recursive: true });
  cpSync(join(root, 'examples', 'digits', 'models'), join(app, 'digits', 'models'), { recursive: true });
  return join(app, name);
}

export const cases = [
  {
    name: 'jest, CommonJS',
    quick: false,
    async run({ app }) {
      await run(app, 'npm', ['install', '--no-save', '--no-audit', '--no-fund', 'jest@30']);
      write(app, {
        'jest/answers.test.js': `const { createServer, TritonError } = require('tritonts');\ntest('answers', async () => {${use}});\n`,
        'jest.config.json': { rootDir: '.', roots: ['<rootDir>/jest'], transform: {} },
      });
      await run(app, process.execPath, ['node_modules/jest/bin/jest.js', '--ci', '-c', 'jest.config.json']);
    },
  },
  {
    name: 'examples/testing-jest',
    quick: false,
    async run({ app }) {
      await run(app, 'npm', ['install', '--no-save', '--no-audit', '--no-fund', 'jest@30']);
      const jest = join(app, 'node_modules', 'jest', 'bin', 'jest.js');
      await run(copyExample(app, 'testing-jest'), process.execPath, [jest, '--ci']);
    },
  },
  {
    name: 'examples/testing-vitest',
    quick: false,
    async run({ app }) {
      await run(app, 'npm', ['install', '--no-save', '--no-audit', '--no-fund', 'vitest@4']);
      const vitest = join(app, 'node_modules', 'vitest', 'vitest.mjs');
      await run(copyExample(app, 'testing-vitest'), process.execPath, [vitest, 'run']);
    },
  },
  {
    name: 'jest, ES modules (--experimental-vm-modules)',
    quick: false,
    async run({ app }) {
      await run(app, 'npm', ['install', '--no-save', '--no-audit', '--no-fund', 'jest@30']);
      write(app, {
        'jest-esm/answers.test.mjs': `import { createServer, TritonError } from 'tritonts';\ntest('answers', async () => {${use}});\n`,
        'jest-esm.config.json': {
          rootDir: '.',
          roots: ['<rootDir>/jest-esm'],
          transform: {},
          testMatch: ['**/*.test.mjs'],
        },
      });
      const flags = [
        '--experimental-vm-modules',
        'node_modules/jest/bin/jest.js',
        '--ci',
        '-c',
        'jest-esm.config.json',
      ];
      await run(app, process.execPath, flags);
    },
  },
  {
    name: 'vitest',
    quick: false,
    async run({ app }) {
      await run(app, 'npm', ['install', '--no-save', '--no-audit', '--no-fund', 'vitest@4']);
      write(app, {
        'vitest/answers.test.mjs': `import { expect, test } from 'vitest';\nimport { createServer, TritonError } from 'tritonts';\ntest('answers', async () => {${use}});\n`,
      });
      await run(app, process.execPath, [
        join('node_modules', 'vitest', 'vitest.mjs'),
        'run',
        '--dir',
        'vitest',
      ]);
    },
  },
];
