/**
 * The package's only error class. Its codes are Triton's (`TRITONSERVER_Error_Code`). Everything that the
 * library throws or rejects with is a {@link TritonError}, whatever the underlying failure was.
 */

import { thrownText } from './thrown-text.js';

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

const errorCodes: readonly TritonErrorCode[] = [
  'INVALID_ARG',
  'NOT_FOUND',
  'UNAVAILABLE',
  'UNSUPPORTED',
  'ALREADY_EXISTS',
  'CANCELLED',
  'INTERNAL',
  'UNKNOWN',
];

/**
 * Why an error is UNAVAILABLE. The set is closed: a new reason comes only with a new minor version.
 *
 * - `QUEUE_FULL`: the model's queue already has `max_queue_size` requests.
 * - `TIMED_OUT`: the request's `timeoutMs` or `timeoutUs`, or the queue's time-out, has passed.
 * - `CLOSED`: the server, or the connection to it, is closed, or the process exits.
 * - `NOT_READY`: the model is being loaded or unloaded.
 * - `TOO_MUCH_IN_FLIGHT`: `maxInFlightBytes`, or a limit of an endpoint, was reached.
 * - `NO_MEMORY`: the system has no memory or thread left for the call.
 * - `MISSING`: a library, program, package or device that the call needs is absent or unusable.
 * - `INSTANCE_ENDED`: the model's thread or process ended while it ran the request; a new one is started.
 * - `UNREAD`: the caller of a stream left too many responses unread.
 * - `CIRCULAR_CALL`: the call, load, unload or poll would wait for itself.
 * - `DEVICE_LOST`: the GPU is lost for this process.
 * - `LOAD_FAILED`: the model, or another model that it needs, could not be loaded.
 * - `NO_ADDON`: the native part of the package cannot be loaded.
 * - `NO_CONNECTION`: there was no connection to the server, or the connection broke. An inference may have run.
 * - `NOT_ALLOWED`: the server was not created for this call, or does not let this caller make it.
 * - `SYSTEM_REFUSED`: the system refused an address, a file or a connection.
 */
export type TritonErrorReason =
  | 'QUEUE_FULL'
  | 'TIMED_OUT'
  | 'CLOSED'
  | 'NOT_READY'
  | 'TOO_MUCH_IN_FLIGHT'
  | 'NO_MEMORY'
  | 'MISSING'
  | 'INSTANCE_ENDED'
  | 'UNREAD'
  | 'CIRCULAR_CALL'
  | 'DEVICE_LOST'
  | 'LOAD_FAILED'
  | 'NO_ADDON'
  | 'NO_CONNECTION'
  | 'NOT_ALLOWED'
  | 'SYSTEM_REFUSED';

/** The reasons of UNAVAILABLE, and whether the same call may succeed soon. */
const retryableByReason: Readonly<Record<TritonErrorReason, boolean>> = {
  QUEUE_FULL: true,
  TIMED_OUT: true,
  CLOSED: false,
  NOT_READY: true,
  TOO_MUCH_IN_FLIGHT: true,
  NO_MEMORY: true,
  MISSING: false,
  INSTANCE_ENDED: true,
  UNREAD: false,
  CIRCULAR_CALL: false,
  DEVICE_LOST: false,
  LOAD_FAILED: false,
  NO_ADDON: false,
  NO_CONNECTION: true,
  NOT_ALLOWED: false,
  SYSTEM_REFUSED: false,
};

/** All reasons. */
export const errorReasons: readonly TritonErrorReason[] = Object.freeze(
  // The keys of the literal are exactly those of its type.
  Object.keys(retryableByReason) as TritonErrorReason[],
);

/** The place of an error in a configuration file. */
export interface ErrorLocation {
  /** Path of the file, as it was opened. */
  readonly file: string;
  /** Line, counted from 1; 0 if something is missing from the file. */
  readonly line: number;
  /** Path of the field, such as `input[0].dims`; empty if the text could not be parsed that far. */
  readonly field: string;
}

/** Optional properties of an error, besides its code and message. */
export interface TritonErrorOptions {
  /** The error that caused this one. */
  readonly cause?: unknown;
  /** Why the error is UNAVAILABLE. */
  readonly reason?: TritonErrorReason | undefined;
  /** Name of the model concerned. */
  readonly model?: string | undefined;
  /** Name of the tensor concerned. */
  readonly tensor?: string | undefined;
  /** The line of a configuration file concerned. */
  readonly location?: ErrorLocation | undefined;
}

/** The form in which {@link TritonError.toJSON} writes an error. It can be posted to another thread. */
export interface TritonErrorJSON {
  readonly name: 'TritonError';
  readonly code: TritonErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly reason?: TritonErrorReason;
  readonly model?: string;
  readonly tensor?: string;
  readonly index?: number;
  readonly location?: ErrorLocation;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * Marks the errors of every copy of the package that a process loads, so that `instanceof` works across copies.
 */
const brand = Symbol.for('tritonts.TritonError');

/**
 * The error that every call of the library throws or rejects with.
 *
 * @example
 * try {
 *   await model.infer({ x: new Float32Array(3) });
 * } catch (error) {
 *   if (error instanceof TritonError && error.retryable) retryLater();
 *   else throw error;
 * }
 */
export class TritonError extends Error {
  /** The kind of failure. The HTTP and gRPC status derives from it. */
  readonly code: TritonErrorCode;
  /**
   * Why the error is UNAVAILABLE. Absent for other codes, and for errors of a model or another server that gave
   * no reason.
   */
  declare readonly reason?: TritonErrorReason;
  /** The error that caused this one, if any. */
  declare readonly cause?: unknown;
  /** Name of the model concerned, if any. */
  declare readonly model?: string;
  /** Name of the tensor concerned, if any. */
  declare readonly tensor?: string;
  /** Position of the item concerned, from 0, in errors of `map`. */
  declare readonly index?: number;
  /** The line of a configuration file concerned, if any. */
  declare readonly location?: ErrorLocation;

  /**
   * @param code - Triton's code.
   * @param message - Names the model, tensor or line, what was expected, and what was received.
   * @param options - Reason, cause, model, tensor and location. Absent options are not set on the error.
   */
  constructor(code: TritonErrorCode, message: string, options?: TritonErrorOptions | null) {
    const given: TritonErrorOptions = options ?? {};
    super(message, 'cause' in given ? { cause: given.cause } : undefined);
    this.code = code;
    // null counts as absent, as in all functions' options.
    const reason = given.reason ?? undefined;
    const model = given.model ?? undefined;
    const tensor = given.tensor ?? undefined;
    const location = given.location ?? undefined;
    if (reason !== undefined) this.reason = reason;
    if (model !== undefined) this.model = model;
    if (tensor !== undefined) this.tensor = tensor;
    if (location !== undefined) this.location = location;
  }

  /**
   * Whether the same call may succeed later without a change. True for UNAVAILABLE, except for reasons that
   * last. After a broken connection the call may have run already, so repeat only calls that may safely run
   * twice.
   */
  get retryable(): boolean {
    if (this.code !== 'UNAVAILABLE') return false;
    return this.reason === undefined || retryableByReason[this.reason];
  }

  /**
   * Returns a plain object, because errors lose their class and properties on the way to another thread.
   * {@link from} turns it back into an error.
   */
  toJSON(): TritonErrorJSON {
    const { name, code, message, reason, retryable, model, tensor, index, location } = this;
    return {
      name: name as 'TritonError', // From the prototype.
      code,
      message,
      retryable,
      ...(reason !== undefined && { reason }),
      ...(model !== undefined && { model }),
      ...(tensor !== undefined && { tensor }),
      ...(index !== undefined && { index }),
      ...(location !== undefined && { location }),
    };
  }

  /**
   * Makes an error from the object that {@link toJSON} returned. A TritonError is returned unchanged; any other
   * value becomes INTERNAL with the value's text.
   *
   * @example
   * port.on('message', ({ error }) => reject(TritonError.from(error)));
   */
  static from(value: unknown): TritonError {
    if (value instanceof TritonError) return value;
    const said: Partial<Record<keyof TritonErrorJSON, unknown>> = isObject(value) ? value : {};
    const code = said.name === 'TritonError' ? codeNamed(said.code) : undefined;
    if (code === undefined) {
      return new TritonError('INTERNAL', thrownText(value), {
        cause: value,
      });
    }
    const { message, model, tensor, index } = said;
    const error = new TritonError(code, String(message), {
      reason: reasonNamed(said.reason),
      model: typeof model === 'string' ? model : undefined,
      tensor: typeof tensor === 'string' ? tensor : undefined,
      // Only toJSON writes objects with this name and code.
      location: said.location as ErrorLocation | undefined,
    });
    return typeof index === 'number' ? Object.assign(error, { index }) : error;
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

/** Makes an INVALID_ARG error. The message says what was expected, where, and what was received. */
export function invalidArgument(message: string, options?: TritonErrorOptions): TritonError {
  return new TritonError('INVALID_ARG', message, options);
}

/** Makes an UNAVAILABLE error with its reason. */
export function unavailable(
  reason: TritonErrorReason,
  message: string,
  options?: TritonErrorOptions,
): TritonError {
  return new TritonError('UNAVAILABLE', message, { ...options, reason });
}

/** Whether an operation failed because the system has no descriptor, thread, process or memory left. */
export function isLack(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return /\b(EMFILE|ENFILE|EAGAIN|ENOMEM)\b/.test(`${code} ${error.message}`);
}

/**
 * The reason for a model that could not be loaded because of another model that it needs: that model's reason,
 * or LOAD_FAILED if it has none.
 */
export function reasonOfPart(cause: unknown): TritonErrorReason {
  const told = cause instanceof TritonError && cause.code === 'UNAVAILABLE' ? cause.reason : undefined;
  return told ?? 'LOAD_FAILED';
}

/** The reason with this name; undefined for other values. */
export function reasonNamed(value: unknown): TritonErrorReason | undefined {
  return errorReasons.find((reason) => reason === value);
}

/** A copy of a configuration's error that names the model. */
export function withModel(error: TritonError, model: string): TritonError {
  const { code, message, reason, location, cause } = error;
  return new TritonError(code, message, { reason, model, location, cause });
}

/** The code with this name; undefined for other values. */
export function codeNamed(value: unknown): TritonErrorCode | undefined {
  return errorCodes.find((code) => code === value);
}

/** Triton's words for a model of which nothing more than its configuration could be looked at. */
export function failedToPoll(model: string): string {
  return `failed to load '${model}', failed to poll from model repository`;
}
