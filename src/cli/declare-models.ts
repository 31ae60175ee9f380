/** `tritonts types <repository>`: writes a TypeScript declaration of the models. */

import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { datatypeOf, type ModelConfig } from '../config/index.js';
import { TritonError, unavailable } from '../errors.js';
import { printable, printableLine } from '../printable.js';
import { checkOptions, parsed, repositoryHelp, repositoryOptions } from './repository-arguments.js';
import { checkRepository, type CheckedModel } from '../registry/check-repository.js';
import { thrownText } from '../thrown-text.js';

const commandOptions = {
  ...repositoryOptions,
  output: { type: 'string' },
  strict: { type: 'boolean', default: false },
} as const;

const help = `Writes the names of models, their inputs, outputs and element types as a declaration for TypeScript, so that
server.model('name') and what comes of it are typed by name.

Usage: tritonts types <repository>… [options]

Options:
  --output <file>                 write to a file, such as tritonts-models.d.ts; default: standard output
  --strict                        close the list: the name of any other model is an error of the compiler
${repositoryHelp}

The file must be one that the program's tsconfig.json includes. Where a model has several versions, the newest counts.

Exit code: 0 when every model is declared, 1 when one would not load (nothing is written), 2 for a wrong command line or
repository, or a file that cannot be written.`;

/** A name as a key of an object type. */
function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** Inputs or outputs as an object type. */
function members(
  tensors: readonly (ModelConfig['input'][number] | ModelConfig['output'][number])[],
  model: string,
): string {
  const fields = tensors.map((tensor) => {
    const datatype = datatypeOf(tensor.data_type);
    if (!datatype)
      throw new TritonError('INTERNAL', `model '${model}', tensor '${tensor.name}': no datatype`);
    const optional = 'optional' in tensor && tensor.optional ? '?' : '';
    return `${key(tensor.name)}${optional}: '${datatype}'`;
  });
  return fields.length === 0 ? 'Record<never, never>' : `{ ${fields.join('; ')} }`;
}

/**
 * The declaration of the models that would load.
 *
 * @param models - The result of `checkRepository`.
 * @param strict - Whether any other model name is a type error.
 */
export function declareModels(models: readonly CheckedModel[], strict = false): string {
  const names = models.map(({ name }) => name);
  const lines = models.flatMap(({ name, config }) =>
    // A name that several namespaces have means none of their models.
    config === undefined || names.indexOf(name) !== names.lastIndexOf(name)
      ? []
      : [
          `    ${key(name)}: {`,
          `      inputs: ${members(config.input, name)};`,
          `      outputs: ${members(config.output, name)};`,
          ...(config.model_transaction_policy?.decoupled === true ? ['      decoupled: true;'] : []),
          '    };',
        ],
  );
  return [
    "// Written by 'npx tritonts types'.",
    "import 'tritonts';",
    '',
    "declare module 'tritonts' {",
    '  interface ModelRegistry {',
    ...lines,
    '  }',
    ...(strict ? ['  interface RegistryOptions {', '    strict: true;', '  }'] : []),
    '}',
    '',
  ].join('\n');
}

/**
 * Writes the declaration to a file.
 *
 * @throws {@link TritonError} UNAVAILABLE if the file cannot be written.
 */
async function writeDeclaration(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (cause) {
    const why = thrownText(cause);
    const advice = 'name a file in a folder that is there, such as --output tritonts-models.d.ts';
    throw unavailable('SYSTEM_REFUSED', `the declaration cannot be written to '${file}': ${why}: ${advice}`, {
      cause,
    });
  }
}

/**
 * Runs the command.
 *
 * @param args - The arguments after `types`.
 * @returns The exit code.
 * @throws {@link TritonError} INVALID_ARG for a wrong command line.
 */
export async function types(args: readonly string[]): Promise<number> {
  const parse = () => parseArgs({ args: [...args], allowPositionals: true, options: commandOptions });
  const { values, positionals } = parsed(parse, args, commandOptions, help);
  if (values.help) {
    console.log(help);
    return 0;
  }
  const options = checkOptions('types', help, positionals, values);
  const models = await checkRepository(options);
  const failed = models.filter(({ ok }) => !ok);
  for (const { name, problems } of failed) {
    for (const { code, message } of problems)
      console.error(printable(`tritonts: ${printableLine(name)}: ${code}: ${message}`));
  }
  if (failed.length > 0) return 1;
  const text = printable(declareModels(models, values.strict));
  if (values.output === undefined) process.stdout.write(text);
  else await writeDeclaration(values.output, text);
  return 0;
}
