/** The commands of `npx tritonts …`, without the process around them. */

import { TritonError } from '../errors.js';
import { packageVersion } from '../version.js';
import { printable, printableLine } from '../printable.js';
import { didYouMean } from '../suggest.js';

const help = `tritonts ${packageVersion}: an inference server inside a Node.js process

Usage:
  tritonts serve --model-repository=<folder> …    serve models over the network, with tritonserver's flags
  tritonts check <repository>… [--json]           check every model as if it were loaded
  tritonts backends [--json]                      list the runtimes and devices of this machine, and what to install
  tritonts build-backend pytorch                  build what PyTorch models need, for the libtorch of this machine
  tritonts init <file> …                          make a model repository of an ONNX file, or of code
  tritonts init digits [repository]               copy an example model, and print a program that uses it
  tritonts types <repository>… [--output <file>]  declare the models to TypeScript, by name
  tritonts perf -m <model> <repository or url> …  measure a model: requests a second, latencies
  tritonts analyze <model's folder> …             search the best instances, batch sizes and threads of a model
  tritonts top [<url or socket>]                  show what a running server does: requests a second, latencies, queues
  tritonts --version
  tritonts --help

Run 'tritonts <command> --help' for a command's options.`;

/** Each command imports only what it needs. */
const commands: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  analyze: async (args) => (await import('./analyze/analyze.js')).analyze(args),
  serve: async (args) => (await import('./serve/serve.js')).serve(args),
  check: async (args) => (await import('./check.js')).check(args),
  backends: async (args) => (await import('./backends.js')).backends(args),
  'build-backend': async (args) => (await import('./build-backend.js')).buildBackend(args),
  init: async (args) => (await import('./init.js')).init(args),
  perf: async (args) => (await import('./perf/perf.js')).perf(args),
  top: async (args) => (await import('./top/top.js')).top(args),
  types: async (args) => (await import('./declare-models.js')).types(args),
};

async function run(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case '--version':
    case '-v':
      console.log(packageVersion);
      return 0;
    case 'help':
      if (rest[0] !== undefined) return run([rest[0], '--help']);
      console.log(help);
      return 0;
    case '--help':
    case '-h':
      console.log(help);
      return 0;
    case undefined:
      console.error(help);
      return 2;
    default: {
      const known = Object.hasOwn(commands, command) ? commands[command] : undefined;
      if (known !== undefined) return known(rest);
      const meant = didYouMean(command, [...Object.keys(commands), 'help', '--help', '--version']);
      console.error(`tritonts: unknown command '${printableLine(command)}'${meant}\n\n${help}`);
      return 2;
    }
  }
}

/** Runs a command line, without the program's name. Returns the exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    return await run(args);
  } catch (error) {
    const text = error instanceof TritonError ? `${error.code}: ${error.message}` : String(error);
    console.error(printable(`tritonts: ${text}`));
    return 2;
  }
}
