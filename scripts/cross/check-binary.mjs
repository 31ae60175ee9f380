// Checks a binary of another platform by reading it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonWith, root } from '../python-environment.mjs';
import { newestGlibc } from './targets.mjs';

const machines = { x64: 'X86_64', arm64: 'ARM64' };
const formats = { linux: 'ELF', darwin: 'MACHO', win32: 'PE' };

/** What each platform has on every machine. */
const libraries = {
  'linux-glibc': /^(lib(c|m|pthread|dl|rt)\.so\.\d|ld-linux-(x86-64\.so\.2|aarch64\.so\.1))$/,
  'linux-musl': /^libc\.so$/,
  darwin: /^\/usr\/lib\/libSystem\.B\.dylib$/,
  win32: /^(api-ms-win-crt-[a-z0-9-]+|kernel32|advapi32|ntdll)\.dll$/i,
};

/** The functions by which Node, processes of Python models and plug-ins of Triton use the binaries. */
const exported = {
  node: /^_?(napi_register_module_v1|node_api_module_get_api_version_v1)$/,
  so: /^(tritonts_[a-z]+|TRITON(SERVER|BACKEND|CACHE|REPOAGENT)_\w+)$/,
};
/** Zig cannot hide the operators of its C++ library on macOS. They call the system's allocator, as all others do. */
const operators = /^(__Z(na|nw|da|dl)\w*|___dso_handle|__mh_dylib_header)$/;

/** Throws if a file is not what the package of the platform needs. */
export function checkBinary(target, file) {
  const python = pythonWith(join(root, 'scripts', 'cross', 'requirements.txt'), 'build/zig/python');
  const output = execFileSync(python, [join(root, 'scripts', 'cross', 'describe.py'), file], {
    encoding: 'utf8',
  });
  const [{ format, machine, needs, exports, versions, oldest, signed, local }] = JSON.parse(output);
  const [os, cpu, libc = 'glibc'] = target.split('-');
  const fail = (what) => {
    throw new Error(`${file}, for ${target}: ${what}`);
  };
  if (format !== formats[os] || machine !== machines[cpu]) fail(`it is of ${format} for ${machine}`);
  const known = libraries[os === 'linux' ? `linux-${libc}` : os];
  const foreign = needs.filter((name) => !known.test(name));
  if (foreign.length > 0) fail(`it needs ${foreign.join(', ')}`);
  const names = exported[file.split('.').at(-1)];
  const more = exports.filter((name) => !names.test(name) && !(os === 'darwin' && operators.test(name)));
  if (more.length > 0) fail(`it exports ${more.length} other names: ${more.slice(0, 5).join(', ')}`);
  if (exports.length === 0) fail('it exports nothing');
  const tooNew = versions.filter(
    (version) =>
      !/^GLIBC_\d/.test(version) ||
      version.replace('GLIBC_', '').localeCompare(newestGlibc, 'en', { numeric: true }) > 0,
  );
  if (tooNew.length > 0) fail(`it needs ${tooNew.join(', ')}`);
  if (os === 'darwin') {
    if (oldest !== '13.0') fail(`it is for macOS ${oldest}`);
    if (signed === false) fail('the hashes of its signature are not those of its bytes');
    if (signed === null && cpu === 'arm64') fail("it has no signature, which Apple's processors need");
    if (local > 0) fail(`it has ${local} local symbols`);
  }
  if (readFileSync(file).includes(root)) fail('it contains a path of this machine');
}
