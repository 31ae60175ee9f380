/**
 * Renders chat templates in a process, one at a time, within limits of time and memory. A thread would not do: a single
 * string that is larger than its heap ends the whole process. Models share the process's time fairly.
 */

import { fork, type ChildProcess } from 'node:child_process';
import { ownFile } from '../../addon/own-file.js';
import { disown, own } from '../../addon/own-process.js';
import { invalidArgument, TritonError, unavailable } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import { FairQueue } from './fair-queue.js';
import type { Rendered, RenderJob } from './template-process.js';

/** How long a template may take. Those of known models take under a millisecond for a short chat. */
const renderMs = 2000;
/** How long the process may take to start. */
const startMs = 30_000;
/** How long it may take to answer after the template's time, and besides for each character that it is sent. */
const answerMs = 3000;
const characterMs = 1e-4;
/** How many chats may wait, and for how long. */
const mostWaiting = 256;
const mostWaitMs = 10_000;
/** The process's memory: a prompt, and what a template makes of it on the way. */
const mostHeapMb = 256;

/** A template, what it sees, and the model that it is for. */
export interface ChatJob extends Pick<RenderJob, 'template' | 'context'> {
  readonly model: string;
}

/** A template that waits, or is being rendered. */
interface Waiting {
  readonly job: ChatJob;
  /** When it came, by `performance.now()`. */
  readonly since: number;
  /** Whether nothing waits for the prompt any more. */
  readonly isGone: () => boolean;
  readonly resolve: (prompt: string) => void;
  readonly reject: (error: TritonError) => void;
}

/** See the head of this file. The process starts with the first template, and again after one that ended it. */
export class Templates {
  readonly #mostCharacters: number;
  readonly #waiting: FairQueue<Waiting> = new FairQueue(mostWaiting);
  #process: ChildProcess | undefined;
  #ready = false;
  #running: Waiting | undefined;
  /** When the process got it. */
  #begunAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param mostCharacters - The most characters of a prompt. */
  constructor(mostCharacters: number) {
    this.#mostCharacters = mostCharacters;
  }

  /**
   * Renders a template.
   *
   * @param isGone - Whether the client has left; its template is then not rendered, and the promise stays pending.
   * @throws {@link TritonError} INVALID_ARG for messages that the template refuses, INTERNAL for a template that cannot be
   *   parsed or needs too much time or memory, UNAVAILABLE if too many chats wait, if this one has waited for too long,
   *   if the system cannot start the process, and once the endpoint is closed.
   */
  render(job: ChatJob, isGone: () => boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(closed());
        return;
      }
      const one = { job, since: performance.now(), isGone, resolve, reject };
      const message = `expected at most ${mostWaiting} chats that wait for their template: try again later`;
      this.#waiting.push(job.model, one)?.reject(unavailable('QUEUE_FULL', message));
      this.#next();
    });
  }

  /** Ends the process. Templates that wait reject. */
  close(): void {
    this.#closed = true;
    for (let one = this.#waiting.shift(); one !== undefined; one = this.#waiting.shift())
      one.entry.reject(closed());
    this.#end(closed());
  }

  /** Begins with the next template, if none is being rendered. */
  #next(): void {
    if (this.#running !== undefined) return;
    const next = this.#shift();
    if (next === undefined) {
      // An idle process does not keep this one alive.
      this.#process?.channel?.unref();
      return;
    }
    this.#running = next;
    try {
      this.#process ??= this.#start();
      this.#process.channel?.ref();
    } catch (error) {
      this.#refuse(notStarted(error));
      return;
    }
    if (this.#ready) this.#send(this.#process, next.job);
  }

  /** The next template whose client waits. Those that have waited for too long reject. */
  #shift(): Waiting | undefined {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const one = next.entry;
      if (one.isGone()) continue;
      if (performance.now() - one.since <= mostWaitMs) return one;
      one.reject(unavailable('TIMED_OUT', `the chat has waited more than ${mostWaitMs} ms for its template`));
    }
    return undefined;
  }

  /** Rejects the template that was to be rendered, and begins with the next one. The process goes on. */
  #refuse(error: TritonError): void {
    clearTimeout(this.#timer);
    this.#stop()?.reject(error);
    this.#next();
  }

  /** Takes the template that was to be rendered, and counts its time. */
  #stop(): Waiting | undefined {
    const running = this.#running;
    if (running !== undefined && this.#begunAt !== undefined)
      this.#waiting.used(running.job.model, performance.now() - this.#begunAt);
    this.#running = undefined;
    this.#begunAt = undefined;
    return running;
  }

  #start(): ChildProcess {
    const program = ownFile('dist/src/endpoints/openai/template-process.js', 'which renders chat templates');
    const { SystemRoot } = process.env;
    const child = own(() =>
      fork(program, {
        // Under Electron it is to be Node. Windows has no random numbers without its folder.
        env: { ELECTRON_RUN_AS_NODE: '1', ...(SystemRoot !== undefined && { SystemRoot }) },
        execArgv: [`--max-old-space-size=${mostHeapMb}`],
        serialization: 'advanced',
        // A process that runs out of memory says so at length.
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      }),
    );
    child.unref();
    this.#ready = false;
    this.#limit(startMs, 'its process did not start');
    child.on('message', (rendered) => {
      // The process sends nothing else.
      if (child === this.#process) this.#take(child, rendered as Rendered);
    });
    child.on('error', (error) => {
      if (child !== this.#process) return;
      this.#end(this.#ready ? notRendered(codeOf(error)) : notStarted(error));
      this.#next();
    });
    child.on('exit', (code, signal) => {
      disown(child);
      const how = signal ?? `code ${code}`;
      if (child === this.#process)
        this.#fail(
          `its process ended with ${how}, as it does if it needs more than ${mostHeapMb} MB of memory`,
        );
    });
    return child;
  }

  #send(child: ChildProcess, { template, context }: ChatJob): void {
    this.#begunAt = performance.now();
    try {
      child.send({
        template,
        context,
        mostCharacters: this.#mostCharacters,
        timeoutMs: renderMs,
      } satisfies RenderJob);
    } catch (error) {
      // The context cannot be written. An error that is thrown here would end this process.
      this.#refuse(notRendered(thrownText(error)));
      return;
    }
    const ms = renderMs + answerMs + charactersOf(context) * characterMs;
    this.#limit(ms, 'its process does not answer');
  }

  #limit(ms: number, why: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#fail(why);
    }, ms);
  }

  #take(child: ChildProcess, rendered: Rendered): void {
    clearTimeout(this.#timer);
    if (rendered.says === 'ready') {
      this.#ready = true;
      if (this.#running !== undefined) this.#send(child, this.#running.job);
      return;
    }
    const running = this.#stop();
    switch (rendered.says) {
      case 'prompt':
        running?.resolve(rendered.prompt);
        break;
      case 'refused':
        running?.reject(
          invalidArgument(`the chat template cannot be rendered for these messages: ${rendered.why}`),
        );
        break;
      case 'late':
        running?.reject(new TritonError('INTERNAL', `the chat template takes more than ${renderMs} ms`));
        break;
      case 'broken':
        running?.reject(new TritonError('INTERNAL', `the chat template cannot be parsed: ${rendered.why}`));
    }
    this.#next();
  }

  /** Ends the process because of the template that is being rendered. The next one gets another process. */
  #fail(why: string): void {
    this.#end(notRendered(why));
    this.#next();
  }

  #end(error: TritonError): void {
    clearTimeout(this.#timer);
    const child = this.#process;
    this.#process = undefined;
    this.#stop()?.reject(error);
    child?.kill('SIGKILL');
  }
}

function closed(): TritonError {
  return unavailable('CLOSED', 'the endpoint is closed');
}

function notRendered(why: string): TritonError {
  return new TritonError('INTERNAL', `the chat template cannot be rendered: ${why}`);
}

/** What the system says if it has no descriptor, process or memory left. */
const systemLacks = ['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'];

/** The error for a process that cannot be started. It does not tell of paths. */
function notStarted(error: unknown): TritonError {
  if (error instanceof TritonError) return error;
  const why = codeOf(error);
  const message = `the process of chat templates cannot be started: ${why}`;
  return unavailable(systemLacks.includes(why) ? 'NO_MEMORY' : 'SYSTEM_REFUSED', message);
}

/** The system's code for an error, such as EMFILE. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown error';
}

/** How many characters all texts of a value have. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, one) => sum + charactersOf(one), 0);
}
