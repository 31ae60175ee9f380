/**
 * `npm run bench`: compares tritonts with common alternatives, in one interleaved run. See bench/README.md.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { measureDefaults } from './defaults.js';
import { judge } from './reports/figures.js';
import { json } from './reports/json.js';
import { isMet } from './limits/limits.js';
import { describeMachine } from './measuring/machine.js';
import { models } from './measuring/models.js';
import { needs, readOptions, usage, type Options } from './options.js';
import { page } from './reports/page.js';
import { store, stored, writeReadme } from './readme/write.js';
import { report } from './reports/report.js';
import type { Results } from './reports/results.js';
import { Benchmark } from './measuring/benchmark.js';

async function main(options: Options): Promise<void> {
  if (options.readme === 'stored') {
    await writeReadme(await stored());
    return;
  }
  const machine = describeMachine();
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-bench-'));
  const benchmark = new Benchmark(options, folder, progress);
  try {
    for (const model of models) {
      if (needs(options, model)) await benchmark.run(model);
    }
    await benchmark.runOthers();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const second = options.defaultsToo ? await measureDefaults(options) : undefined;
  progress('');
  const first = benchmark.results();
  const results: Results = {
    machine,
    ...first,
    defaults: second?.part,
    notes: [...first.notes, ...(second?.notes ?? [])],
  };
  if (options.readme === 'measured') await writeReadme(await store(results));
  // The figures hold only for equal numbers of threads.
  const verdicts = options.threading === 'equal' ? judge(results.loads, results.delays) : [];
  if (options.html !== undefined) {
    await mkdir(dirname(options.html), { recursive: true });
    await writeFile(options.html, page(results, verdicts));
  }
  process.stdout.write(
    options.json
      ? json({ ...results, measured: results.measured.map((one) => ({ ...one, met: isMet(one) })), verdicts })
      : report(results, verdicts),
  );
}

/** Shows a line that the next one replaces, if the output is a terminal. */
function progress(text: string): void {
  if (!process.stderr.isTTY) return;
  process.stderr.write(`\r\u001b[K${text}`);
}

let options: Options | undefined;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 1;
}
if (options) await main(options);
