/**
 * Measures CPU load and memory for Triton's CPU gauges. In a cgroup with limits, as in a container, the values are
 * those of the group, relative to its limits.
 */

import { readFileSync } from 'node:fs';
import { cpus, freemem, totalmem } from 'node:os';
import { join } from 'node:path';

/** The mount points of procfs and cgroupfs. */
export interface MachineFiles {
  readonly proc: string;
  readonly cgroups: string;
}

const linuxFiles: MachineFiles = { proc: '/proc', cgroups: '/sys/fs/cgroup' };

/** See the head of this file. */
export interface MachineSample {
  /** CPU load from 0 to 1; 0 until a whole interval has passed. */
  readonly utilization: number;
  readonly totalBytes: number;
  readonly usedBytes: number;
}

/** CPU time that was used, and CPU time that was available, in the same unit and since the same start. */
interface Work {
  readonly busy: number;
  readonly all: number;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** The value of a line `name value` in a file. */
function field(text: string | undefined, name: string): number | undefined {
  const line = text?.split('\n').find((one) => one.split(/[\s:]+/, 1)[0] === name);
  const value = line?.slice(name.length).replace(':', '').trim().split(/\s+/)[0];
  return value === undefined || value === '' ? undefined : Number(value);
}

/** A cgroup that limits this process, and the limit. */
interface Limit {
  readonly folder: string;
  readonly limit: number;
}

/** Watches the machine from one scrape to the next. */
export class Machine {
  readonly #intervalMs: number;
  readonly #now: () => number;
  readonly #files: MachineFiles | undefined;
  #last: { readonly atMs: number; readonly work: Work } | undefined;
  #utilization = 0;

  /**
   * @param intervalMs - The least time over which the load is averaged.
   * @param files - Undefined: the system has no such files, and Node's `os` is used.
   */
  constructor(
    intervalMs: number,
    now: () => number = () => performance.now(),
    files: MachineFiles | undefined = process.platform === 'linux' ? linuxFiles : undefined,
  ) {
    this.#intervalMs = intervalMs;
    this.#now = now;
    this.#files = files;
  }

  sample(): MachineSample {
    this.#note();
    return { utilization: this.#utilization, ...this.#memory() };
  }

  #note(): void {
    const atMs = this.#now();
    if (this.#last && atMs - this.#last.atMs < this.#intervalMs) return;
    const work = this.#work(atMs);
    if (this.#last) {
      const all = work.all - this.#last.work.all;
      const busy = work.busy - this.#last.work.busy;
      this.#utilization = all > 0 ? Math.min(1, Math.max(0, busy / all)) : 0;
    }
    this.#last = { atMs, work };
  }

  #work(atMs: number): Work {
    const limit = this.#limit('cpu.max', (text) => {
      const [most = 'max', period = '0'] = text.trim().split(/\s+/);
      return most === 'max' ? Infinity : Number(most) / Number(period);
    });
    const used = limit && field(read(join(limit.folder, 'cpu.stat')), 'usage_usec');
    if (limit && used !== undefined) return { busy: used, all: atMs * 1000 * limit.limit };
    const line = this.#files && read(join(this.#files.proc, 'stat'))?.split('\n', 1)[0];
    if (line !== undefined) {
      // user nice system idle iowait irq softirq steal. Guest time is included in user.
      const ticks = line.split(/\s+/).slice(1, 9).map(Number);
      const all = ticks.reduce((sum, one) => sum + one, 0);
      return { busy: all - (ticks[3] ?? 0) - (ticks[4] ?? 0), all };
    }
    const work = { busy: 0, all: 0 };
    for (const { times } of cpus()) {
      const busy = times.user + times.nice + times.sys + times.irq;
      work.busy += busy;
      work.all += busy + times.idle;
    }
    return work;
  }

  #memory(): Pick<MachineSample, 'totalBytes' | 'usedBytes'> {
    const text = this.#files && read(join(this.#files.proc, 'meminfo'));
    const total = (field(text, 'MemTotal') ?? totalmem() / 1024) * 1024;
    const available = (field(text, 'MemAvailable') ?? freemem() / 1024) * 1024;
    const limit = this.#limit('memory.max', (value) => (value.trim() === 'max' ? Infinity : Number(value)));
    if (limit && limit.limit < total) {
      const current = Number(read(join(limit.folder, 'memory.current')) ?? NaN);
      // Page cache that the kernel reclaims as soon as memory is needed.
      const idle = field(read(join(limit.folder, 'memory.stat')), 'inactive_file') ?? 0;
      if (!Number.isNaN(current)) return { totalBytes: limit.limit, usedBytes: Math.max(0, current - idle) };
    }
    return { totalBytes: total, usedBytes: total - available };
  }

  /** The tightest limit of this process' cgroup (version 2) and its ancestors; undefined if none has a limit. */
  #limit(file: string, limitOf: (text: string) => number): Limit | undefined {
    if (!this.#files) return undefined;
    const line = read(join(this.#files.proc, 'self', 'cgroup'))
      ?.split('\n')
      .find((one) => one.startsWith('0::'));
    if (line === undefined) return undefined;
    let tightest: Limit | undefined;
    const names = line
      .slice(3)
      .split('/')
      .filter((name) => name !== '');
    for (let depth = names.length; depth >= 0; depth--) {
      const folder = join(this.#files.cgroups, ...names.slice(0, depth));
      const text = read(join(folder, file));
      const limit = text === undefined ? NaN : limitOf(text);
      if (limit > 0 && limit < (tightest?.limit ?? Infinity)) tightest = { folder, limit };
    }
    return tightest;
  }
}
