/** The log of a server: events of models that no caller is told of. */

import { expected } from './argument-checks.js';
import { printableLine } from './printable.js';
import { setImmediate } from './timers.js';

/** The context of a message. */
export interface LogContext {
  /** Name of the model concerned, if any. */
  readonly model?: string | undefined;
  /** The error that is the reason, if any. */
  readonly error?: unknown;
}

/**
 * A function that takes messages of one level. Its result, and an error that it throws or rejects with, are
 * ignored.
 */
export type LogFunction = (message: string, context: LogContext) => void;

/**
 * Takes the messages of a server. A level without a function is not logged. `console` is a valid logger.
 *
 * @example
 * const server = await createServer('./models', { logger: { error: (message, { model }) => report(model, message) } });
 */
export interface Logger {
  /** A model cannot be served, and no call rejects because of it. */
  readonly error?: LogFunction | undefined;
  /** A model is served, but not as its configuration or the caller asked. */
  readonly warn?: LogFunction | undefined;
  /** A model was loaded or unloaded, or a call that loads it rejected. The notes of a model, too. */
  readonly info?: LogFunction | undefined;
  /** The steps of each load. */
  readonly verbose?: LogFunction | undefined;
}

/** A logger with a function for every level, none of which throws. */
export type Log = Readonly<Record<keyof Logger, LogFunction>>;

const levels = ['error', 'warn', 'info', 'verbose'] as const;

/** The function of a level that is not logged. */
export const ignore: LogFunction = () => undefined;

/** Number of messages that are being written to stderr. */
let writes = 0;

function onWriteError(): void {
  // If the log cannot be written, the server continues unchanged.
}

/** Returns a function that writes each message as one line with its level. */
function onStderr(level: string): LogFunction {
  return (message) => {
    const { stderr } = process;
    // The reader of stderr may be gone. Without a listener its error would be an uncaught exception.
    if (writes++ === 0) stderr.on('error', onWriteError);
    stderr.write(`tritonts: ${level}: ${printableLine(message)}\n`, () => {
      // The stream emits the error after this callback.
      setImmediate(() => {
        if (--writes === 0) stderr.removeListener('error', onWriteError);
      });
    });
  };
}

/** Writes errors and warnings to stderr. */
const standard: Log = { error: onStderr('error'), warn: onStderr('warning'), info: ignore, verbose: ignore };

/** Wraps a function of the caller so that its errors are ignored. */
function harmless(logger: object, log: (...args: Parameters<LogFunction>) => unknown): LogFunction {
  return (message, context) => {
    try {
      const returned = log.call(logger, message, context);
      // The rejection of an async function would be an unhandled rejection.
      if (typeof returned === 'object' && returned !== null) Promise.resolve(returned).catch(() => undefined);
    } catch {
      // If the log fails, the server continues unchanged.
    }
  };
}

/**
 * Checks a logger and fills in its missing levels.
 *
 * @param value - The logger. If undefined, errors and warnings go to stderr.
 * @throws {@link TritonError} INVALID_ARG unless it is an object whose levels are functions.
 */
export function resolveLogger(value: unknown): Log {
  if (value === undefined || value === null) return standard;
  if (typeof value !== 'object') throw expected('an object with functions', 'options.logger', value);
  const log = { ...standard };
  for (const level of levels) {
    const given: unknown = (value as Logger)[level] ?? undefined;
    if (given !== undefined && typeof given !== 'function')
      throw expected('a function', `options.logger.${level}`, given);
    // JavaScript passes any arguments to any function, so the function's parameters need no check.
    log[level] = given === undefined ? ignore : harmless(value, given as LogFunction);
  }
  return log;
}
