// Own process: it measures the peak of the memory.
// Long: it loads hundreds of wrong models.
import assert from 'node:assert/strict';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { rejection, start } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { faulty } from './faulty.js';
import { hostile } from './hostile.js';

const repository = await writeRepository(await temporaryFolder({ after }), {
  faulty: { config: '', versions: { '1': addModel() } },
});
const config = join(repository, 'faulty', 'config.pbtxt');
const server = await start({ after }, repository, { modelControlMode: 'explicit' });

async function write(pieces: Iterable<string | Uint8Array>): Promise<void> {
  const file = await open(config, 'w');
  try {
    for (const piece of pieces) await file.write(Buffer.from(piece));
  } finally {
    await file.close();
  }
}

/** Processor time since `before`, in milliseconds. The clock would count other processes, too. */
function spent(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** A fixed amount of work, which takes 250 ms on the machine that the limits below are for. */
function yardstick(): number {
  const before = process.cpuUsage();
  const list = Array.from({ length: 300_000 }, (_, i) => ({ name: `x${i}`, dims: [i, -1] }));
  const copy = JSON.parse(JSON.stringify(list)) as typeof list;
  copy.sort((a, b) => (b.dims[0] ?? 0) - (a.dims[0] ?? 0));
  return spent(before);
}

/** How many times longer everything takes on this machine. */
const slowness = Math.max(1, Math.min(yardstick(), yardstick()) / 250);

/** The most memory that this process ever had, in bytes. */
function peakMemory(): number {
  return process.resourceUsage().maxRSS * 1024;
}

for (const { what, content, fault } of faulty) {
  test(`${what}: ${fault?.text ?? 'loads'}`, async () => {
    await write([content]);
    if (fault === undefined) {
      await server.loadModel('faulty');
      assert.equal(server.model('faulty').config.max_batch_size, 8);
      await server.unloadModel('faulty');
      return;
    }
    const error = await rejection(server.loadModel('faulty'));
    const { code, message, location } = error;
    assert.equal(code, 'INVALID_ARG', message);
    assert.deepEqual(location, { file: config, line: fault.line, field: fault.field }, message);
    assert.ok(message.includes(fault.text), message);
  });
}

for (const { what, pieces, text, seconds = 1 } of hostile) {
  test(`${what} is refused in less than ${seconds} s and 300 MB`, async () => {
    await write(pieces());
    const before = { memory: process.memoryUsage.rss(), peak: peakMemory(), time: process.cpuUsage() };
    const error = await rejection(server.loadModel('faulty'));
    const ms = spent(before.time);
    // A peak that did not move belongs to another test.
    const growth = peakMemory() > before.peak ? peakMemory() - before.memory : 0;
    const { code, message, location } = error;
    assert.equal(code, 'INVALID_ARG');
    assert.equal(location?.file, config);
    assert.ok(message.includes(text), message.slice(0, 500));
    assert.ok(message.length < 20_000, `a message of ${message.length} characters`);
    assert.ok(
      ms < 1000 * seconds * slowness,
      `took ${ms} ms, where everything takes ${slowness} times as long`,
    );
    assert.ok(growth < 300e6, `took ${growth} bytes`);
  });
}
