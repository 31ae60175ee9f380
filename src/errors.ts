/**
 * The one error class of the package. Its codes are Triton's (`TRITONSERVER_Error_Code`). Everything that the
 * library throws or rejects with is a {@link TritonError}, whatever went wrong underneath.
 */

/** Triton's error codes, without their prefix `TRITONSERVER_ERROR_`. */
export type TritonErrorCode =
  | 'INVALID_ARG'
  | 'NOT_FOUND'
  | 'UNAVAILABLE'
  | 'UNSUPPORTED'
  | 'ALREADY_EXISTS'
  | 'CANCELLED'
  | 'INTERNAL'
  | 'UNKNOWN';

/** The place of an error in a configuration file. */
export interface ErrorLocation {
  /** Path of the file, as it was opened. */
  readonly file: string;
  /** Line, counted from 1; 0 if something is missing from the file. */
  readonly line: number;
  /** Path of the field, such as `input[0].dims`; empty if the text could not be parsed that far. */
  readonly field: string;
}

/** What an error may carry besides its code and message. */
export interface TritonErrorOptions {
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** Name of the model concerned. */
  readonly model?: string | undefined;
  /** Name of the tensor concerned. */
  readonly tensor?: string | undefined;
  /** The line of a configuration file concerned. */
  readonly location?: ErrorLocation | undefined;
}

/** Marks errors of every copy of the package that a process may load, so that `instanceof` holds across them. */
const brand = Symbol.for('tritonts.TritonError');

/**
 * What every call of the library throws or rejects with.
 *
 * @example
 * try {
 *   await model.infer({ x: new Float32Array(3) });
 * } catch (error) {
 *   if (error instanceof TritonError && error.code === 'UNAVAILABLE') retryLater();
 *   else throw error;
 * }
 */
export class TritonError extends Error {
  /** The kind of failure. HTTP and gRPC statuses derive from it. */
  readonly code: TritonErrorCode;
  /** The error that led to this one, if there is one. */
  declare readonly cause?: unknown;
  /** Name of the model concerned, if there is one. */
  declare readonly model?: string;
  /** Name of the tensor concerned, if there is one. */
  declare readonly tensor?: string;
  /** The line of a configuration file concerned, if there is one. */
  declare readonly location?: ErrorLocation;

  /**
   * @param code - Triton's code.
   * @param message - It names the model, tensor or line, what was expected and what came.
   * @param options - Cause, model, tensor and location. Absent ones are not set on the error.
   */
  constructor(code: TritonErrorCode, message: string, options: TritonErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    if (options.model !== undefined) this.model = options.model;
    if (options.tensor !== undefined) this.tensor = options.tensor;
    if (options.location !== undefined) this.location = options.location;
  }

  /** True for errors of any copy of the package that this process has loaded. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[brand] === true;
  }
}
Object.defineProperty(TritonError.prototype, 'name', {
  value: 'TritonError',
  configurable: true,
  writable: true,
});
Object.defineProperty(TritonError.prototype, brand, { value: true });

/** An INVALID_ARG error: what was expected, where, and what came. */
export function invalidArgument(message: string, options?: TritonErrorOptions): TritonError {
  return new TritonError('INVALID_ARG', message, options);
}
