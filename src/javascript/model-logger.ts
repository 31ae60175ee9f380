/**
 * The log of a model: its messages go to the server's `logger`, from its thread through the instance's port.
 *
 * A thread sends at most {@link mostUnread} messages that its owner has not read. Further messages are dropped and
 * counted, and the count is logged when there is room again.
 */

import type { MessagePort } from 'node:worker_threads';
import { ignore, type Log, type LogFunction } from '../logger.js';
import { textOf } from './batches/failures.js';
import type { ModelLogger } from '../api/javascript-model.js';
import { setImmediate } from '../timers.js';

const levels = ['error', 'warn', 'info', 'verbose'] as const;
type Level = (typeof levels)[number];

/** How many messages of a thread its owner may have unread. */
const mostUnread = 1000;
/** A longer message is cut, in characters. */
const longest = 16_384;

/** A message to the owner. An error is sent as its message and stack. */
export interface LoggedMessage {
  readonly level: Level;
  readonly text: string;
  readonly error?: unknown;
  readonly stack?: string | undefined;
}

/** The levels that a log does not ignore. Messages of other levels are not sent. */
export function levelsOf(log: Log): readonly Level[] {
  return levels.filter((level) => log[level] !== ignore);
}

/** A logger that passes on messages of the given levels, and ignores others. */
function loggerOf(read: readonly Level[], take: (message: LoggedMessage) => void): ModelLogger {
  const at = (level: Level): ModelLogger[Level] =>
    read.includes(level)
      ? (message, error): void => {
          const text = textOf(message);
          take({ level, text: text.length > longest ? `${text.slice(0, longest)}…` : text, error });
        }
      : (): void => undefined;
  return Object.freeze({ error: at('error'), warn: at('warn'), info: at('info'), verbose: at('verbose') });
}

/** Hands a message of a model to the server's log. */
export function logMessage(log: Log, model: string, { level, text, error, stack }: LoggedMessage): void {
  let reason = error;
  if (stack !== undefined) {
    const made = new Error(textOf(error));
    made.stack = stack;
    reason = made;
  }
  // The levels are those of a log.
  const write: LogFunction = log[level];
  write(`model '${model}': ${text}`, reason === undefined ? { model } : { model, error: reason });
}

/** Logs that a model's `finalize` has thrown, because no caller waits for it. */
export function logFinalize(log: Log, model: string, error: unknown): void {
  log.warn(`model '${model}': finalize failed: ${textOf(error instanceof Error ? error.message : error)}`, {
    model,
    error,
  });
}

/** The logger of a model that runs in the environment of its server. */
export function ownLogger(log: Log, model: string): ModelLogger {
  return loggerOf(levelsOf(log), (message) => {
    logMessage(log, model, message);
  });
}

/**
 * The logger of a model on a thread. The owner answers on the port with the number of messages that it has read.
 */
export function portLogger(port: MessagePort, read: readonly Level[]): ModelLogger {
  let unread = 0;
  let dropped = 0;
  const send = (message: LoggedMessage): void => {
    unread++;
    port.postMessage({ logged: message });
  };
  port.on('message', (count: unknown) => {
    unread -= Number(count);
    if (dropped === 0) return;
    send({
      level: 'warn',
      text: `${dropped} messages of its log were dropped, because it wrote more than the log takes`,
    });
    dropped = 0;
  });
  port.unref();
  return loggerOf(read, (message) => {
    if (unread >= mostUnread) {
      dropped++;
      return;
    }
    const { error } = message;
    if (error === undefined) send(message);
    else if (error instanceof Error)
      send({ ...message, error: textOf(error.message), stack: textOf(error.stack) });
    else send({ ...message, error: textOf(error) });
  });
}

/** Reads the messages of a thread, on its owner's side. */
export class LogReader {
  readonly #log: Log;
  readonly #model: string;
  #read = 0;

  constructor(log: Log, model: string) {
    this.#log = log;
    this.#model = model;
  }

  read(message: LoggedMessage, port: MessagePort): void {
    logMessage(this.#log, this.#model, message);
    if (++this.#read > 1) return;
    // One answer for all messages of a turn of the event loop.
    setImmediate(() => {
      port.postMessage(this.#read);
      this.#read = 0;
    });
  }
}
