// Runs examples/sklearn: trains, exports, serves and compares. npm run demo -- sklearn
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pythonWith, root, run } from './python-environment.mjs';

const sources = join(root, 'examples', 'sklearn');
const python = pythonWith(join(sources, 'requirements.txt'), '.venv-sklearn');
const folder = mkdtempSync(join(tmpdir(), 'tritonts-sklearn-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
run(python, [join(sources, 'train.py'), folder]);
run(process.execPath, [join(root, 'dist', 'examples', 'sklearn', 'main.js'), folder]);
