// The platforms that the package has a binary for, named as Node names them, and how zig and CMake name them.

/** The newest glibc whose symbols a published binary may need: that of onnxruntime-node. */
export const newestGlibc = '2.28';

/** The version of macOS is the oldest that the binary runs on. */
export const targets = {
  'linux-x64': { zig: `x86_64-linux-gnu.${newestGlibc}`, system: 'Linux', processor: 'x86_64' },
  'linux-arm64': { zig: `aarch64-linux-gnu.${newestGlibc}`, system: 'Linux', processor: 'aarch64' },
  'linux-x64-musl': { zig: 'x86_64-linux-musl', system: 'Linux', processor: 'x86_64' },
  'linux-arm64-musl': { zig: 'aarch64-linux-musl', system: 'Linux', processor: 'aarch64' },
  'darwin-x64': { zig: 'x86_64-macos.13.0', system: 'Darwin', processor: 'x86_64' },
  'darwin-arm64': { zig: 'aarch64-macos.13.0', system: 'Darwin', processor: 'arm64' },
  'win32-x64': { zig: 'x86_64-windows-gnu', system: 'Windows', processor: 'AMD64' },
  'win32-arm64': { zig: 'aarch64-windows-gnu', system: 'Windows', processor: 'ARM64' },
};

/** The fields of a platform's package that say where npm installs it. */
export function placeOf(target) {
  const [os, cpu, libc] = target.split('-');
  return { os: [os], cpu: [cpu], ...(os === 'linux' ? { libc: [libc ?? 'glibc'] } : {}) };
}

/**
 * The files of a platform's binary: the addon and, on Linux only, what processes of Python models load and what plug-ins of
 * Triton need.
 */
export function filesOf(target) {
  return target.startsWith('linux-')
    ? ['tritonts.node', 'tritonts_python.so', 'libtritonserver.so']
    : ['tritonts.node'];
}
