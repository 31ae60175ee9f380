/** `tritonts build-backend`: builds what a backend needs of this machine. */

import { parseArgs } from 'node:util';
import { buildShim } from '../backends/pytorch/build.js';
import { invalidArgument } from '../errors.js';
import { printableLine } from '../printable.js';
import { parsed } from './repository-arguments.js';

const commandOptions = {
  torch: { type: 'string' },
  compiler: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const help = `Builds the shim through which PyTorch models run: one C++ file of this package, compiled against the libtorch of this
machine. It takes some 15 seconds, and is needed again when libtorch or tritonts changes. It is kept in the folder of the
environment variable TRITONTS_CACHE, or else in tritonts in the user's folder of caches.

Usage: tritonts build-backend pytorch [options]

Options:
  --torch <path>      libtorch: the folder that has lib and include, such as site-packages/torch, or the library itself
                      (default: where models find it; see 'tritonts backends')
  --compiler <path>   the C++ compiler (default: the environment's CXX, or c++)
  --help

Exit code: 0 if the shim is there; 2 if it could not be built, or for a wrong command line.`;

/**
 * Runs the command.
 *
 * @param args - The arguments after `build-backend`.
 * @returns The exit code.
 * @throws {@link TritonError} INVALID_ARG for a wrong command line; otherwise as {@link buildShim}.
 */
export function buildBackend(args: readonly string[]): Promise<number> {
  const parse = () => parseArgs({ args: [...args], options: commandOptions, allowPositionals: true });
  const { values, positionals } = parsed(parse, args, commandOptions, help);
  if (values.help) {
    console.log(help);
    return Promise.resolve(0);
  }
  const [name, ...others] = positionals;
  if (name !== 'pytorch' || others.length > 0) {
    const received = positionals.length === 0 ? 'nothing' : `'${positionals.join(' ')}'`;
    throw invalidArgument(
      `expected the name of a backend that is built, pytorch, but received ${received}\n\n${help}`,
    );
  }
  const { path, shim, wasThere } = buildShim({ torch: values.torch, compiler: values.compiler });
  const fact = wasThere ? 'is there already' : 'was built';
  console.log(
    `The shim for libtorch ${printableLine(shim.version)} (${printableLine(shim.library)}) ${fact}:`,
  );
  console.log(path);
  return Promise.resolve(0);
}
