/** The Python environments of examples, which `npm run demo` creates. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './project.js';

function folderOf(example: string): string {
  return join(root, `.venv-${example}`);
}

/** The Python of an example's environment. */
export function pythonOf(example: string): string {
  return join(
    folderOf(example),
    ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']),
  );
}

/**
 * Whether to skip the tests of an example: false if its environment has the packages that it names. Otherwise the reason,
 * which is printed, too.
 */
export async function skipUnlessInstalled(example: string): Promise<string | false> {
  const wanted = await readFile(join(root, 'examples', example, 'requirements.txt'), 'utf8');
  try {
    if ((await readFile(join(folderOf(example), 'requirements.txt'), 'utf8')) === wanted) return false;
  } catch {
    // There is no environment.
  }
  const reason = `examples/${example} is NOT tested: Python's packages are not installed. Run 'npm run demo -- ${example}' once`;
  console.error(reason);
  return reason;
}
