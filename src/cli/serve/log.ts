/** The log of `tritonts serve`: in Triton's format (level, time and process, then the message), or as JSON. */

import { open, type FileHandle } from 'node:fs/promises';
import type {
  LogChanges,
  LogControl,
  LogSettings as ToldSettings,
} from '../../endpoints/service/log-settings.js';
import { TritonError, unavailable } from '../../errors.js';
import type { Log as ServerLog, LogContext } from '../../logger.js';
import { printable, printableLine } from '../../printable.js';
import { thrownText } from '../../thrown-text.js';

/** How a line begins; with `json`, a line is one JSON object. */
export type LogFormat = ToldSettings['log_format'];

type Level = 'error' | 'warning' | 'info' | 'verbose';

/** The settings of the log. */
export interface LogSettings {
  /** If at least 1, requests and the steps of loads are logged. */
  readonly verbose: number;
  readonly info: boolean;
  readonly warning: boolean;
  readonly error: boolean;
  readonly format: LogFormat;
  /** Undefined: stderr. */
  readonly file: string | undefined;
}

/**
 * The head of a line: level, time and process. Times are UTC, as in Triton.
 *
 * @param time - Milliseconds since 1970, with fractions.
 */
export function lineHead(level: string, time: number, format: Exclude<LogFormat, 'json'>): string {
  const iso = new Date(time).toISOString();
  if (format === 'ISO8601') return `${iso.slice(0, 19)}Z ${level} ${process.pid} tritonts]`;
  const [, month = '', day = '', clock = ''] = /^\S{4}-(\d\d)-(\d\d)T(\S+)Z$/.exec(iso) ?? [];
  const microseconds = String(Math.floor((time % 1) * 1000)).padStart(3, '0');
  return `${level}${month}${day} ${clock}${microseconds} ${process.pid} tritonts]`;
}

/** Triton's letters. Verbose lines have that of information. */
const letters: Readonly<Record<Level, string>> = { error: 'E', warning: 'W', info: 'I', verbose: 'I' };

/**
 * A line of JSON: `time` (ISO 8601 in UTC, with milliseconds), `level`, `pid` and `message`, and if they are known `model`, and the
 * `code` and `reason` of the error.
 */
export function jsonLine(level: Level, time: number, message: string, context: LogContext): string {
  const { model, error } = context;
  const { code, reason } = error instanceof TritonError ? error : { code: undefined, reason: undefined };
  const head = { time: new Date(time).toISOString(), level, pid: process.pid };
  return JSON.stringify({ ...head, message, model, code, reason });
}

const nothing: LogContext = {};

/** See the head of this file. */
export class Log implements LogControl {
  #settings: LogSettings;
  /** Undefined: stderr. */
  readonly #file: FileHandle | undefined;
  /** Writes to the file are made one after the other. */
  #written: Promise<void> = Promise.resolve();
  #waiting = '';
  #isLost = false;
  #onChange: () => void = () => undefined;

  private constructor(settings: LogSettings, file: FileHandle | undefined) {
    this.#settings = settings;
    this.#file = file;
  }

  /**
   * Opens the log.
   *
   * @throws {@link TritonError} UNAVAILABLE if the file cannot be written.
   */
  static async open(settings: LogSettings): Promise<Log> {
    const { file } = settings;
    if (file === undefined) {
      // The reader of stderr may be gone. Without a listener its error would end the process.
      process.stderr.on('error', () => undefined);
      return new Log(settings, undefined);
    }
    try {
      return new Log(settings, await open(file, 'a'));
    } catch (cause) {
      const why = thrownText(cause);
      throw unavailable('SYSTEM_REFUSED', `the log cannot be written to '${file}': ${why}`, { cause });
    }
  }

  error(message: string, context?: LogContext): void {
    if (this.#settings.error) this.#line('error', message, context);
  }

  warning(message: string, context?: LogContext): void {
    if (this.#settings.warning) this.#line('warning', message, context);
  }

  info(message: string, context?: LogContext): void {
    if (this.#settings.info) this.#line('info', message, context);
  }

  /** Logs a text of several lines below its head, as Triton prints tables. */
  table(text: string): void {
    if (!this.#settings.info) return;
    if (this.#settings.format === 'json') this.#line('info', text);
    else this.#write(`${this.#head('info')} \n${printable(text)}\n`);
  }

  /** Changes settings at run time, and returns all settings with Triton's names. */
  change(changes: LogChanges): ToldSettings {
    const { verbose, info, warning, error, format, file = '' } = this.#settings;
    const all = {
      log_file: file,
      log_info: info,
      log_warning: warning,
      log_error: error,
      log_verbose_level: verbose,
      log_format: format,
      ...changes,
    };
    this.#settings = {
      ...this.#settings,
      verbose: all.log_verbose_level,
      info: all.log_info,
      warning: all.log_warning,
      error: all.log_error,
      format: all.log_format,
    };
    this.#onChange();
    return all;
  }

  /** Calls `listener` after each {@link change}. */
  onChange(listener: () => void): void {
    const before = this.#onChange;
    this.#onChange = () => {
      before();
      listener();
    };
  }

  /** Whether {@link verbose} writes anything. */
  get isVerbose(): boolean {
    return this.#settings.verbose > 0;
  }

  verbose(message: string, context?: LogContext): void {
    if (this.isVerbose) this.#line('verbose', message, context);
  }

  /** The log as a server's logger. */
  get logger(): ServerLog {
    return {
      error: (message, context) => {
        this.error(message, context);
      },
      warn: (message, context) => {
        this.warning(message, context);
      },
      info: (message, context) => {
        this.info(message, context);
      },
      verbose: (message, context) => {
        this.verbose(message, context);
      },
    };
  }

  /** Resolves when everything is written; nothing may be logged afterwards. */
  async close(): Promise<void> {
    await this.#written;
    await this.#file?.close();
  }

  #head(level: Level, time = now()): string {
    const { format } = this.#settings;
    return lineHead(letters[level], time, format === 'json' ? 'default' : format);
  }

  #line(level: Level, message: string, context = nothing): void {
    const time = now();
    const line =
      this.#settings.format === 'json'
        ? jsonLine(level, time, message, context)
        : `${this.#head(level, time)} ${printableLine(message)}`;
    this.#write(`${line}\n`);
  }

  #write(line: string): void {
    if (this.#file === undefined) process.stderr.write(line);
    else {
      // Lines that arrive during a write are written together.
      if (this.#waiting === '') this.#written = this.#written.then(() => this.#writeWaiting());
      this.#waiting += line;
    }
  }

  async #writeWaiting(): Promise<void> {
    const text = this.#waiting;
    this.#waiting = '';
    try {
      await this.#file?.appendFile(text);
    } catch (error) {
      // The server continues if the log cannot be written. The error is printed once to stderr.
      if (this.#isLost) return;
      this.#isLost = true;
      const why = thrownText(error);
      console.error(
        printableLine(`tritonts serve: the log cannot be written to '${this.#settings.file ?? ''}': ${why}`),
      );
    }
  }
}

/** Milliseconds since 1970, with fractions. */
function now(): number {
  return performance.timeOrigin + performance.now();
}
