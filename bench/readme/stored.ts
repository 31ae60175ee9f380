/** The results of a run of `--readme`, stored in the repository to rewrite tables and picture without a new run. */
import { json, resultsFrom } from '../reports/json.js';
import type { DelayRow, LoadRow, Results } from '../reports/results.js';

/** The part of the results that is shown. */
export interface Stored {
  /** The date of the run, such as 2026-01-31. */
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly platform: string;
  /** The threads of each contestant. */
  readonly threads: number;
  readonly rounds: number;
  readonly versions: Readonly<Record<'tritonts' | 'node' | 'onnxruntime' | 'piscina', string>>;
  readonly commit: string;
  readonly loads: readonly LoadRow[];
  readonly delays: readonly DelayRow[];
}

/**
 * Extracts the stored part of results.
 *
 * @param versions - The versions of the packages. Those of Node and the runtime are in the results.
 */
export function storedFrom(
  { machine, setup, library, loads, delays }: Results,
  date: Date,
  versions: { readonly tritonts: string; readonly piscina: string },
): Stored {
  if (!library || setup.threads === undefined) {
    throw new Error('the README shows runs of ONNX Runtime with equal threads');
  }
  const { cpu, cores, platform, node, commit } = machine;
  return {
    date: date.toISOString().slice(0, 10),
    cpu,
    cores,
    platform,
    threads: setup.threads,
    rounds: setup.rounds,
    versions: { ...versions, node, onnxruntime: library.version },
    commit,
    loads: loads.map((load) => ({
      ...load,
      contestants: load.contestants.map((row) => ({ ...row, rounds: [] })),
    })),
    delays: delays.map((row) => ({
      ...row,
      timeLine: (row.contestant === 'idle loop' ? [] : row.timeLine).map(({ at, late }) => ({
        at: hundredth(at),
        late: hundredth(late),
      })),
    })),
  };
}

function hundredth(value: number): number {
  return Math.round(100 * value) / 100;
}

/** The stored results as text. */
export function storedText(stored: Stored): string {
  return `${JSON.stringify(JSON.parse(json(stored)))}\n`;
}

/** Reads text from {@link storedText}. */
export function storedFromText(text: string): Stored {
  // Written by this program, in the form of results.
  return resultsFrom(text) as unknown as Stored;
}
