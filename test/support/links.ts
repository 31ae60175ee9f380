/** Whether this system makes symbolic links, for tests that need some. */

import { lstatSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Windows lets only some users make a link. Wine says that it made one, and makes none. */
function makesLinks(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'tritonts-link-'));
  const link = join(folder, 'link');
  try {
    symlinkSync('nowhere', link);
    return lstatSync(link).isSymbolicLink();
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The reason to skip tests that make links; false: none. */
export const noLinks: string | false =
  process.platform === 'win32' && !makesLinks() && 'no links can be made here';
