// Makes a Python with numpy in an ignored folder, and runs the tests of Python models with it: npm test -- python
import { join } from 'node:path';
import { pythonWith, root, run } from './python-environment.mjs';

pythonWith(join(root, 'test', 'python', 'requirements.txt'), '.venv-python');
run(process.execPath, [join(root, 'scripts', 'node-tests.mjs'), 'test/python/', ...process.argv.slice(2)]);
