/** Whether this machine has libtorch, and a compiler for its shim. If so, the shim is built. And whether it has Python's torch. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildShim } from '../../src/backends/pytorch/build.js';
import { findTorch } from '../../src/backends/pytorch/in-python.js';
import { torchLibrary } from '../../src/backends/pytorch/library.js';
import { TritonError } from '../../src/index.js';
import { root } from './project.js';

/** Why no model of PyTorch can run; undefined if one can. */
function missing(): string | undefined {
  try {
    buildShim({});
    return undefined;
  } catch (error) {
    // A shim that does not compile is a fault, and not a lack.
    if (error instanceof TritonError && error.code === 'UNAVAILABLE') return error.message;
    throw error;
  }
}

const lack = missing();

/** Whether models of PyTorch can run. */
export const hasPyTorch: boolean = lack === undefined;

/** Options of tests that need libtorch. */
export const needsPyTorch: { readonly skip: string | false } = { skip: lack ?? false };

/** The Python that `npm test -- pytorch` makes; undefined: it was not run. */
const made = [join(root, '.venv-torch', 'bin', 'python')].find((path) => existsSync(path));

function library(): string | undefined {
  try {
    return torchLibrary({});
  } catch (error) {
    if (error instanceof TritonError) return undefined;
    throw error;
  }
}

const python = await findTorch(made === undefined ? {} : { executable: made }, library());

/** The Python that has torch; undefined: there is none. */
export const torchPython: string | undefined = typeof python === 'string' ? undefined : python.executable;

/** Whether a server without options runs models of PyTorch: with libtorch, or with the torch of the Python in PATH. */
export const runsPyTorch: boolean = hasPyTorch || typeof (await findTorch({}, library())) !== 'string';

/** Options of tests that need Python's torch. */
export const needsTorchPython: { readonly skip: string | false } = {
  skip: typeof python === 'string' && python,
};
