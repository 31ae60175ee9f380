// Package managers other than npm, with install scripts on.
import { cpSync } from 'node:fs';
import { basename, join } from 'node:path';
import { target } from '../../../dist/src/addon/platform.js';
import { answer, expectLine, run, write, writePrograms } from '../project.mjs';

/**
 * A project whose manifest names both tarballs. The one with the binary replaces the package that the other
 * one asks for.
 */
function project({ base, main, binary }, name, more) {
  const folder = join(base, name);
  const files = Object.fromEntries(
    Object.entries({ main, binary }).map(([key, tarball]) => [key, `file:./${basename(tarball)}`]),
  );
  const replaced = { [`@tritonts/${target()}`]: files.binary };
  write(folder, {
    'package.json': {
      name: 'app',
      version: '1.0.0',
      private: true,
      dependencies: { tritonts: files.main, 'onnxruntime-node': '1.30.0' },
      ...more(replaced),
    },
  });
  for (const tarball of [main, binary]) cpSync(tarball, join(folder, basename(tarball)));
  writePrograms(folder);
  return { folder, replaced };
}

async function tool(base, spec, path) {
  const folder = join(base, `tool-${spec.replace(/[@/]+/g, '-')}`);
  write(folder, { 'package.json': { private: true } });
  await run(folder, 'npm', ['install', '--no-audit', '--no-fund', spec]);
  return join(folder, 'node_modules', path);
}

async function answers(folder) {
  for (const file of ['main.mjs', 'main.cjs']) await expectLine(answer, folder, process.execPath, [file]);
}

export const cases = [
  {
    name: 'pnpm',
    quick: false,
    async run(context) {
      const { folder, replaced } = project(context, 'pnpm', (overrides) => ({ pnpm: { overrides } }));
      const overrides = Object.entries(replaced).map(([name, file]) => `  '${name}': '${file}'\n`);
      write(folder, {
        'pnpm-workspace.yaml': `overrides:\n${overrides.join('')}dangerouslyAllowAllBuilds: true\n`,
      });
      const pnpm = await tool(context.base, 'pnpm@10', 'pnpm/bin/pnpm.cjs');
      await run(folder, process.execPath, [pnpm, 'install', '--no-frozen-lockfile']);
      await answers(folder);
    },
  },
  {
    name: 'Yarn 1',
    quick: false,
    async run(context) {
      const { folder } = project(context, 'yarn1', (resolutions) => ({ resolutions }));
      const yarn = await tool(context.base, 'yarn@1.22.22', 'yarn/bin/yarn.js');
      await run(folder, process.execPath, [yarn, 'install', '--non-interactive']);
      await answers(folder);
    },
  },
  ...['node-modules', 'pnp'].map((linker) => ({
    name: `Yarn 4, ${linker}`,
    quick: false,
    async run(context) {
      const { folder } = project(context, `yarn4-${linker}`, (resolutions) => ({ resolutions }));
      write(folder, {
        '.yarnrc.yml': `nodeLinker: ${linker}\nenableScripts: true\nenableGlobalCache: false\nenableTelemetry: false\n`,
        'yarn.lock': '',
      });
      const yarn = await tool(context.base, '@yarnpkg/cli-dist@4', '@yarnpkg/cli-dist/bin/yarn.js');
      await run(folder, process.execPath, [yarn, 'install', '--no-immutable'], {
        YARN_ENABLE_IMMUTABLE_INSTALLS: '0',
      });
      for (const file of ['main.mjs', 'main.cjs'])
        await expectLine(answer, folder, process.execPath, [yarn, 'node', file]);
    },
  })),
];
