/** The process of an instance: starts it, exchanges lines with it over a socket, and notices its end. */

import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { NativeHostPolicy } from '../addon/native/version-config.js';
import { TritonError, type TritonErrorCode, reasonNamed, unavailable } from '../errors.js';
import { errorOf } from '../javascript/batches/failures.js';
import { logMessage } from '../javascript/model-logger.js';
import type { Log } from '../logger.js';
import { Answers } from './answers.js';
import { stubProgram } from './files.js';
import { whyNot, type Interpreter } from './interpreter.js';
import { readLines } from './lines.js';
import { disown } from '../addon/own-process.js';
import { Uploads } from './uploads.js';
import { isScarcity, notStarted, startProcess } from './start-process.js';
import { thrownText } from '../thrown-text.js';
import { clearTimeout, setTimeout } from '../timers.js';

/** A question of the model. */
export interface Question {
  readonly ask: string;
  readonly number: number;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Returns the files that were sent before the question. Throws if they are invalid. */
  readonly files: () => Readonly<Record<string, Uint8Array>> | undefined;
}

/**
 * A line of the stub; see python/tritonts_stub/control.py. It comes from another process, so every field is
 * checked.
 */
type Line = Readonly<Record<string, unknown>>;

/** The options with which a process is started. */
export interface StubOptions {
  readonly model: string;
  /** The prefix of lines that the model prints. */
  readonly name: string;
  readonly python: Interpreter;
  /** The descriptor of the shared memory; undefined: it has none. */
  readonly memory: number | undefined;
  /** The descriptor of the memory of the version's inputs. */
  readonly inputs: number | undefined;
  readonly startMs: number;
  readonly log: Log;
  /** Answers a question. A rejection is sent as an error. */
  readonly answer: (question: Question) => Promise<unknown>;
  /** What the process is bound to; undefined: nothing. */
  readonly hostPolicy?: NativeHostPolicy | undefined;
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const levels = ['error', 'warn', 'info', 'verbose'] as const;
const codes = [
  'UNKNOWN',
  'INTERNAL',
  'NOT_FOUND',
  'INVALID_ARG',
  'UNAVAILABLE',
  'UNSUPPORTED',
  'ALREADY_EXISTS',
] as const satisfies TritonErrorCode[];
/** How long the output of a process is read after its end, in milliseconds. */
const lastWordsMs = 500;
/** How many of the last lines are in the error of a process that ends before it serves. */
const lastLines = 5;
/**
 * A longer line on the socket ends the process. Configurations are the longest valid lines; files come in parts.
 */
const longestLine = 2 ** 26;
/** A longer printed line is logged in pieces of so many characters. */
const longestPrinted = 65_536;

/** See the head of this file. */
export class StubProcess {
  readonly #options: StubOptions;
  readonly #child: ChildProcess;
  readonly #answers: Answers;
  /** Whether the process has ended with code 0, as it does when it is told to end. */
  endedByItself: boolean = false;
  /** Resolves with a description of the process' end. */
  readonly ended: Promise<string>;
  /** What a model of the package tells of itself, once it serves. */
  info: Readonly<Record<string, string>> = {};
  /** Names of the model's threads for which the process waits after `finalize`. */
  threads: readonly string[] = [];
  /** Resolves when the model begins to finalize. */
  readonly finalizing: Promise<void>;
  #finalizes: () => void = () => undefined;
  #said: string[] = [];
  #hello: (python: string) => void = () => undefined;
  #ready: (line: Line) => void = () => undefined;
  #failed: (error: Error) => void = () => undefined;
  readonly #uploads: Uploads = new Uploads();
  #asks = false;
  /** Whether the process' end was noticed. Its pid may then belong to another process. */
  #over = false;
  /** The error of a process that did not start. */
  #unstarted: Error | undefined;
  /** The pending answer of the model's `is_ready`; undefined: it is not being asked. */
  #readiness: { readonly answer: Promise<boolean>; readonly settle: (ready: boolean) => void } | undefined;

  constructor(options: StubOptions) {
    this.#options = options;
    this.finalizing = new Promise((resolve) => (this.#finalizes = resolve));
    const { python, memory, inputs, env } = options;
    const { child, control } = startProcess(
      options.model,
      python.path,
      ['-u', stubProgram()],
      {
        stdio: ['ignore', 'pipe', 'pipe', memory ?? 'ignore', 'pipe', inputs ?? 'ignore'],
        env: { ...env, ...(python.environment !== undefined && pathOf(python.environment, env)) },
        // The process leads a group, which includes the processes that the model starts.
        detached: true,
      },
      options.hostPolicy,
    );
    this.#child = child;
    let reason: string | undefined;
    const end = (why: string): void => {
      reason ??= why;
      options.log.warn(`model '${options.model}': its process ${why}, so the server ends it`, {
        model: options.model,
      });
      this.kill();
    };
    this.#answers = new Answers(control, options.startMs, end);
    const heard = readLines(control, {
      take: (line) => {
        this.#take(line);
      },
      longest: longestLine,
      tooLong: () => {
        end(`sent a line of more than ${longestLine} characters`);
      },
      room: () => this.#answers.room(),
    });
    control.on('error', () => undefined);
    this.#print(this.#child.stdout, 'info');
    this.#print(this.#child.stderr, 'warn');
    this.ended = new Promise((resolve) => {
      // A process may report several errors.
      this.#child.on('error', (error) => {
        this.#unstarted ??= error;
        resolve(error.message);
      });
      this.#child.once('exit', (code, signal) => {
        // Its children may still be in its group. The group's id is not reused while the group has a member.
        this.#killGroup();
        this.#over = true;
        this.endedByItself = code === 0;
        disown(child);
        const how =
          reason !== undefined
            ? `its process ${reason}, so the server ended it`
            : signal === null
              ? `its process has ended with code ${code ?? 0}`
              : `its process was ended by ${signal}`;
        // Its last lines are still in the socket. A child of the process may keep the socket open.
        const timer = setTimeout(resolve, lastWordsMs, how);
        void heard.then(() => {
          clearTimeout(timer);
          resolve(how);
        });
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Sends the process its task. Resolves when it serves, or has completed the configuration.
   *
   * @throws {@link TritonError} The exception that the model raises; UNAVAILABLE if no Python runs it.
   */
  async start(task: Readonly<Record<string, unknown>>): Promise<unknown> {
    const { model, python, startMs, name } = this.#options;
    const missing = (text: string): TritonError =>
      unavailable('MISSING', `model '${model}': ${text}`, { model });
    let timer: NodeJS.Timeout | undefined;
    const hello = new Promise<string>((resolve) => (this.#hello = resolve));
    const ready = new Promise<Line>((resolve, reject) => {
      this.#ready = resolve;
      this.#failed = reject;
    });
    ready.catch(() => undefined);
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, startMs, undefined);
    });
    const greeted = await Promise.race([hello, late, this.ended.then(() => false as const)]);
    clearTimeout(timer);
    if (greeted === undefined) {
      this.kill();
      throw missing(`'${python.path}' did not start within ${startMs / 1000} s (stub-timeout-seconds)`);
    }
    if (isScarcity(this.#unstarted)) throw notStarted(model, python.path, this.#unstarted);
    if (greeted === false) {
      const why = await whyNot(python.path).catch((error: unknown) => {
        throw notStarted(model, python.path, error);
      });
      throw missing(`${why}${this.#last()}`);
    }
    this.tell(task);
    const end = this.ended.then((how) => {
      throw missing(`instance '${name}' could not start: ${how}${this.#last()}`);
    });
    // A model may take its time, but one that hangs must be told of.
    const slow = setTimeout(() => {
      this.#options.log.warn(
        `model '${model}': instance '${name}' is not ready after ${startMs / 1000} s: its process (pid ${this.pid}) ` +
          'still imports or initializes the model, which has no time limit; the load fails if that process is ended',
        { model },
      );
    }, startMs).unref();
    const line = await Promise.race([ready, end]).finally(() => {
      clearTimeout(slow);
    });
    this.#asks = line['asks'] === true;
    this.info = textsOf(objectIn(line, 'info'));
    return line['completed'];
  }

  /**
   * Whether the model reports that it is ready. Concurrent calls share one answer.
   *
   * @param send - Sends the question to the model.
   */
  isReady(send: () => void): Promise<boolean> {
    if (!this.#asks) return Promise.resolve(true);
    if (this.#readiness === undefined) {
      let settle: (ready: boolean) => void = () => undefined;
      const answer = new Promise<boolean>((resolve) => (settle = resolve));
      this.#readiness = { answer, settle };
      void this.ended.then(() => {
        settle(false);
      });
      send();
    }
    return this.#readiness.answer;
  }

  /** Writes a line. */
  tell(line: object): void {
    this.#answers.write(line);
  }

  /** Ends the process at once, if it has not ended. */
  kill(): void {
    if (this.#over) return;
    this.hold();
    this.#killGroup();
    this.#child.kill('SIGKILL');
  }

  /** Kills the process' group, which includes the processes that the model has started. */
  #killGroup(): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The group has no members any more.
    }
  }

  /** Lets the process keep the event loop alive until its end, as it does at first. */
  hold(): void {
    this.#child.ref();
    for (const socket of this.#sockets) socket.ref();
  }

  /** Stops the process from keeping the event loop alive, because an idle server must not. */
  release(): void {
    this.#child.unref();
    for (const socket of this.#sockets) socket.unref();
  }

  /** The pipes to the process. All of them are sockets, but Node's types do not say so. */
  get #sockets(): readonly Socket[] {
    return this.#child.stdio.filter((stream) => stream instanceof Socket);
  }

  #last(): string {
    const said = this.#said.join('\n').trim();
    return said === '' ? '' : `: ${said}`;
  }

  #print(stream: Readable | null, level: 'info' | 'warn'): void {
    const { log, model, name } = this.#options;
    const take = (line: string): void => {
      this.#said.push(line);
      if (this.#said.length > lastLines) this.#said.shift();
      logMessage(log, model, { level, text: `${name}: ${line}` });
    };
    if (stream !== null) void readLines(stream, { take, longest: longestPrinted, tooLong: take });
  }

  #take(text: string): void {
    const { log, model } = this.#options;
    const line = parsed(text);
    if (line === undefined) return;
    const level = levels.find((one) => one === line['log']);
    if (level !== undefined) {
      logMessage(log, model, { level, text: textIn(line, 'text') });
    } else if (typeof line['number'] === 'number') {
      const given = objectIn(line, 'arguments') ?? {};
      const files = (): ReturnType<Uploads['take']> => this.#uploads.take();
      void this.#answer({ ask: textIn(line, 'ask'), number: line['number'], arguments: given, files });
    } else if (typeof line['part'] === 'string') {
      this.#uploads.add(line['part']);
    } else if (typeof line['file'] === 'string') {
      this.#uploads.begin(line['file'], Number(line['bytes']));
    } else if (line['ready'] === true) {
      this.#ready(line);
    } else if (line['failed'] !== undefined) {
      this.#failed(this.#errorOf(objectIn(line, 'failed')));
    } else if (typeof line['readiness'] === 'boolean') {
      const wrong = objectIn(line, 'wrong');
      if (wrong !== undefined) {
        const error = this.#errorOf(wrong);
        log.warn(`model '${model}': is_ready failed: ${error.message}`, { model, error });
      }
      this.#readiness?.settle(line['readiness']);
      this.#readiness = undefined;
    } else if (line['finalizing'] === true) {
      this.#finalizes();
    } else if (Array.isArray(line['threads'])) {
      this.threads = line['threads'].map(String);
    } else if (line['finalize'] !== undefined) {
      const error = this.#errorOf(objectIn(line, 'finalize'));
      log.warn(`model '${model}': finalize failed: ${error.message}`, { model, error });
    } else if (typeof line['python'] === 'string') {
      this.#hello(line['python']);
    }
  }

  async #answer(question: Question): Promise<void> {
    const { number } = question;
    this.#answers.begin();
    let answer: object;
    try {
      answer = { number, value: (await this.#options.answer(question)) ?? null };
    } catch (error) {
      const message = thrownText(error);
      const code = error instanceof TritonError ? error.code : 'INTERNAL';
      const reason = error instanceof TritonError ? error.reason : undefined;
      answer = { number, error: { code, message, reason } };
    }
    this.#answers.end(answer);
  }

  #errorOf(said: Line | undefined): TritonError {
    const { model } = this.#options;
    const message = textIn(said, 'message');
    return errorOf(
      {
        code: codes.find((one) => one === said?.['code']) ?? 'INTERNAL',
        reason: reasonNamed(said?.['reason']),
        message: `model '${model}': ${message}`,
        origin: { message, stack: textIn(said, 'trace') },
      },
      model,
    );
  }
}

function isObject(value: unknown): value is Line {
  return typeof value === 'object' && value !== null;
}

function parsed(text: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function textIn(line: Line | undefined, key: string): string {
  const value = line?.[key];
  return typeof value === 'string' ? value : '';
}

function objectIn(line: Line, key: string): Line | undefined {
  const value = line[key];
  return isObject(value) ? value : undefined;
}

/** The fields of a line that are texts. */
function textsOf(line: Line | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(line ?? {}).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
}

/** The environment of a process that runs in an environment of conda. */
function pathOf(folder: string, env: StubOptions['env']): Record<string, string> {
  return { PATH: `${folder}/bin:${env['PATH'] ?? ''}`, CONDA_PREFIX: folder };
}
