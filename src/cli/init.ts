/** `tritonts init digits`: writes a model repository to try things with. */

import { cp, lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { invalidArgument, TritonError } from '../errors.js';

const help = `Copies an example model into a model repository, and prints a program that uses it.

Usage: tritonts init <example> [repository]

Examples:
  digits    tells which digit an image of 8 × 8 pixels shows; 39 kB

The repository is a folder, by default ./models; it is made where there is none. A model of that name that is there
already is left as it is.

Options:
  --help

Exit code: 0 when the model was copied, 2 for a wrong command line or a model that is there already.`;

/** The folder of an example's model, in the package as in the repository. This file is in dist/src/cli. */
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
const scores = outputs.scores.data; // how likely each digit is
console.log('The image shows a', scores.indexOf(Math.max(...scores)));
await server.close();
`;
}

/**
 * Runs the command.
 *
 * @param args - What comes after `init`.
 * @returns The exit code.
 * @throws {@link TritonError} INVALID_ARG for a wrong command line, ALREADY_EXISTS for a model that is there already.
 */
export async function init(args: readonly string[]): Promise<number> {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h', default: false } },
    });
  } catch (error) {
    throw invalidArgument(`${error instanceof Error ? error.message : String(error)}\n\n${help}`, {
      cause: error,
    });
  }
  if (parsed.values.help) {
    console.log(help);
    return 0;
  }
  const [example, repository = './models', ...more] = parsed.positionals;
  if (example === undefined) throw invalidArgument(`init needs the name of an example\n\n${help}`);
  if (example !== 'digits') throw invalidArgument(`unknown example '${example}'\n\n${help}`);
  if (more.length > 0) throw invalidArgument(`init takes one repository, not '${more.join("', '")}', too`);
  const folder = join(repository, 'digits');
  // A dangling link counts as existing, too.
  const there = await lstat(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (there) throw new TritonError('ALREADY_EXISTS', `'${folder}' is there already; it was left as it is`);
  await mkdir(repository, { recursive: true });
  await cp(fileURLToPath(digits), folder, { recursive: true, errorOnExist: true, force: false });
  console.log(`Wrote ${join(folder, 'config.pbtxt')} and ${join(folder, '1', 'model.onnx')}.

Next, put this into digits.mjs:

${digitsProgram(repository).trimEnd()}

and run it:

  npm install tritonts onnxruntime-node
  node digits.mjs

digits/config.pbtxt says what the model takes and answers. A model of yours goes into a folder beside it.`);
  return 0;
}
