/**
 * The one error class of the package.
 *
 * Codes are Triton's (`TRITONSERVER_Error_Code`); everything the library throws or rejects with is a
 * {@link TritonError}, whatever went wrong underneath.
 */

/** Triton's error codes (`TRITONSERVER_ERROR_*`). */
export type TritonErrorCode =
  | 'INVALID_ARG'
  | 'NOT_FOUND'
  | 'UNAVAILABLE'
  | 'UNSUPPORTED'
  | 'ALREADY_EXISTS'
  | 'CANCELLED'
  | 'INTERNAL'
  | 'UNKNOWN';

/** Where in a configuration file an error is. */
export interface ErrorLocation {
  /** Path of the file as it was opened. */
  readonly file: string;
  /** Line, counted from 1; 0 where the fault is something that is missing from the file. */
  readonly line: number;
  /** Path of the field, such as `input[0].dims`; empty where the text could not be parsed that far. */
  readonly field: string;
}

/** What an error may carry besides its code and message. */
export interface TritonErrorOptions {
  /** The error underneath, kept as it was. */
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
 * Every rejection and throw of the library.
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
  /** What kind of failure it is; HTTP and gRPC statuses derive from it. */
  readonly code: TritonErrorCode;
  /** The error underneath, if there is one. */
  declare readonly cause?: unknown;
  /** Name of the model concerned, if there is one. */
  declare readonly model?: string;
  /** Name of the tensor concerned, if there is one. */
  declare readonly tensor?: string;
  /** The line of a configuration file concerned, if there is one. */
  declare readonly location?: ErrorLocation;

  /**
   * @param code - Triton's code.
   * @param message - Names the model, tensor or line, what was expected and what came.
   * @param options - Cause, model, tensor and location; absent ones are not set.
   */
  constructor(code: TritonErrorCode, message: string, options: TritonErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.code = code;
    if (options.model !== undefined) this.model = options.model;
    if (options.tensor !== undefined) this.tensor = options.tensor;
    if (options.location !== undefined) this.location = options.location;
  }

  /** True for errors of any copy of the package loaded in this process. */
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
