// npm run bench -- wire: makes what the comparison with Triton's own server needs, and runs it. The server, its Python
// backend and perf_analyzer come from wheels of PyPI, into ignored folders.
import { join } from 'node:path';
import * as perfAnalyzer from './clients/perf-analyzer-program.mjs';
import { root } from './python-environment.mjs';
import { tritonEnvironment } from './triton-environment.mjs';

const why = perfAnalyzer.missing();
if (why !== undefined) throw new Error(`perf_analyzer is missing: ${why}`);
const triton = tritonEnvironment(join(root, 'bench', 'wire', 'requirements.txt'), '.venv-wire');
const { measureWire } = await import('../dist/bench/wire/main.js');
await measureWire(
  {
    perfAnalyzer: { program: perfAnalyzer.program, env: perfAnalyzer.env },
    python: triton.python,
    triton: {
      program: triton.program,
      backends: triton.backends,
      env: { ...process.env, ...triton.env, LD_LIBRARY_PATH: triton.libraries },
    },
  },
  process.argv.slice(2),
);
