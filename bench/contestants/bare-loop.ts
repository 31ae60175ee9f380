/** A bare C++ loop over the runtime: the highest throughput of this library file with these threads. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BenchModel } from '../measuring/models.js';
import type { Round } from '../reports/results.js';
import type { BareLoop } from './contestant.js';

/** Batch sizes that are tried. */
export const sizes: readonly number[] = [1, 8, 16, 32, 64];
/** How often and how long each size is tried. */
const tries = { passes: 2, milliseconds: 60 } as const;

const run = promisify(execFile);

/** The checkout; compiled, this file lies in `dist/bench/contestants`. */
const root = new URL('../../../', import.meta.url);
const source = fileURLToPath(new URL('bench/native', root));
const build = fileURLToPath(new URL('build/bench-native', root));

/** A program of `bench/native`. */
export type LoopName = 'bare_loop' | 'c_api_loop' | 'ensemble_loop' | 'openvino_loop' | 'tensorflow_loop';

/**
 * Builds a program of `bench/native` with CMake, or finds it built. It links parts of the addon's build, which
 * therefore comes first.
 *
 * @returns Its path.
 */
export async function buildProgram(name: LoopName): Promise<string> {
  await run('cmake', ['-S', source, '-B', build, '-DCMAKE_BUILD_TYPE=Release']);
  await run('cmake', ['--build', build, '--config', 'Release', '--target', name, '--parallel']);
  return `${build}/bin/${name}`;
}

/** The program's output for a line of its input; see bench/native/bare_loop.cc. */
export interface Answer {
  readonly batch: number;
  readonly items: number;
  readonly seconds: number;
}

/** A running program that answers lines as bench/native/bare_loop.cc does. */
export class LoopProgram {
  readonly #child: ChildProcess;
  readonly #waiting: { resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  readonly #ended: Promise<void>;
  /** The reason why the program no longer answers. */
  #end: Error | undefined;

  constructor(program: string, args: readonly string[]) {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    let complaint = '';
    child.stderr.on('data', (text: Buffer) => {
      complaint += text.toString();
    });
    createInterface({ input: child.stdout }).on('line', (line) => this.#waiting.shift()?.resolve(line));
    this.#ended = new Promise((resolve) => {
      const ended = (reason: string): void => {
        const end = (this.#end ??= new Error(`${program} ${reason}`));
        for (const { reject } of this.#waiting.splice(0)) reject(end);
        resolve();
      };
      child.on('error', (error) => {
        ended(error.message);
      });
      child.on('close', (code) => {
        ended(`ended with ${String(code)}: ${complaint.trim()}`);
      });
    });
    // Writing to a program that has ended may fail. The next question gets the reason of its end.
    child.stdin.on('error', () => undefined);
  }

  /** Runs batches of this size one after another for about this time. */
  async ask(batch: number, milliseconds: number): Promise<Answer> {
    // The program printed it.
    return JSON.parse(await this.askLine(`${batch} ${Math.ceil(milliseconds)}`)) as Answer;
  }

  /** Writes a line, and returns the line that the program prints for it. */
  protected askLine(line: string): Promise<string> {
    return new Promise<string>((resolve, reject) => {
      if (this.#end) {
        reject(this.#end);
        return;
      }
      this.#waiting.push({ resolve, reject });
      this.#child.stdin?.write(`${line}\n`);
    });
  }

  /** Ends the program. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
  }
}

/** A bare loop of C++. */
export class BareLoopProgram extends LoopProgram {
  constructor({ program, library, path, threads, datatype, model: { input, output } }: BareLoopOptions) {
    const tensors = [input.name, datatype, input.itemDims.join(), output.name, output.dims.join()];
    super(program, [library, path, String(threads), ...tensors]);
  }
}

/** Arguments of the program. */
export interface BareLoopOptions {
  /** From {@link buildProgram}. */
  readonly program: string;
  /** The runtime's library file. */
  readonly library: string;
  /** The model file. */
  readonly path: string;
  readonly threads: number;
  readonly datatype: 'FP32' | 'INT64';
  readonly model: Pick<BenchModel, 'input' | 'output' | 'maxBatchSize'>;
}

/** Starts the program and finds its best batch size. */
export async function openBareLoop(options: BareLoopOptions): Promise<BareLoop> {
  const { maxBatchSize } = options.model;
  const loop = new BareLoopProgram(options);
  let best = { batch: 1, rate: 0 };
  for (let pass = 0; pass < tries.passes; pass++) {
    for (const batch of sizes.filter((size) => size <= maxBatchSize)) {
      const { items, seconds } = await loop.ask(batch, tries.milliseconds);
      if (items / seconds > best.rate) best = { batch, rate: items / seconds };
    }
  }
  return {
    kind: 'loop',
    name: 'bare C++ loop',
    how: `batches of ${best.batch}`,
    measure: async (milliseconds): Promise<Round> => {
      const { items, seconds } = await loop.ask(best.batch, milliseconds);
      return { answers: items, seconds, requestsPerSecond: items / seconds, latency: undefined };
    },
    close: () => loop.close(),
  };
}
