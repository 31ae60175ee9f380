/** Gauges of processors and memory, of a machine and a cgroup that are files of the test's. */

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Machine } from '../../src/metrics/machine.js';
import { temporaryFolder } from '../support/repository.js';

const meminfo = 'MemTotal:        1000 kB\nMemFree:   100 kB\nMemAvailable:   400 kB\n';

/** Writes files below a folder. */
async function write(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

/** user nice system idle iowait irq softirq steal guest */
const stat = (busy: number, idle: number): string => `cpu  ${busy} 0 0 ${idle} 0 0 0 0 50\ncpu0 1 1 1 1\n`;

test('without a cgroup they are those of the machine', async (t) => {
  const folder = await temporaryFolder(t);
  const files = { proc: join(folder, 'proc'), cgroups: join(folder, 'cgroup') };
  let now = 0;
  const machine = new Machine(2000, () => now, files);
  await write(files.proc, { stat: stat(100, 900), meminfo, 'self/cgroup': '0::/a/b\n' });
  assert.deepEqual(machine.sample(), { utilization: 0, totalBytes: 1_024_000, usedBytes: 614_400 });
  await write(files.proc, { stat: stat(175, 925) });
  now = 1999;
  assert.equal(machine.sample().utilization, 0);
  now = 2000;
  assert.equal(machine.sample().utilization, 0.75);
  // No CPU time passed meanwhile.
  now = 4000;
  assert.equal(machine.sample().utilization, 0);
});

test('with limits of a cgroup, or of one around it, they are what is used of these', async (t) => {
  const folder = await temporaryFolder(t);
  const files = { proc: join(folder, 'proc'), cgroups: join(folder, 'cgroup') };
  await write(files.proc, { stat: stat(1, 1), meminfo, 'self/cgroup': '1:cpu:/x\n0::/a/b\n' });
  await write(files.cgroups, {
    'a/b/cpu.max': 'max 100000\n',
    'a/cpu.max': '150000 100000\n',
    'a/cpu.stat': 'usage_usec 1000000\nuser_usec 1\n',
    'a/b/memory.max': '500000\n',
    'a/b/memory.current': '300000\n',
    'a/b/memory.stat': 'anon 1\ninactive_file 100000\n',
    'a/memory.max': 'max\n',
  });
  let now = 0;
  const machine = new Machine(1000, () => now, files);
  assert.deepEqual(machine.sample(), { utilization: 0, totalBytes: 500_000, usedBytes: 200_000 });
  // 1.5 cores for a second are 1,500,000 µs.
  now = 1000;
  await write(files.cgroups, { 'a/cpu.stat': 'usage_usec 1750000\n' });
  assert.equal(machine.sample().utilization, 0.5);
});

test('where there are no such files Node is asked', () => {
  let now = 0;
  const machine = new Machine(1, () => now++, undefined);
  machine.sample();
  const { utilization, totalBytes, usedBytes } = machine.sample();
  assert.ok(utilization >= 0 && utilization <= 1);
  assert.ok(usedBytes > 0 && usedBytes < totalBytes);
});

test('of this machine', () => {
  const { totalBytes, usedBytes } = new Machine(1).sample();
  assert.ok(usedBytes > 0 && usedBytes < totalBytes);
});
