// Zig as a compiler for other systems, in an ignored folder: build/zig.
import { chmodSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { pythonWith, root } from '../python-environment.mjs';

/** What zig would otherwise write into the user's home. */
export function zigEnvironment(from) {
  const cache = join(from, 'build', 'zig', 'cache');
  return { ZIG_GLOBAL_CACHE_DIR: cache, ZIG_LOCAL_CACHE_DIR: cache };
}

/** The Python in whose environment zig is installed. */
export const pythonOfZig = () =>
  pythonWith(join(root, 'scripts', 'cross', 'requirements.txt'), 'build/zig/python');

/**
 * Installs zig, if it is not there yet, and returns the path of its program. A copy of the project has a copy of zig, as a
 * clone of the repository has its own.
 */
function zigProgram(from) {
  const python = pythonOfZig();
  const code = "import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))";
  const program = execFileSync(python, ['-c', code], { encoding: 'utf8' }).trim();
  if (from === root) return program;
  const copy = join(from, 'build', 'zig', 'ziglang');
  if (!existsSync(copy)) cpSync(dirname(program), copy, { recursive: true });
  return join(copy, 'zig');
}

/**
 * Writes programs that CMake takes for a compiler and its tools: `c++`, `ar` and `ranlib`. CMake passes no arguments
 * of its own to the latter two. Returns their paths.
 *
 * @param from - The project's folder.
 */
export function toolsFor(target, from) {
  const zig = zigProgram(from);
  const tools = join(from, 'build', 'zig', 'tools', target);
  mkdirSync(tools, { recursive: true });
  // The paths of zig's own headers in line tables. Of two maps the later one counts.
  const map = ` '-ffile-prefix-map=${dirname(zig)}=zig'`;
  const commands = { cxx: [`c++ -target ${target}`, map], ar: ['ar', ''], ranlib: ['ranlib', ''] };
  return Object.fromEntries(
    Object.entries(commands).map(([name, [command, last]]) => {
      const file = join(tools, name);
      writeFileSync(file, `#!/bin/sh\nexec '${zig}' ${command} "$@"${last}\n`);
      chmodSync(file, 0o755);
      return [name, file];
    }),
  );
}
