// Builds the addon with cmake-js: native/CMakeLists.txt -> build/Release/tritonts.node.
//
//   node scripts/build-addon.mjs [--debug] [--out <folder>] [--define NAME=VALUE]…
//
// Nothing is downloaded: native/package.json names a Node-API version, so cmake-js takes the headers of
// node-api-headers. npm's setting `nodedir` would hide a mistake there, so it is cleared.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({
  options: {
    debug: { type: 'boolean', default: false },
    out: { type: 'string', default: join(root, 'build') },
    define: { type: 'string', multiple: true, default: [] },
  },
});
const cmakeJs = createRequire(import.meta.url).resolve('cmake-js/bin/cmake-js');

function cmake(command, ...more) {
  const options = [
    '--directory',
    join(root, 'native'),
    '--out',
    values.out,
    ...(values.debug ? ['--debug'] : []),
  ];
  const result = spawnSync(process.execPath, [cmakeJs, command, ...options, ...more], {
    // Standard output belongs to the next program, such as a benchmark that prints JSON.
    stdio: ['inherit', 2, 2],
    cwd: root,
    env: { ...process.env, npm_config_nodedir: '' },
  });
  return result.status ?? 1;
}

const defines = values.define.map((define) => `--CD${define}`);
// An existing build is only configured again on demand. If a build fails, it starts again from nothing.
process.exitCode =
  (defines.length > 0 && cmake('configure', ...defines)) || cmake('compile', ...defines, '--parallel', '4');
