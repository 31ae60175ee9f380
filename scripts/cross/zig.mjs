// Zig as a compiler for other systems, in an ignored folder: build/zig.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pythonWith, root } from '../python-environment.mjs';

const folder = join(root, 'build', 'zig');

/** What zig would otherwise write into the user's home. */
export const zigEnvironment = {
  ZIG_GLOBAL_CACHE_DIR: join(folder, 'cache'),
  ZIG_LOCAL_CACHE_DIR: join(folder, 'cache'),
};

/** Installs zig, if it is not there yet, and returns the path of its program. */
function zigProgram() {
  const python = pythonWith(join(root, 'scripts', 'cross', 'requirements.txt'), 'build/zig/python');
  const code = "import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))";
  return execFileSync(python, ['-c', code], { encoding: 'utf8' }).trim();
}

/**
 * Writes programs that CMake takes for a compiler and its tools: `c++`, `ar` and `ranlib`. CMake passes no arguments
 * of its own to the latter two. Returns their paths.
 */
export function toolsFor(target) {
  const zig = zigProgram();
  const tools = join(folder, 'tools', target);
  mkdirSync(tools, { recursive: true });
  const commands = { cxx: `c++ -target ${target}`, ar: 'ar', ranlib: 'ranlib' };
  return Object.fromEntries(
    Object.entries(commands).map(([name, command]) => {
      const file = join(tools, name);
      writeFileSync(file, `#!/bin/sh\nexec '${zig}' ${command} "$@"\n`);
      chmodSync(file, 0o755);
      return [name, file];
    }),
  );
}
