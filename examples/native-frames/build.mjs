// Compiles the addon with the system's compiler: node build.mjs [<file to write>]
//
// A project of its own would use node-gyp with binding.gyp, which does the same.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nativeApi } from 'tritonts';

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? join(here, 'frames.node');
const nodeHeaders = createRequire(import.meta.url)('node-api-headers').include_dir;
const compiler = process.env.CC ?? 'cc';
const { status, error } = spawnSync(
  compiler,
  [
    ...['-std=gnu11', '-O2', '-Wall', '-Wextra', '-Werror', '-fPIC', '-shared', '-pthread'],
    ...(process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : []),
    ...[`-I${nodeHeaders}`, `-I${nativeApi.include}`, '-DNAPI_VERSION=9', '-DNODE_GYP_MODULE_NAME=frames'],
    ...[join(here, 'frames.c'), '-o', output],
  ],
  { stdio: 'inherit' },
);
if (error) {
  console.error(`${compiler} could not be started: ${error.message}`);
  process.exitCode = 1;
} else process.exitCode = status ?? 1;
