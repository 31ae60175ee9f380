/**
 * Load of the processors and memory, as Triton's gauges of the CPU tell them. Of a process in a cgroup with limits, as in a
 * container, they are the group's: what it uses of what it may use.
 */

import { readFileSync } from 'node:fs';
import { cpus, freemem, totalmem } from 'node:os';
import { join } from 'node:path';

/** Where the system tells of itself. */
export interface MachineFiles {
  readonly proc: string;
  readonly cgroups: string;
}

const linuxFiles: MachineFiles = { proc: '/proc', cgroups: '/sys/fs/cgroup' };

/** See the head of this file. */
export interface MachineSample {
  /** 0 to 1; 0 before there was a whole interval. */
  readonly utilization: number;
  readonly totalBytes: number;
  readonly usedBytes: number;
}

/** Time that processors worked and could have worked, in one unit, since some beginning. */
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

/** A line of `name value` of a file. */
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
   * @param intervalMs - The load is an average over at least so long.
   * @param files - Undefined: the system has none, and Node is asked.
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
      // user nice system idle iowait irq softirq steal; guests' time is in user's.
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
      // Pages of files that are given back as soon as somebody needs memory.
      const idle = field(read(join(limit.folder, 'memory.stat')), 'inactive_file') ?? 0;
      if (!Number.isNaN(current)) return { totalBytes: limit.limit, usedBytes: Math.max(0, current - idle) };
    }
    return { totalBytes: total, usedBytes: total - available };
  }

  /** The tightest limit of this process' cgroup (version 2) and those that it is in; undefined without one. */
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
