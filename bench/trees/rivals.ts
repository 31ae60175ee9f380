/** The process that runs the C APIs of XGBoost and LightGBM (`rivals.py`). */

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** The frameworks. */
export type Rival = 'xgboost' | 'lightgbm';

/** See the head of this file. One call at a time. */
export class Rivals {
  readonly #ask: (question: object) => Promise<unknown>;
  readonly #end: () => void;

  constructor(python: string, script: string, folder: string, threads: number) {
    const child = spawn(python, [script, folder, String(threads)], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    this.#ask = async (question) => {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      const line: IteratorResult<string, unknown> = await lines.next();
      if (line.done === true) throw new Error('the process of the frameworks has ended');
      return JSON.parse(line.value) as unknown;
    };
    this.#end = () => {
      child.stdin.end();
    };
  }

  /** Loads the models of a case, whose rows have `features` values. */
  async load(name: string, features: number): Promise<void> {
    await this.#ask({ load: name, features });
  }

  /** Calls a framework for about `ms` milliseconds. Returns the rows per second. */
  async rate(rival: Rival, rows: number, ms: number): Promise<number> {
    const { calls, seconds } = (await this.#ask({ rival, rows, ms })) as { calls: number; seconds: number };
    return (calls * rows) / seconds;
  }

  /** Writes a framework's answers to a file, as FP64. */
  async answers(rival: Rival, rows: number, file: string): Promise<void> {
    await this.#ask({ rival, rows, answers: file });
  }

  end(): void {
    this.#end();
  }
}
