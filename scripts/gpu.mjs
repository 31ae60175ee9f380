// Checks and measures the GPUs of this machine: the device layer, ONNX Runtime's CUDA provider, and TensorRT, as far as
// they are installed. Missing parts are printed.
//
//   node scripts/gpu.mjs [--fake] [--seconds SECONDS]
//
// --fake: uses the tests' fake driver, which only shows that this command works.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildPrograms } from './native-programs.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({
  options: { fake: { type: 'boolean', default: false }, seconds: { type: 'string', default: '1' } },
});
const build = buildPrograms(['tritonts_gpu']);
const fakes = join(build, 'fakes');
const env = {
  ...process.env,
  ...(values.fake && {
    LD_LIBRARY_PATH: [fakes, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
    TRITONTS_FAKE_GPUS: '1',
  }),
};

function run(title, program, args, environment = env) {
  if (title) console.log(`\n${title}`);
  const { error, status, signal } = spawnSync(program, args, {
    stdio: 'inherit',
    cwd: root,
    env: environment,
  });
  if (error) throw error;
  if (status === 0) return;
  console.error(`${program} ended with ${status ?? signal}`);
  process.exitCode = 1;
}

if (values.fake) console.log('On the fake driver: what follows says nothing about GPUs.');
run('', join(build, 'tritonts_gpu'), [values.seconds]);
run('Runtimes and GPUs:', process.execPath, ['dist/command/main.js', 'backends']);
// The provider would compute on the fake driver.
if (values.fake) console.log("\nskipped: ONNX Runtime's CUDA provider, which needs a real GPU");
else
  run("ONNX Runtime's CUDA provider (skipped tests say what is missing):", process.execPath, [
    ...['--test', '--test-reporter=spec', 'dist/test/backends/cuda.test.js'],
  ]);
