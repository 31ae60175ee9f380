/** Checks a commit of this project out into an ignored folder, and builds it there, once. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** This checkout; compiled, this file lies in `dist/bench/compare`. */
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** A build to compare. */
export interface Checkout {
  readonly name: string;
  /** Path of its compiled entry point. */
  readonly entry: string;
}

/** The working tree, which the caller has built. */
export function workingTree(): Checkout {
  return { name: 'working tree', entry: join(root, 'dist/src/index.js') };
}

/**
 * Checks a commit out into a worktree, installs and builds it, or finds that done.
 *
 * @param progress - Called at each step.
 * @throws An Error with the output of the step that failed.
 */
export async function checkOut(commit: string, progress: (text: string) => void): Promise<Checkout> {
  const git = async (...args: string[]): Promise<string> =>
    (await run('git', args, { cwd: root })).stdout.trim();
  const hash = await git('rev-parse', '--short=12', '--verify', `${commit}^{commit}`);
  const folder = join(root, 'build/bench-compare', hash);
  const mark = join(folder, 'build/built');
  const checkout: Checkout = {
    name: hash.startsWith(commit) ? commit : `${commit} (${hash.slice(0, 7)})`,
    entry: join(folder, 'dist/src/index.js'),
  };
  if (existsSync(mark)) return checkout;
  // Git still lists a worktree whose folder was removed.
  await git('worktree', 'prune');
  if (!existsSync(folder)) await git('worktree', 'add', '--detach', folder, hash);
  const npm = async (...args: string[]): Promise<void> => {
    progress(`${checkout.name}: npm ${args.join(' ')}`);
    try {
      await run('npm', args, { cwd: folder, maxBuffer: 2 ** 26 });
    } catch (error) {
      const { stdout } = error as { stdout?: string };
      throw new Error(
        `npm ${args.join(' ')} failed in ${folder}:\n${(stdout ?? String(error)).slice(-2000)}`,
        {
          cause: error,
        },
      );
    }
  };
  await npm('ci', '--no-audit', '--no-fund');
  await npm('run', 'build').catch((error: unknown) => {
    // The addon comes first, and the compiler writes what it can: a commit whose tests have a wrong type can still
    // be measured.
    if (!existsSync(checkout.entry)) throw error;
  });
  await writeFile(mark, '');
  return checkout;
}
