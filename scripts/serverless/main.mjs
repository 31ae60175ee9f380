// Runs examples/lambda in roots that are laid out as AWS Lambda's and a distroless image's, and measures the first answer.
//
//   npm test -- serverless [--rounds <n>] [--keep]
//
// Each root has Node, the installed tarballs, ONNX Runtime's library, a model, and the shared libraries that these need: nothing else. It is
// read-only, without shared memory and without a home; the process is another user's, with 512 MB where a cgroup can be made. Needs Linux,
// root, and mount namespaces; says so where it cannot run.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../package/paths.mjs';
import { run } from '../package/project.mjs';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, keep: { type: 'boolean', default: false } },
});
const rounds = Number(values.rounds);
if (!Number.isSafeInteger(rounds) || rounds < 1)
  throw new RangeError(`--rounds: expected a whole number, above 0, but received '${values.rounds}'`);

/** Why this machine cannot run it, or undefined. */
function obstacle() {
  if (process.platform !== 'linux') return `the roots are Linux's, and this is ${process.platform}`;
  if (process.getuid() !== 0) return 'mounts and chroot need root';
  const { error, status, stderr } = spawnSync('unshare', ['--mount-proc', '--pid', '--fork', 'true'], {
    encoding: 'utf8',
  });
  if (error) return `unshare cannot be run: ${error.message}`;
  return status === 0 ? undefined : `no mount namespace can be made: ${stderr.trim()}`;
}

const why = obstacle();
if (why === undefined) await check();
else console.log(`SKIPPED, nothing was checked: ${why}`);

async function check() {
  const pack = [join(root, 'scripts', 'package', 'pack.mjs')];
  const [binary, main] = execFileSync(process.execPath, pack, { encoding: 'utf8' }).trim().split('\n');
  const base = mkdtempSync(join(tmpdir(), 'tritonts-serverless-'));
  try {
    cpSync(join(root, 'examples', 'lambda'), join(base, 'example'), { recursive: true });
    await run(join(base, 'example'), 'sh', ['build-layer.sh', main, binary, 'onnxruntime-node@1.30.0']);
    const command = 'layer/nodejs/node_modules/tritonts/dist/command/main.js';
    await run(join(base, 'example'), process.execPath, [command, 'init', 'digits']);
    console.log('ok: the layer is built, and the model is beside the handler');
    const inside = [
      process.execPath,
      join(root, 'scripts', 'serverless', 'inside.mjs'),
      base,
      String(rounds),
    ];
    const { status } = spawnSync(
      'unshare',
      ['--mount-proc', '--pid', '--fork', '--kill-child', '--', ...inside],
      {
        stdio: 'inherit',
      },
    );
    process.exitCode = status ?? 1;
  } finally {
    if (values.keep) console.log(`kept: ${base}`);
    else rmSync(base, { recursive: true, force: true });
  }
}
