/** Models in Python for tests, and the Python that runs them. */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Datatype, InferenceServer, ServerOptions } from '../../src/index.js';
import { configText, serve, type ConfigOptions, type Context } from '../support/harness.js';
import type { Files, RepositoryModel } from '../support/repository.js';

/** The Python of the environment that `npm test -- python` creates. */
const made = fileURLToPath(new URL('../../../.venv-python/bin/python', import.meta.url));

/** The Python of the tests, which has numpy. */
export const python: string = existsSync(made) ? made : 'python3';

/** The reason to skip tests that need Python; false: none. */
export const skip: string | false = ((): string | false => {
  if (process.platform !== 'linux') return 'Python models run on Linux alone';
  try {
    execFileSync(python, ['-c', 'import numpy, sys; sys.exit(sys.version_info < (3, 8))'], {
      stdio: 'ignore',
    });
    return false;
  } catch {
    return 'there is no Python 3.8 with numpy: npm test -- python makes one';
  }
})();
if (skip !== false) console.error(`skipped: ${skip}`);

const head = `import json
import os
import sys
import time
import threading
import triton_python_backend_utils as pb_utils

def tensor(request, name="x"):
    return pb_utils.get_input_tensor_by_name(request, name)

def array(request, name="x"):
    return tensor(request, name).as_numpy()

def answer(value, name="y"):
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, value)])

class TritonPythonModel:
`;

/** A Python model whose class has this text, indented or not; by default FP32 [N, 16] in and out. */
export function script(text: string, options: ConfigOptions = {}, files: Files = {}): RepositoryModel {
  const body = text
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
  return {
    config: configText({ ...options, backend: 'python' }),
    versions: { '1': { 'model.py': `${head}${body}\n`, ...files } },
  };
}

/** A file as a model. */
export function file(text: string, options: ConfigOptions = {}): RepositoryModel {
  return { config: configText({ ...options, backend: 'python' }), versions: { '1': { 'model.py': text } } };
}

/** The model that adds 1. */
export const adds = `def execute(self, requests):
    return [answer(array(request) + 1) for request in requests]`;

/** A server of these models with the tests' Python. */
export function serving(
  context: Context,
  models: Readonly<Record<string, RepositoryModel>>,
  options: Omit<ServerOptions, 'modelRepository'> = {},
): Promise<InferenceServer> {
  return serve(context, models, withPython(options));
}

/** Options with the tests' Python. */
export function withPython<T extends Omit<ServerOptions, 'modelRepository'>>(options: T): T {
  const { backendConfig = {} } = options;
  return {
    ...options,
    backendConfig: { ...backendConfig, python: { executable: python, ...backendConfig['python'] } },
  };
}

/** A logger that records its messages with their levels. */
export function recorded(): { logger: NonNullable<ServerOptions['logger']>; lines: string[] } {
  const lines: string[] = [];
  const at =
    (level: string) =>
    (message: string): void => {
      lines.push(`${level}: ${message}`);
    };
  return {
    logger: { error: at('error'), warn: at('warn'), info: at('info'), verbose: at('verbose') },
    lines,
  };
}

/** Values of each datatype that numpy has, with the smallest and the largest. */
export const values: Readonly<Record<Exclude<Datatype, 'BF16'>, readonly unknown[]>> = {
  BOOL: [true, false, true],
  UINT8: [0, 1, 255],
  UINT16: [0, 1, 65_535],
  UINT32: [0, 1, 4_294_967_295],
  UINT64: [0n, 1n, 2n ** 64n - 1n],
  INT8: [-128, 0, 127],
  INT16: [-32_768, 0, 32_767],
  INT32: [-(2 ** 31), 0, 2 ** 31 - 1],
  INT64: [-(2n ** 63n), 0n, 2n ** 63n - 1n],
  FP16: [-1.5, 0, 65_504],
  FP32: [-1.5, 0, 1.25],
  FP64: [-1e300, 0, 1e-300],
  BYTES: ['', 'ü', 'a\0b'],
};
