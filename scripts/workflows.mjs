// Checks the workflows in .github/: actionlint reads them, and what their commands name must be there.
//
//   npm test -- workflows
//
// actionlint comes from the Go module proxy, into build/bin. Without Go that part is skipped, which is said.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { targets } from './cross/targets.mjs';
import { root } from './python-environment.mjs';

const version = 'v1.7.12';
const folder = join(root, '.github', 'workflows');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Programs of the machines that the workflows run on. */
const programs = new Set(['apt-get', 'bash', 'node', 'npm', 'tar', 'test', 'xargs']);

/** What a command such as `npm test` runs by name, as its --help says. */
function namesOf(script) {
  const [file] = /scripts\/\S+\.mjs/.exec(scripts[script]);
  const help = execFileSync(process.execPath, [join(root, file), '--help'], { encoding: 'utf8' });
  return [...help.matchAll(/^npm [a-z ]+ -- ([a-z][a-z-]*)/gm)].map(([, name]) => name);
}

function faultOfNpm(args) {
  const [first, ...others] = args.filter((word) => !/^-./.test(word) || word === '--');
  if (first !== 'run' && first !== 'test') return undefined;
  const [script, ...rest] = first === 'run' ? others : ['test', ...others];
  if (!Object.hasOwn(scripts, script)) return `package.json has no script '${script}'`;
  const [dashes, name] = rest;
  const isNamed = dashes === '--' && name !== undefined && !name.includes('/');
  if (!isNamed || (script !== 'test' && script !== 'bench')) return undefined;
  return namesOf(script).includes(name) ? undefined : `npm ${script} knows no '${name}'`;
}

/** Why a command cannot be run in the repository; undefined: it can. */
export function faultOf(command) {
  const words = command.split(/\s+/);
  const [program, ...args] = words[0] === 'sudo' ? words.slice(1) : words;
  if (!programs.has(program)) return `no program '${program}' is known here`;
  if (program === 'npm') return faultOfNpm(args);
  const [file] = args;
  if (program === 'bash' || (program === 'node' && /\.[cm]?js$/.test(file)))
    return existsSync(join(root, file)) ? undefined : `there is no ${file}`;
  return undefined;
}

/** What is wrong with the commands and platforms of a workflow, a line each. */
export function faultsOf(text) {
  return Object.entries(parse(text).jobs).flatMap(([job, { steps, strategy }]) => {
    const commands = steps
      .flatMap(({ run = '' }) => run.split(/\n|&&/))
      .map((command) => command.trim())
      .filter((command) => command !== '');
    const foreign = (strategy?.matrix?.include ?? [])
      .map(({ target }) => target)
      .filter((target) => target !== undefined && !Object.hasOwn(targets, target));
    return [
      ...commands
        .map((command) => [command, faultOf(command)])
        .filter(([, fault]) => fault !== undefined)
        .map(([command, fault]) => `${job}: ${command}: ${fault}`),
      ...foreign.map((target) => `${job}: no package is for ${target}`),
    ];
  });
}

/** Has actionlint read the workflows. Returns why it could not be had; undefined: they are sound. Throws if they are not. */
function lint(files) {
  if (spawnSync('go', ['version'], { stdio: 'ignore' }).status !== 0) return 'actionlint needs Go';
  const bin = join(root, 'build', 'bin');
  mkdirSync(bin, { recursive: true });
  // Only modules are downloaded: no other Go toolchain, and no C compiler is used.
  const env = { ...process.env, GOBIN: bin, CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod' };
  const { status } = spawnSync('go', ['install', `github.com/rhysd/actionlint/cmd/actionlint@${version}`], {
    ...{ env, stdio: ['ignore', 2, 2] },
  });
  if (status !== 0) return `go install of actionlint ${version} ended with ${status}`;
  execFileSync(join(bin, 'actionlint'), files, { stdio: ['ignore', 2, 2] });
  return undefined;
}

if (process.argv[1] === import.meta.filename) {
  const files = readdirSync(folder).map((name) => join(folder, name));
  const faults = files.flatMap((file) =>
    faultsOf(readFileSync(file, 'utf8')).map((fault) => `${file}: ${fault}`),
  );
  for (const fault of faults) console.error(fault);
  console.log(`${files.length} workflows: ${faults.length === 0 ? 'their commands are there' : 'failed'}`);
  const why = lint(files);
  console.log(why === undefined ? `actionlint ${version}: passed` : `skipped: actionlint: ${why}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
