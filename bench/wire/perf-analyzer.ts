/** Triton's load generator, perf_analyzer: one run against one server. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Programs, Protocol } from './servers.js';

const run = promisify(execFile);

/** A load: as many callers as `concurrency`, each with one request at a time. */
export interface WireLoad {
  readonly protocol: Protocol;
  readonly concurrency: number;
}

/** What perf_analyzer measured. */
export interface WirePace {
  readonly rate: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

/** Runs it: three windows of this length, however much they differ. */
export async function perfAnalyzer(
  { perfAnalyzer: { program, env } }: Programs,
  folder: string,
  model: string,
  port: number,
  { protocol, concurrency }: WireLoad,
  windowMs: number,
): Promise<WirePace> {
  const file = join(folder, 'perf.csv');
  const args = [
    ...['-m', model, '-i', protocol, '-u', `127.0.0.1:${port}`, '--concurrency-range', String(concurrency)],
    ...['--measurement-interval', String(windowMs), '--stability-percentage', '999', '-f', file],
  ];
  await run(program, args, { env, cwd: folder, timeout: 60_000 });
  const [head = '', row = ''] = (await readFile(file, 'utf8')).trim().split('\n');
  const names = head.split(',');
  const cell = (name: string): number => {
    const value = Number(row.split(',')[names.indexOf(name)]);
    if (!(value > 0)) throw new Error(`perf_analyzer measured no ${name}:\n${head}\n${row}`);
    return value;
  };
  return { rate: cell('Inferences/Second'), p50Us: cell('p50 latency'), p99Us: cell('p99 latency') };
}
