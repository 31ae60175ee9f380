/** The log of `tritonts serve` in Triton's format: level, time and process, then the message. */

import { open, type FileHandle } from 'node:fs/promises';
import { unavailable } from '../../errors.js';
import type {
  LogChanges,
  LogControl,
  LogSettings as ToldSettings,
} from '../../endpoints/service/log-settings.js';
import type { Log as ServerLog } from '../../logger.js';
import { printable, printableLine } from '../../printable.js';
import { thrownText } from '../../thrown-text.js';

/** The settings of the log. */
export interface LogSettings {
  /** If at least 1, requests and the steps of loads are logged. */
  readonly verbose: number;
  readonly info: boolean;
  readonly warning: boolean;
  readonly error: boolean;
  readonly format: 'default' | 'ISO8601';
  /** Undefined: stderr. */
  readonly file: string | undefined;
}

/**
 * The head of a line: level, time and process. Times are UTC, as in Triton.
 *
 * @param time - Milliseconds since 1970, with fractions.
 */
export function lineHead(level: string, time: number, format: LogSettings['format']): string {
  const iso = new Date(time).toISOString();
  if (format === 'ISO8601') return `${iso.slice(0, 19)}Z ${level} ${process.pid} tritonts]`;
  const [, month = '', day = '', clock = ''] = /^\S{4}-(\d\d)-(\d\d)T(\S+)Z$/.exec(iso) ?? [];
  const microseconds = String(Math.floor((time % 1) * 1000)).padStart(3, '0');
  return `${level}${month}${day} ${clock}${microseconds} ${process.pid} tritonts]`;
}

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

  error(message: string): void {
    if (this.#settings.error) this.#line('E', printableLine(message));
  }

  warning(message: string): void {
    if (this.#settings.warning) this.#line('W', printableLine(message));
  }

  info(message: string): void {
    if (this.#settings.info) this.#line('I', printableLine(message));
  }

  /** Logs a text of several lines below its head, as Triton prints tables. */
  table(text: string): void {
    if (this.#settings.info) this.#line('I', `\n${printable(text)}`);
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

  verbose(message: string): void {
    if (this.isVerbose) this.#line('I', printableLine(message));
  }

  /** The log as a server's logger. */
  get logger(): ServerLog {
    return {
      error: (message) => {
        this.error(message);
      },
      warn: (message) => {
        this.warning(message);
      },
      info: (message) => {
        this.info(message);
      },
      verbose: (message) => {
        this.verbose(message);
      },
    };
  }

  /** Resolves when everything is written; nothing may be logged afterwards. */
  async close(): Promise<void> {
    await this.#written;
    await this.#file?.close();
  }

  #line(level: string, message: string): void {
    const line = `${lineHead(level, performance.timeOrigin + performance.now(), this.#settings.format)} ${message}\n`;
    if (this.#file === undefined) process.stderr.write(line);
    else {
      // Lines that arrive during a write are written together.
      if (this.#waiting === '') this.#written = this.#written.then(() => this.#write());
      this.#waiting += line;
    }
  }

  async #write(): Promise<void> {
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
