/** Describes the machine of a run, without which a number means nothing. */
import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Machine } from '../reports/results.js';

/** Describes this machine and this checkout. */
export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    load: loadavg()[0] ?? NaN,
    platform: `${process.platform}-${process.arch}`,
    node: process.versions.node,
    commit: commit(),
  };
}

function commit(): string {
  try {
    const git = (...args: string[]): string =>
      execFileSync('git', args, {
        cwd: fileURLToPath(new URL('../../../', import.meta.url)),
        stdio: ['ignore', 'pipe', 'ignore'],
        encoding: 'utf8',
      }).trim();
    const hash = git('rev-parse', '--short', 'HEAD');
    return git('status', '--porcelain') === '' ? hash : `${hash} and changes`;
  } catch {
    return 'unknown';
  }
}
