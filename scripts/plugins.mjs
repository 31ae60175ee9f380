// Runs test/plugins/, and the tests of caches that are plug-ins: Triton's own plug-ins, from NVIDIA's wheel on PyPI, in this process. Where they cannot be had, the tests
// are skipped with a message.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './python-environment.mjs';
import { tritonEnvironment } from './triton-environment.mjs';

/** The environment, or the reason why there is none. */
function find() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the wheel is for Linux on x64';
  try {
    const found = tritonEnvironment(join(root, 'test', 'plugins', 'requirements.txt'), '.venv-plugins');
    // The stub embeds the Python that it was made for.
    const { stdout } = spawnSync('ldd', [found.stub], { encoding: 'utf8' });
    const missing = /(\S+) => not found/.exec(stdout ?? '')?.[1];
    return missing === undefined ? found : `the stub of Triton's Python backend needs ${missing}`;
  } catch (error) {
    return error.message;
  }
}

const found = find();
if (typeof found === 'string') console.log(`skipped: Triton's plug-ins are missing: ${found}`);
else {
  const files = ['test/plugins/', 'test/server/cache/plugin'];
  const tests = [join(root, 'scripts', 'node-tests.mjs'), ...files, ...process.argv.slice(2)];
  const { status } = spawnSync(process.execPath, tests, {
    stdio: 'inherit',
    cwd: root,
    env: {
      ...process.env,
      ...found.env,
      TRITONTS_PLUGIN_BACKENDS: found.backends,
      TRITONTS_PLUGIN_CACHES: found.caches,
      TRITONTS_PLUGIN_PYTHON: found.python,
    },
  });
  process.exitCode = status ?? 1;
}
