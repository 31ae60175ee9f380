/** Tells on the console how an analysis goes: a live line on a terminal, a line for each part and each better candidate elsewhere. */

import type { AnalyzeOptions, AnalyzeProgress } from '../../analyze/analyze.js';
import { phaseText, progressText, spaceText } from '../../analyze/report/text.js';
import { objectiveText } from '../../analyze/search/objective.js';
import type { SearchProgress } from '../../analyze/search/world.js';
import type { LeftOut } from '../../analyze/space/axes.js';
import { candidateText, keyOf, type Space } from '../../analyze/space/space.js';
import { printable, printableLine } from '../../printable.js';
import { checkConfigs } from './write-config.js';

/** See the head of this file. Figures go to stdout, and everything that only tells of progress to stderr. */
export class ConsoleProgress implements AnalyzeProgress {
  readonly #terminal: boolean;
  readonly #options: Pick<AnalyzeOptions, 'model' | 'objective' | 'levels'>;
  readonly #writes: boolean;
  #space: Space | undefined;
  #shown: string = '';
  #live = false;

  /** @param writes - Whether files are to be changed in the end. */
  constructor(
    terminal: boolean,
    options: Pick<AnalyzeOptions, 'model' | 'objective' | 'levels'>,
    writes: boolean = false,
  ) {
    this.#writes = writes;
    this.#terminal = terminal;
    this.#options = options;
  }

  async files(files: readonly string[]): Promise<void> {
    if (this.#writes) await checkConfigs(files);
  }

  opened(space: Space, left: readonly LeftOut[]): void {
    this.#space = space;
    const { model, objective, levels } = this.#options;
    console.log(
      printableLine(`model '${model}': ${objectiveText(objective)}; requests at once: ${levels.join(', ')}`),
    );
    console.log(printable(spaceText(space, left)));
  }

  running(progress: SearchProgress): void {
    const space = this.#space;
    if (space === undefined) return;
    const text = printableLine(progressText(space, this.#options.objective, progress));
    if (this.#terminal) {
      const columns = process.stderr.columns;
      const now = `${text}; now ${printableLine(candidateText(space, progress.candidate))}`;
      // A line that wraps could not be removed.
      process.stderr.write(`\r\u001b[K${now.slice(0, columns > 1 ? columns - 1 : undefined)}`);
      this.#live = true;
      return;
    }
    const state = `${phaseText(progress.phase)} ${progress.best === undefined ? '' : keyOf(progress.best.candidate)}`;
    if (state === this.#shown) return;
    this.#shown = state;
    console.error(text);
  }

  /** Removes the live line. */
  clear(): void {
    if (this.#live) process.stderr.write('\r\u001b[K');
    this.#live = false;
  }
}
