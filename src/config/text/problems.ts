/** Collects the problems of a configuration, and turns them into one error that lists all of them. */

import {
  TritonError,
  type ErrorLocation,
  type TritonErrorCode,
  type TritonErrorOptions,
  type TritonErrorReason,
} from '../../errors.js';

/** The source of a configuration. */
export interface ConfigSource {
  /** Path of the file, or words that name the source. */
  readonly file: string;
  /** The place of the field at a path, or of the nearest written part around it; 0 and 0 if there is none. */
  readonly positionOf: (path: string) => Position;
}

/** A place in a text, counted from 1; 0 and 0 for nowhere. */
export interface Position {
  readonly line: number;
  /** In UTF-16 units. */
  readonly column: number;
}

const nowhere: Position = { line: 0, column: 0 };

/** A source without places. */
export function unplaced(file: string): ConfigSource {
  return { file, positionOf: () => nowhere };
}

/** One thing that is wrong with a configuration. */
export interface Problem {
  /**
   * INVALID_ARG: it must be changed. UNSUPPORTED: Triton accepts it, but it is not built here. UNAVAILABLE:
   * it is right, but this machine lacks what it needs.
   */
  readonly code: Extract<TritonErrorCode, 'INVALID_ARG' | 'UNSUPPORTED' | 'UNAVAILABLE'>;
  /** Path of the field; empty if the text is wrong before any field. */
  readonly path: string;
  /** What was expected and what came. */
  readonly text: string;
  /** The line, if it is not the one that the source has for the path. */
  readonly line?: number | undefined;
}

/** Adds a problem, INVALID_ARG by default. Returns null, which stands for the wrong value. */
export type Report = (path: string, text: string, code?: Problem['code']) => null;

/** The code of an error with several problems is the first of these that occurs. */
const codes: readonly Problem['code'][] = ['INVALID_ARG', 'UNSUPPORTED', 'UNAVAILABLE'];

/** How many problems are listed. The others are counted. */
export const mostListed = 50;

/** How many problems are counted. A list of half a million wrong numbers fits into a file. */
export const mostCounted = 1000;

/** A {@link Report} that adds to a list. */
export function reportInto(problems: Problem[]): Report {
  return (path, text, code = 'INVALID_ARG') => {
    if (problems.length < mostCounted) problems.push({ code, path, text });
    return null;
  };
}

/**
 * One error for all problems of a configuration. Its message has a line for each, `file:line: field: text`.
 * If there are several, its cause is an AggregateError of one error each. The code is INVALID_ARG if a
 * problem has it, then UNSUPPORTED, then UNAVAILABLE.
 *
 * @param problems - At least one.
 * @param source - Finds the lines.
 * @param model - Name of the model, if it is known.
 */
export function problemsError(
  problems: readonly Problem[],
  source: ConfigSource,
  model: string | undefined,
): TritonError {
  const errors = problems.slice(0, mostListed).map((problem) => {
    const line = problem.line ?? source.positionOf(problem.path).line;
    return errorAt(problem.code, { file: source.file, line, field: problem.path }, problem.text, {
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

/** What a configuration cannot have for now is something that the machine lacks. */
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
 * The error for a field that turned out to be wrong when it was used, such as one that names a file. It may
 * have any code. The field's place is given as in {@link problemsError}.
 */
export function fieldError(
  code: TritonErrorCode,
  source: ConfigSource,
  field: string,
  text: string,
  options: TritonErrorOptions,
): TritonError {
  return errorAt(code, { file: source.file, line: source.positionOf(field).line, field }, text, options);
}

/** Throws {@link problemsError} if there is a problem. */
export function throwProblems(
  problems: readonly Problem[],
  source: ConfigSource,
  model: string | undefined,
): void {
  if (problems.length > 0) throw problemsError(problems, source, model);
}
