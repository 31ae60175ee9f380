/** A child process that answers questions, one after another. */
import { fork, type ChildProcess } from 'node:child_process';

/** A child process. */
export class Child<Question extends object = never> {
  readonly #process: ChildProcess;
  readonly #waiting: { resolve: (value: number) => void; reject: (error: Error) => void }[] = [];
  /** Numbers that arrived before `answer` was called. */
  readonly #early: number[] = [];
  #end: Error | undefined;

  /**
   * @param file - Compiled module that sends one number for each message, and one at its start.
   */
  constructor(file: URL, args: readonly string[], execArgv: readonly string[] = []) {
    this.#process = fork(file, [...args], { execArgv: [...execArgv] });
    this.#process.on('message', (value) => {
      const waiter = this.#waiting.shift();
      if (waiter) waiter.resolve(Number(value));
      else this.#early.push(Number(value));
    });
    this.#process.on('exit', (code, signal) => {
      this.#end = new Error(`${file.pathname} ended with ${String(code ?? signal)}`);
      for (const { reject } of this.#waiting.splice(0)) reject(this.#end);
    });
  }

  /** The process' next number. */
  answer(): Promise<number> {
    return new Promise((resolve, reject) => {
      const early = this.#early.shift();
      if (early !== undefined) resolve(early);
      else if (this.#end) reject(this.#end);
      else this.#waiting.push({ resolve, reject });
    });
  }

  /** Asks, and waits for the answer. */
  ask(question: Question): Promise<number> {
    const answer = this.answer();
    this.#process.send(question);
    return answer;
  }

  /** Ends the process. */
  async close(): Promise<void> {
    if (this.#end) return;
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.disconnect();
    await ended;
  }
}
