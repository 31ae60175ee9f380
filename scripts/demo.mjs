// npm run demo [-- NAME]: builds with one line of progress, and runs an example.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { quietly } from './quietly.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const demos = {
  digits: {
    does: 'examples/digits: serves two classifiers of digits, prints accuracy and speed beside onnxruntime-node.',
    run: 'dist/examples/digits/demo.js',
  },
  text: {
    does: 'examples/text: tokenizer, classifier and labels as one ensemble, beside the same code on the main thread.',
    run: 'dist/examples/text/demo.js',
  },
  images: {
    does: 'examples/images: JPEG files decoded and classified by one ensemble, beside the same code on the main thread.',
    run: 'dist/examples/images/demo.js',
  },
  sklearn: {
    does: 'examples/sklearn: trains, exports, serves and compares; its Python packages come from PyPI.',
    run: 'scripts/sklearn-example.mjs',
  },
};

const [name = 'digits', ...rest] = process.argv.slice(2);
if (!Object.hasOwn(demos, name)) {
  const lines = Object.entries(demos).map(([known, { does }]) => `npm run demo -- ${known}\n    ${does}`);
  const help = name === '--help' || name === '-h';
  (help ? console.log : console.error)(lines.join('\n'));
  process.exitCode = help ? 0 : 2;
} else if (await quietly('Building', 'npm', ['run', '--silent', 'build'], { cwd: root })) {
  const { status } = spawnSync(process.execPath, [join(root, demos[name].run), ...rest], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
} else process.exitCode = 1;
