// What the commands test and bench share: each is a table of programs, one of which the first word chooses.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Builds what a program needs, and runs it with the rest of the arguments.
 *
 * A program has
 *   does     what it does, in a line
 *   options  what may follow its name
 *   run      a file and the arguments that always precede the others
 *   node     options of Node
 *   builds   the parts of the build that it needs; all of them where this is left out
 *
 * The program named '' is run where the first word names none.
 */
export function launch(command, programs, args = process.argv.slice(2)) {
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
  const { run, node = [], builds } = programs[name];
  const [file, ...always] = run;
  if (!build(builds)) {
    process.exitCode = 1;
    return;
  }
  const rest = name === '' ? args : args.slice(1);
  const result = spawnSync(process.execPath, [...node, join(root, file), ...always, ...rest], {
    cwd: root,
    stdio: 'inherit',
  });
  if (result.error) throw result.error;
  process.exitCode = result.status ?? 1;
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
