// The common part of the commands test, bench and demo: each is a table of programs, and the first argument selects one.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { pythonWith } from './python-environment.mjs';
import { quietly } from './quietly.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Builds the parts that a program needs, and runs it with the rest of the arguments.
 *
 * A program has
 *   does     a description in a line
 *   options  the options and arguments after its name, for the usage
 *   first    programs that run before it; if one fails, nothing follows
 *   run      a file and the arguments that precede the others; '{folder}' is a new folder that is removed at the end
 *   then     further programs, which run afterwards whether or not it succeeds
 *   numbers  options with a number, passed to all programs as environment variables, and in arguments in place of
 *            '{option}': by name, the variable and its default. Without a default the number comes from the clock.
 *   python   a requirements file, or several ones, and the ignored folder of a Python environment with them, which is
 *            created first; it runs the files that end in '.py'
 *   asks     environment variables whose values that Python prints: by name, the statements
 *   node     options of Node
 *   builds   the parts of the build that it needs (default: all)
 *
 * The program named '' runs if the first argument names no program.
 *
 * @param progress - A build of all parts shows one line, and its output only if it fails.
 */
export async function launch(command, programs, { progress = false } = {}) {
  const args = process.argv.slice(2);
  const [first = ''] = args;
  const name = first.startsWith('-') || first.includes('/') ? '' : first;
  if (!Object.hasOwn(programs, name)) {
    const names = Object.keys(programs).filter((known) => known !== '');
    console.error(
      `'${name}' is none of ${names.join(', ')}; '${command} -- --help' describes them. ` +
        `A part of a path has a '/', as '${name}/' or '/${name}'.`,
    );
    process.exitCode = 2;
    return;
  }
  if (args.includes('--help')) {
    console.log(help(command, name === '' ? programs : { [name]: programs[name] }));
    return;
  }
  const {
    first: before = [],
    run,
    then = [],
    node = [],
    builds,
    numbers = {},
    python,
    asks = {},
  } = programs[name];
  const built =
    progress && builds === undefined
      ? await quietly('Building', process.execPath, [join(root, 'scripts', 'build.mjs')])
      : build(builds);
  if (!built) {
    process.exitCode = 1;
    return;
  }
  const rest = name === '' ? args : args.slice(1);
  const values = readNumbers(numbers, rest);
  if (values === undefined) return;
  const interpreter =
    python &&
    pythonWith(
      [python[0]].flat().map((file) => join(root, file)),
      python[1],
    );
  const env = { ...process.env };
  for (const [option, [variable]] of Object.entries(numbers)) env[variable] = values[option];
  for (const [variable, statements] of Object.entries(asks))
    env[variable] = execFileSync(interpreter, ['-c', statements], { encoding: 'utf8' }).trim();
  const steps = [...before, run, ...then];
  if (steps.flat().includes('{folder}')) {
    const folder = mkdtempSync(join(tmpdir(), 'tritonts-'));
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
    values.folder = folder;
  }
  for (const [at, [file, ...always]] of steps.entries()) {
    const filled = always.map((one) => one.replace(/^\{(\w+)\}$/, (_, option) => values[option]));
    const more = at < before.length || Object.keys(numbers).length > 0 ? [] : rest;
    const [program, options] = file.endsWith('.py') ? [interpreter, []] : [process.execPath, node];
    const result = spawnSync(program, [...options, join(root, file), ...filled, ...more], {
      ...{ cwd: root, stdio: 'inherit', env },
    });
    if (result.error) throw result.error;
    process.exitCode ||= result.status ?? 1;
    if (at < before.length && process.exitCode !== 0) return;
  }
}

/** The values of options with a number; undefined, after a message, if an option is invalid. */
function readNumbers(numbers, args) {
  const names = Object.keys(numbers);
  if (names.length === 0) return {};
  try {
    const options = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    const { values } = parseArgs({ args, options });
    return Object.fromEntries(
      names.map((name) => {
        const value = values[name] ?? numbers[name][1] ?? String(Date.now() % 2 ** 31);
        if (!Number.isSafeInteger(Number(value)) || Number(value) < (name === 'seed' ? 0 : 1))
          throw new RangeError(`--${name}: expected a whole number, above 0, but received '${value}'`);
        return [name, value];
      }),
    );
  } catch (error) {
    console.error(error.message);
    process.exitCode = 2;
    return undefined;
  }
}

function help(command, programs) {
  const lines = Object.entries(programs).flatMap(([name, { does, options = '' }]) => {
    const words = [name, options].filter((word) => word !== '');
    return [[command, ...(words.length > 0 ? ['--'] : []), ...words].join(' '), `    ${does}`];
  });
  if ('' in programs)
    lines.push('', "The first word is a name unless it begins with '-' or has a '/' in it.");
  return lines.join('\n');
}
