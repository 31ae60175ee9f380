/** The library of custom operators for tests, compiled on demand, and models that use it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { graph } from './onnx/graph.js';
import { skipBefore } from './runtime.js';

const domain = 'tritonts.test';
const run = promisify(execFile);

/** The source, seen from the compiled file of this one. */
const source = fileURLToPath(new URL('../../../test/support/custom-ops/test_ops.cc', import.meta.url));

/**
 * Compiles the library into a folder.
 *
 * @returns Its path, or why there is none: no C++ compiler, or an ONNX Runtime that is too old for it.
 * @throws If the compiler refuses the source.
 */
export async function buildCustomOps(
  folder: string,
): Promise<{ readonly path: string } | { readonly reason: string }> {
  const old = skipBefore(24, 'the operators for tests');
  if (old !== false) return { reason: old };
  const compiler = process.env['CXX'] ?? 'g++';
  try {
    await run(compiler, ['--version']);
  } catch (error) {
    return { reason: `no C++ compiler: ${error instanceof Error ? error.message : String(error)}` };
  }
  const path = join(folder, 'libtest_ops.so');
  await run(compiler, ['-std=c++17', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', path, source]);
  return { path };
}

/** A model y = 3 x: FP32 [N, 4]. */
export function tripleModel(): Uint8Array {
  return graph('triple')
    .input('x', 'FP32', ['N', 4])
    .customNode(domain, 'Triple', ['x'], ['y'])
    .output('y', 'FP32', ['N', 4])
    .encode();
}

/**
 * A model whose output `lines` is a kernel's report about its session. That kernel ends a chain of operators whose
 * results all live at once: FP32 x [1, W] to BYTES [lines]. See the operator Report in custom-ops/test_ops.cc.
 */
export function reportModel(): Uint8Array {
  const model = graph('report').input('x', 'FP32', [1, 'W']);
  const parts = ['x'];
  for (let i = 1; i < 8; i++) {
    const part = `part_${i}`;
    model.node('Sin', parts.slice(-1), [part]);
    parts.push(part);
  }
  return model
    .node('Concat', parts, ['all'], { axis: 1 })
    .customNode(domain, 'Report', ['all'], ['lines'])
    .output('lines', 'BYTES', ['lines'])
    .encode();
}
