/** Collects the problems of a configuration, and makes one error that lists all of them. */

import {
  TritonError,
  type ErrorLocation,
  type TritonErrorCode,
  type TritonErrorOptions,
  type TritonErrorReason,
} from '../../errors.js';

/** The source of a configuration. */
export interface ConfigSource {
  /** Path of the file, or a text that names the source. */
  readonly file: string;
  /**
   * Returns the position of the field at a path, or of the nearest enclosing part that was written; 0 and 0 if
   * there is none.
   */
  readonly positionOf: (path: string) => Position;
}

/** A position in a text, counted from 1; 0 and 0 if unknown. */
export interface Position {
  readonly line: number;
  /** In UTF-16 units. */
  readonly column: number;
  /** The source of the field, if it is another one than the configuration's. */
  readonly file?: string | undefined;
}

const nowhere: Position = { line: 0, column: 0 };

/** A source without positions. */
export function unplaced(file: string): ConfigSource {
  return { file, positionOf: () => nowhere };
}

/** A single fault of a configuration. */
export interface Problem {
  /**
   * INVALID_ARG: the configuration must be changed. UNSUPPORTED: Triton accepts it, but this server does not
   * implement it. UNAVAILABLE: it is valid, but this machine lacks what it needs.
   */
  readonly code: Extract<TritonErrorCode, 'INVALID_ARG' | 'UNSUPPORTED' | 'UNAVAILABLE'>;
  /** Path of the field; empty if the fault precedes any field. */
  readonly path: string;
  /** What was expected and what was found. */
  readonly text: string;
  /** The line, if it differs from the source's line for the path. */
  readonly line?: number | undefined;
}

/** Adds a problem, INVALID_ARG by default. Returns null, which takes the place of the wrong value. */
export type Report = (path: string, text: string, code?: Problem['code']) => null;

/** In order of precedence: an error with several problems has the first of these codes that occurs. */
const codes: readonly Problem['code'][] = ['INVALID_ARG', 'UNSUPPORTED', 'UNAVAILABLE'];

/** The maximum number of listed problems. Further ones are only counted. */
export const mostListed = 50;

/** The maximum number of counted problems. A file may contain a list of half a million wrong numbers. */
export const mostCounted = 1000;

/** Returns a {@link Report} that adds to a list. */
export function reportInto(problems: Problem[]): Report {
  return (path, text, code = 'INVALID_ARG') => {
    if (problems.length < mostCounted) problems.push({ code, path, text });
    return null;
  };
}

/**
 * Makes one error for all problems of a configuration. Its message has a line for each,
 * `file:line: field: text`. If there are several, its cause is an AggregateError with one error for each. The
 * code is INVALID_ARG if any problem has it, otherwise UNSUPPORTED, otherwise UNAVAILABLE.
 *
 * @param problems - At least one.
 * @param source - Finds the lines.
 * @param model - Name of the model, if known.
 */
export function problemsError(
  problems: readonly Problem[],
  source: ConfigSource,
  model: string | undefined,
): TritonError {
  const errors = problems.slice(0, mostListed).map((problem) => {
    const found = source.positionOf(problem.path);
    const file = found.file ?? source.file;
    const line = problem.line ?? found.line;
    return errorAt(problem.code, { file, line, field: problem.path }, problem.text, {
      model,
      reason: reasonOf(problem.code),
    });
  });
  const [first] = errors;
  if (first === undefined) throw new TypeError('problemsError() needs at least one problem');
  if (errors.length === 1) return first;
  const left = problems.length - errors.length;
  const more = problems.length < mostCounted ? left : 'many';
  const code = codes.find((one) => problems.some((problem) => problem.code === one)) ?? 'INVALID_ARG';
  return new TritonError(
    code,
    errors.map(({ message }) => message).join('\n') + (left > 0 ? `\n… and ${more} more` : ''),
    {
      model,
      reason: reasonOf(code),
      location: first.location,
      cause: new AggregateError(errors, `${problems.length} problems`),
    },
  );
}

/** UNAVAILABLE means that the machine lacks something. */
function reasonOf(code: Problem['code']): TritonErrorReason | undefined {
  return code === 'UNAVAILABLE' ? 'MISSING' : undefined;
}

function errorAt(
  code: TritonErrorCode,
  location: ErrorLocation,
  text: string,
  options: TritonErrorOptions,
): TritonError {
  const { file, line, field } = location;
  const place = line > 0 ? `${file}:${line}` : file;
  return new TritonError(code, `${place}: ${field === '' ? '' : `${field}: `}${text}`, {
    ...options,
    location,
  });
}

/**
 * Makes the error for a field that proved wrong when it was used, such as the name of a file. It may have any
 * code. The field's position is given as in {@link problemsError}.
 */
export function fieldError(
  code: TritonErrorCode,
  source: ConfigSource,
  field: string,
  text: string,
  options: TritonErrorOptions,
): TritonError {
  const { line, file = source.file } = source.positionOf(field);
  return errorAt(code, { file, line, field }, text, options);
}

/** Throws {@link problemsError} if there are any problems. */
export function throwProblems(
  problems: readonly Problem[],
  source: ConfigSource,
  model: string | undefined,
): void {
  if (problems.length > 0) throw problemsError(problems, source, model);
}
