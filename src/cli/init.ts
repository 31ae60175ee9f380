/** `tritonts init`: puts an example, or the user's own model, into a model repository. */

import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { invalidArgument } from '../errors.js';
import { printable } from '../printable.js';
import { isOtherAddress, isStoreAddress, shownAddress } from '../registry/sources/store/store-place.js';
import { didYouMean } from '../suggest.js';
import {
  exampleRequest,
  initModel,
  kindOf,
  modelEndings,
  refuseExisting,
  type WrittenModel,
} from './init-model.js';
import { parsed } from './repository-arguments.js';
import { tensorLines } from './tensor-lines.js';

const commandOptions = {
  name: { type: 'string' },
  labels: { type: 'string' },
  repository: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const help = `Makes a model of a repository: of a model's file, or of the example 'digits'. It prints what to do next.

Usage: tritonts init <file> [more files] [options]
       tritonts init digits [repository]

What the file may be:
  .onnx                    for ONNX Runtime; files that hold its weights come after it
  .plan, .engine           for TensorRT
  .js, .mjs, .cjs, .ts     a model in JavaScript or TypeScript
  .py                      a model in Python; modules that it imports come after it

It is copied to <repository>/<name>/1/, with a config.pbtxt of what the file says of its inputs and outputs. A model of that
name that is there already is left as it is.

Options:
  --repository <folder>    where the model goes (default: ./models); it is made where there is none
  --name <name>            the model's name (default: the file's)
  --labels <file>          names of the first output's classes, one a line
  --help

Exit code: 0 when the model was made, 2 for a wrong command line, a model that is there already, or a file that would not
load.`;

/**
 * The folder of the example's model; the path is the same in the package and in the repository. This file is in
 * dist/src/cli.
 */
const digits = new URL('../../../examples/digits/models/digits/', import.meta.url);

/** Text as a JavaScript string in single quotes. */
function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/**
 * A program that uses the model `digits`.
 *
 * @param repository - The model repository's path, as the program names it.
 */
export function digitsProgram(repository: string): string {
  return `import { createServer } from 'tritonts';

const server = await createServer(${quoted(repository)});
const drawn = '002dg90000cc7g3001e30g400004ag60000dgg900005d100000b9000001g4000';
const image = Float32Array.from(drawn, (pixel) => Number.parseInt(pixel, 17)); // 8 × 8, from 0 (white) to 16 (black)

const { outputs } = await server.infer('digits', { image });
const [digit] = outputs.scores.argMax(); // the place of the largest score of each row
console.log('The image shows a', digit);
await server.close();
`;
}

/** Copies the example. */
async function initDigits(repository: string): Promise<void> {
  const folder = join(repository, 'digits');
  await refuseExisting(folder);
  await mkdir(repository, { recursive: true });
  await cp(fileURLToPath(digits), folder, { recursive: true, errorOnExist: true, force: false });
  console.log(`Wrote ${join(folder, 'config.pbtxt')} and ${join(folder, '1', 'model.onnx')}.

Next, put this into digits.mjs:

${digitsProgram(repository).trimEnd()}

and run it:

  npm install tritonts onnxruntime-node
  node digits.mjs

digits/config.pbtxt says what the model takes and answers. 'npx tritonts init my.onnx' puts a model of yours beside it.`);
}

/** @throws {@link TritonError} INVALID_ARG for an address: files are written here. */
function checkFolder(repository: string): void {
  if (isStoreAddress(repository) || isOtherAddress(repository)) {
    throw invalidArgument(
      `expected a folder as the repository but received ${shownAddress(repository)}: make the model in a folder, and copy the folder to the store`,
    );
  }
}

/** Quotes a word for a shell's command line. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Prints the written files, the result of the check, and the next steps. */
function printModel(repository: string, { name, written, checked }: WrittenModel): void {
  console.log(printable(`Wrote ${written.join(', ')}.\n`));
  const config = checked?.config;
  for (const line of config === undefined ? [] : tensorLines(config)) console.log(`  ${printable(line)}`);
  for (const { code, message } of checked?.problems ?? [])
    console.log(printable(`It would not load yet: ${code}: ${message}`));
  const folder = shellWord(repository);
  const request = config === undefined ? undefined : exampleRequest(config);
  const infer = `localhost:8000/v2/models/${encodeURIComponent(name)}/infer`;
  console.log(
    printable(`
Next:

  npx tritonts check ${folder}
  npx tritonts serve --model-repository=${folder}
${request === undefined ? '' : `  curl -fsS ${infer} -d ${shellWord(request)}\n`}
or in a program:

  import { createServer } from 'tritonts';

  const server = await createServer(${quoted(repository)});
  console.log(server.model(${quoted(name)}).metadata); // what infer() takes and answers`),
  );
}

/**
 * Runs the command.
 *
 * @param args - The arguments after `init`.
 * @returns The exit code.
 * @throws {@link TritonError} INVALID_ARG for a wrong command line, ALREADY_EXISTS if the model exists, and the
 *   errors of {@link initModel}.
 */
export async function init(args: readonly string[]): Promise<number> {
  const parse = () => parseArgs({ args: [...args], allowPositionals: true, options: commandOptions });
  const { values, positionals } = parsed(parse, args, commandOptions, help);
  if (values.help) {
    console.log(help);
    return 0;
  }
  const [first, ...more] = positionals;
  if (first === undefined)
    throw invalidArgument(`init needs a model's file, or the name of an example\n\n${help}`);
  const { repository, name, labels } = values;
  if (first === 'digits') {
    if (name !== undefined || labels !== undefined)
      throw invalidArgument('--name and --labels go with a file, not with an example');
    const [folder = repository ?? './models', ...rest] = more;
    if (rest.length > 0 || (more.length > 0 && repository !== undefined)) {
      const too = repository === undefined ? rest : more;
      throw invalidArgument(`init takes one repository, but received '${too.join("', '")}' too`);
    }
    checkFolder(folder);
    await initDigits(folder);
    return 0;
  }
  if (kindOf(first) === undefined) {
    const meant = /[./\\]/.test(first) ? '' : didYouMean(first, ['digits']);
    throw invalidArgument(
      `expected the example digits, or a file that ends in ${modelEndings.join(', ')}, but received '${first}'${meant}\n\n${help}`,
    );
  }
  const into = repository ?? './models';
  checkFolder(into);
  printModel(into, await initModel({ files: [first, ...more], repository: into, name, labels }));
  return 0;
}
