/** The command-line options that all commands for repositories share. */

import { parseArgs, type ParseArgsConfig } from 'node:util';
import { invalidArgument } from '../errors.js';
import type { ServerOptions } from '../options.js';
import { didYouMean } from '../suggest.js';
import { thrownText } from '../thrown-text.js';

/** The options of all such commands, for `parseArgs`. */
export const repositoryOptions = {
  'disable-auto-complete-config': { type: 'boolean', default: false },
  'model-namespacing': { type: 'boolean', default: false },
  'instance-kind': { type: 'string' },
  library: { type: 'string' },
  'trusted-folder': { type: 'string', multiple: true },
  'outside-links': { type: 'boolean', default: false },
  'backend-directory': { type: 'string' },
  'repoagent-directory': { type: 'string' },
  'repository-cache-directory': { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** The lines of these options in a command's help. */
export const repositoryHelp = `  --disable-auto-complete-config  complete nothing from the model's file (as Triton's flag)
  --model-namespacing             let models of different repositories have the same name (as Triton's flag)
  --instance-kind cpu             take KIND_GPU models on the CPU
  --library <file>                an ONNX Runtime library to use instead of that of onnxruntime-node
  --trusted-folder <folder>       the server's trustedFolders; may be given several times
  --outside-links                 the server's outsideLinks: links may lead out of a repository
  --backend-directory <folder>    the server's backendDirectory (as Triton's flag)
  --repoagent-directory <folder>  the server's repositoryAgentDirectory (as Triton's flag)
  --repository-cache-directory <folder>
                                  the server's repositoryCacheDirectory, for s3://, gs:// and as://
  --help`;

/** Values of {@link repositoryOptions}. */
interface RepositoryValues {
  readonly 'disable-auto-complete-config': boolean;
  readonly 'model-namespacing': boolean;
  readonly 'instance-kind'?: string | undefined;
  readonly library?: string | undefined;
  readonly 'trusted-folder'?: readonly string[] | undefined;
  readonly 'outside-links': boolean;
  readonly 'backend-directory'?: string | undefined;
  readonly 'repoagent-directory'?: string | undefined;
  readonly 'repository-cache-directory'?: string | undefined;
}

/**
 * Parses a command line.
 *
 * @param parse - Calls `parseArgs`.
 * @param args - The arguments that it parses.
 * @param options - The known options.
 * @param help - The command's help, which is appended to the error.
 * @throws {@link TritonError} INVALID_ARG for an unknown option, or an option without its value.
 */
export function parsed<T>(
  parse: () => T,
  args: readonly string[],
  options: NonNullable<ParseArgsConfig['options']>,
  help: string,
): T {
  try {
    return parse();
  } catch (error) {
    const text = unknownOption(args, options) ?? optionFault(error);
    throw invalidArgument(`${text}\n\n${help}`, { cause: error });
  }
}

/** The message for an option whose value is missing, or should be. */
function optionFault(error: unknown): string {
  const text = thrownText(error);
  const [, name, lacks] =
    /^Option '(?:-\w, )?(--[\w-]+)[^']*' (argument missing|argument is ambiguous)?/.exec(text) ?? [];
  if (name === undefined) return text;
  return lacks === undefined ? `${name} takes no value` : `${name} needs a value`;
}

/** The message for the first unknown option; undefined if all are known. */
function unknownOption(
  args: readonly string[],
  options: NonNullable<ParseArgsConfig['options']>,
): string | undefined {
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== 'option' || token.name in options) continue;
    const names = Object.keys(options).map((name) => `--${name}`);
    return `unknown option ${token.rawName}${didYouMean(token.rawName, names)}`;
  }
  return undefined;
}

/**
 * The server options for checking the given repositories.
 *
 * @param command - The command's name, for the error.
 * @throws {@link TritonError} INVALID_ARG if there is no repository, or for an instance kind other than `cpu`.
 */
export function checkOptions(
  command: string,
  help: string,
  repositories: readonly string[],
  values: RepositoryValues,
): ServerOptions {
  if (repositories.length === 0) throw invalidArgument(`${command} needs a repository\n\n${help}`);
  const kind = values['instance-kind'];
  if (kind !== undefined && kind !== 'cpu') {
    throw invalidArgument(`expected 'cpu' for --instance-kind but received '${kind}'`);
  }
  return {
    modelRepository: repositories,
    autoCompleteConfig: !values['disable-auto-complete-config'],
    modelNamespacing: values['model-namespacing'],
    instanceKind: kind,
    trustedFolders: values['trusted-folder'] ?? [],
    outsideLinks: values['outside-links'],
    backendDirectory: values['backend-directory'],
    repositoryAgentDirectory: values['repoagent-directory'],
    repositoryCacheDirectory: values['repository-cache-directory'],
    ...(values.library === undefined ? {} : { backendConfig: { onnxruntime: { library: values.library } } }),
  };
}
