/** Tells on the console how a measurement goes: a live line on a terminal, plain lines elsewhere. */

import type { WindowFigures } from '../../perf/measure/stability.js';
import { levelText, type Level, type LevelLoad } from '../../perf/measure/level.js';
import { levelLines, windowText } from '../../perf/report/text.js';
import type { PerfRun, RunProgress } from '../../perf/run.js';
import { printable, printableLine } from '../../printable.js';

/** See the head of this file. Figures go to stdout, and everything that only tells of progress to stderr. */
export class ConsoleProgress implements RunProgress {
  readonly #terminal: boolean;
  readonly #verbose: boolean;
  #percentile: number | undefined;
  #live = false;

  constructor(terminal: boolean, verbose: boolean) {
    this.#terminal = terminal;
    this.#verbose = verbose;
  }

  opened({ model, kind, place, batch, percentile, sharedMemory }: Omit<PerfRun, 'levels' | 'failure'>): void {
    this.#percentile = percentile;
    const rows = batch === 1 ? '' : `, ${batch} rows a request`;
    console.log(
      printableLine(
        `model '${model}', ${kind === 'in process' ? `in process, ${place}` : place}${rows}${sharedMemory ? ', tensors in shared memory' : ''}`,
      ),
    );
  }

  running(load: LevelLoad, window: number, figures: WindowFigures): void {
    if (!this.#terminal) return;
    const text = windowText(load, window, figures, this.#percentile);
    process.stderr.write(`\r\u001b[K${printableLine(text)}`);
    this.#live = true;
  }

  window(load: LevelLoad, window: number, figures: WindowFigures): void {
    if (this.#terminal && !this.#verbose) return;
    this.clear();
    console.error(printableLine(windowText(load, window, figures, this.#percentile)));
  }

  level(level: Level, run: Omit<PerfRun, 'levels' | 'failure'>): void {
    this.clear();
    console.log(`\n${printable(levelLines(level, run))}`);
    if (level.stable || level.cut) return;
    console.error(
      `${levelText(level)}: the last windows are not stable; longer windows (-p), more of them (-r) or --stability-percentage may help`,
    );
  }

  note(text: string): void {
    this.clear();
    console.error(printableLine(`note: ${text}`));
  }

  /** Removes the live line. */
  clear(): void {
    if (this.#live) process.stderr.write('\r\u001b[K');
    this.#live = false;
  }
}
