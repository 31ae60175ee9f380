/** Settings of a log that clients may read and change, under Triton's names. */

import { invalidArgument, TritonError } from '../../errors.js';

/** The formats of a line. `json` is not Triton's. */
export const logFormats = ['default', 'ISO8601', 'json'] as const;

/** A log's settings in Triton's calls. */
export interface LogSettings {
  /** Empty: stderr. */
  readonly log_file: string;
  readonly log_info: boolean;
  readonly log_warning: boolean;
  readonly log_error: boolean;
  readonly log_verbose_level: number;
  readonly log_format: (typeof logFormats)[number];
}

/** Settings that may be changed. */
export type LogChanges = Partial<Omit<LogSettings, 'log_file'>>;

/** A log whose settings clients may read and change. */
export interface LogControl {
  /** Changes the given settings, and returns all settings. */
  change(changes: LogChanges): LogSettings | Promise<LogSettings>;
}

const mostLevel = 2 ** 32 - 1;

/**
 * Reads changes. As in Triton, unknown names are ignored, and the file cannot be changed.
 *
 * @throws {@link TritonError} INVALID_ARG for a value of the wrong type and an unknown format, UNSUPPORTED for the
 *   file.
 */
export function readLogChanges(given: Iterable<readonly [string, unknown]>): LogChanges {
  const changes: { -readonly [K in keyof LogChanges]: LogChanges[K] } = {};
  const wrong = (name: string, expected: string, value: unknown): TritonError =>
    invalidArgument(`expected ${expected} for log setting '${name}' but received ${typeof value}`);
  for (const [name, value] of given) {
    // null counts as absent.
    if (value === null) continue;
    switch (name) {
      case 'log_file':
        throw new TritonError('UNSUPPORTED', "log setting 'log_file' cannot be changed over the network");
      case 'log_info':
      case 'log_warning':
      case 'log_error':
        if (typeof value !== 'boolean') throw wrong(name, 'true or false', value);
        changes[name] = value;
        break;
      case 'log_verbose_level':
        if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > mostLevel)
          throw wrong(name, 'an unsigned integer of 32 bits', value);
        changes[name] = value;
        break;
      case 'log_format': {
        if (typeof value !== 'string') throw wrong(name, 'a string', value);
        const format = logFormats.find((known) => known === value);
        if (format === undefined) {
          throw invalidArgument(
            `log setting 'log_format': expected one of ${logFormats.join(', ')} but received '${value.slice(0, 64)}'`,
          );
        }
        changes[name] = format;
      }
    }
  }
  return changes;
}
