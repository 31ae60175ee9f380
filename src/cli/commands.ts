/** The commands of `npx tritonts …`, without the process around them. */

import { TritonError } from '../errors.js';
import { packageVersion } from '../version.js';
import { printable, printableLine } from '../printable.js';

const help = `tritonts ${packageVersion}: an inference server inside a Node.js process

Usage:
  tritonts serve --model-repository=<folder> …    serve models over the network, with tritonserver's flags
  tritonts check <repository>… [--json]           check every model of a repository as loading it would
  tritonts backends [--json]                      list the runtimes and devices of this machine, and what to install
  tritonts init digits [repository]               copy an example model, and print a program that uses it
  tritonts types <repository>… [--output <file>]  declare the models to TypeScript, by name
  tritonts --version
  tritonts --help

Run 'tritonts <command> --help' for a command's options.`;

async function run(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    // A command loads what it needs, and nothing of the others.
    case 'serve':
      return (await import('./serve/serve.js')).serve(rest);
    case 'check':
      return (await import('./check.js')).check(rest);
    case 'backends':
      return (await import('./backends.js')).backends(rest);
    case 'init':
      return (await import('./init.js')).init(rest);
    case 'types':
      return (await import('./declare-models.js')).types(rest);
    case '--version':
    case '-v':
      console.log(packageVersion);
      return 0;
    case '--help':
    case '-h':
    case 'help':
      console.log(help);
      return 0;
    case undefined:
      console.error(help);
      return 2;
    default:
      console.error(`tritonts: unknown command '${printableLine(command)}'\n\n${help}`);
      return 2;
  }
}

/** Runs a command line, without the name of the program. Returns the exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    return await run(args);
  } catch (error) {
    const text = error instanceof TritonError ? `${error.code}: ${error.message}` : String(error);
    console.error(printable(`tritonts: ${text}`));
    return 2;
  }
}
