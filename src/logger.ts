/** The log of a server: what happens to models that no caller is told of. */

import { expected } from './argument-checks.js';
import { printableLine } from './printable.js';

/** What a message is about. */
export interface LogContext {
  /** Name of the model, if there is one. */
  readonly model?: string | undefined;
  /** The reason, if there is one. */
  readonly error?: unknown;
}

/** A function that takes messages of one level. What it throws, returns or rejects with is ignored. */
export type LogFunction = (message: string, context: LogContext) => void;

/**
 * Takes the messages of a server. A level without a function is not logged. `console` is a logger.
 *
 * @example
 * const server = await createServer('./models', { logger: { error: (message, { model }) => report(model, message) } });
 */
export interface Logger {
  /** A model cannot be served, and no call rejects for it. */
  readonly error?: LogFunction | undefined;
  /** A model is served, but not as it was asked for. */
  readonly warn?: LogFunction | undefined;
  /** A model was loaded or unloaded, or a call that loads it rejected; and its notes. */
  readonly info?: LogFunction | undefined;
  /** The steps of each load. */
  readonly verbose?: LogFunction | undefined;
}

/** A logger of which every level may be called, and nothing throws. */
export type Log = Readonly<Record<keyof Logger, LogFunction>>;

const levels = ['error', 'warn', 'info', 'verbose'] as const;

/** What a level without a function has. */
export const ignore: LogFunction = () => undefined;

/** How many messages are being written to stderr. */
let writes = 0;

function onWriteError(): void {
  // A log that cannot be written changes nothing.
}

/** Writes a message as one line, with its level. */
function onStderr(level: string): LogFunction {
  return (message) => {
    const { stderr } = process;
    // Whoever read it may be gone. Without a listener that would be an uncaught exception.
    if (writes++ === 0) stderr.on('error', onWriteError);
    stderr.write(`tritonts: ${level}: ${printableLine(message)}\n`, () => {
      // The stream tells of an error after this call.
      setImmediate(() => {
        if (--writes === 0) stderr.removeListener('error', onWriteError);
      });
    });
  };
}

/** Errors and warnings on stderr. */
const standard: Log = { error: onStderr('error'), warn: onStderr('warning'), info: ignore, verbose: ignore };

/** A function of the caller's, which cannot do harm. */
function harmless(logger: object, log: (...args: Parameters<LogFunction>) => unknown): LogFunction {
  return (message, context) => {
    try {
      const returned = log.call(logger, message, context);
      // An async function's rejection would be an uncaught exception.
      if (typeof returned === 'object' && returned !== null) Promise.resolve(returned).catch(() => undefined);
    } catch {
      // A log that fails changes nothing.
    }
  };
}

/**
 * Checks a logger.
 *
 * @param value - Undefined: errors and warnings go to stderr.
 * @throws {@link TritonError} INVALID_ARG for anything else than an object whose levels are functions.
 */
export function resolveLogger(value: unknown): Log {
  if (value === undefined || value === null) return standard;
  if (typeof value !== 'object') throw expected('an object with functions', 'options.logger', value);
  const log = { ...standard };
  for (const level of levels) {
    const given: unknown = (value as Logger)[level] ?? undefined;
    if (given !== undefined && typeof given !== 'function')
      throw expected('a function', `options.logger.${level}`, given);
    // A function of a program in JavaScript takes whatever it is given.
    log[level] = given === undefined ? ignore : harmless(value, given as LogFunction);
  }
  return log;
}
