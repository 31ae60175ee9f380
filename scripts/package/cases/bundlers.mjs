// Bundlers, with the settings in docs/bundlers.md.
import { join } from 'node:path';
import { answer, expectLine, run, write } from '../project.mjs';

const install = (app, ...specs) =>
  run(app, 'npm', ['install', '--no-save', '--no-audit', '--no-fund', ...specs]);

export const cases = [
  {
    name: 'esbuild',
    quick: false,
    async run({ app }) {
      await install(app, 'esbuild');
      const esbuild = join(app, 'node_modules', '.bin', 'esbuild');
      const common = ['--bundle', '--platform=node', '--external:tritonts'];
      await run(app, esbuild, ['main.mjs', ...common, '--format=esm', '--outfile=out/esbuild.mjs']);
      await run(app, esbuild, ['main.cjs', ...common, '--format=cjs', '--outfile=out/esbuild.cjs']);
      await expectLine(answer, app, process.execPath, ['out/esbuild.mjs']);
      await expectLine(answer, app, process.execPath, ['out/esbuild.cjs']);
    },
  },
  {
    name: 'what is bundled in spite of that says how to leave it outside',
    quick: false,
    async run({ app, base }) {
      await install(app, 'esbuild');
      const esbuild = join(app, 'node_modules', '.bin', 'esbuild');
      // The bundle lies outside of the project, so that it cannot find node_modules by chance.
      for (const [format, extension] of [
        ['esm', 'mjs'],
        ['cjs', 'cjs'],
      ]) {
        const out = join(base, 'bundled', `out.${extension}`);
        await run(app, esbuild, [
          'main.mjs',
          '--bundle',
          '--platform=node',
          `--format=${format}`,
          // Optional packages that are not installed.
          ...['redis', '@aws-sdk/client-s3', '@azure/*', '@google-cloud/storage'].map(
            (name) => `--external:${name}`,
          ),
          `--outfile=${out}`,
        ]);
        const text = await run(join(base, 'bundled'), process.execPath, [out], {
          MODELS: join(app, 'models'),
        }).then(
          () => 'it answered',
          (/** @type {unknown} */ error) => String(error),
        );
        if (!text.includes('--external:tritonts')) throw new Error(`${format}: ${text}`);
      }
    },
  },
  {
    name: 'webpack',
    quick: false,
    async run({ app }) {
      await install(app, 'webpack@5', 'webpack-cli');
      write(app, {
        'webpack.config.cjs': `module.exports = ['mjs', 'cjs'].map((kind) => ({
  mode: 'production',
  target: 'node20',
  entry: './main.' + kind,
  externals: { tritonts: kind === 'mjs' ? 'module tritonts' : 'commonjs tritonts' },
  experiments: { outputModule: kind === 'mjs' },
  output: { path: __dirname + '/out', filename: 'webpack.' + kind, ...(kind === 'mjs' ? { module: true } : {}) },
}));
`,
      });
      await run(app, process.execPath, ['node_modules/webpack/bin/webpack.js']);
      await expectLine(answer, app, process.execPath, ['out/webpack.mjs']);
      await expectLine(answer, app, process.execPath, ['out/webpack.cjs']);
    },
  },
  {
    name: 'vite',
    quick: false,
    async run({ app }) {
      await install(app, 'vite@7');
      const args = ['build', '--ssr', 'main.mjs', '--outDir', 'out/vite'];
      await run(app, process.execPath, ['node_modules/vite/bin/vite.js', ...args]);
      await expectLine(answer, app, process.execPath, ['out/vite/main.js']).catch(() =>
        expectLine(answer, app, process.execPath, ['out/vite/main.mjs']),
      );
    },
  },
];
