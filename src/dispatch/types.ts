/**
 * The types of a dispatcher: requests, what it needs to know of a model version, and the timings of a batch.
 */

import type { Timings } from '../api/timings.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import type { MemoryViews } from '../tensor/memory.js';
import type { TypedArray } from '../tensor/types.js';
import type { ViewKind } from '../tensor/views.js';

/** An output of a model version. */
export interface TargetOutput {
  readonly name: string;
  /** The shape that the caller sees. The model's dims are `rank` words from `position` on. */
  shape(words: Int32Array, position: number, rank: number): readonly number[];
  /** The output from `size` bytes at `offset` of shared memory, which are copied. */
  readonly cut: (shape: readonly number[], memory: MemoryViews, offset: number, size: number) => unknown;
  /** The output from memory that it owns from now on. */
  readonly make: (shape: readonly number[], buffer: ArrayBuffer) => unknown;
  /**
   * The output in an array of the caller's.
   *
   * @param bytes - The size of its elements.
   * @returns The tensor, and the array's memory, which has to be filled.
   * @throws {@link TritonError} INVALID_ARG for an array with another number of elements, or one that lost
   *   its memory.
   */
  into(shape: readonly number[], bytes: number, target: TypedArray): IntoTarget;
}

/** An output whose data is an array of the caller's. */
export interface IntoTarget {
  readonly tensor: unknown;
  readonly memory: Uint8Array;
}

/** What a dispatcher needs to know of a model version. */
export interface DispatchTarget {
  /** The engine's id of the version. */
  readonly uid: number;
  readonly name: string;
  /** Its inputs, by position. */
  readonly inputs: readonly { readonly name: string }[];
  /** The class of array that each input's bytes are written with. */
  readonly wires: readonly ViewKind[];
  /**
   * How many requests a new group gets room for; only the dispatcher uses it. It starts at 1, is a power of
   * two, and doubles when a group was full.
   */
  groupRoom: number;
  /** How many requests a group has at most, a power of two. 1: requests that look alike may not be sent together. */
  readonly mostRoom: number;
  /**
   * The batch of a request; 0 for models without a batch dimension.
   *
   * @throws {@link TritonError} INVALID_ARG for a request without an input that tells the batch.
   */
  rowsOf(inputs: EncodedInputs): number;
  /** Releases the arrays of the last request's inputs. */
  releaseInputs(): void;
  /** An empty `outputs` object for a result. */
  emptyOutputs(): Record<string, unknown>;
  /**
   * The output at a position.
   *
   * @throws {RangeError} If the model has no such output.
   */
  output(index: number): TargetOutput;
  /** The result that a request resolves with. */
  result(id: string, outputs: Record<string, unknown>, timings: Timings): unknown;
  /**
   * The version that serves this one's requests after its unload, if it takes them unchanged.
   *
   * @throws {@link TritonError} The error of a request that no version serves, or that the successor does
   *   not take.
   */
  successor(shapes: readonly (readonly number[] | undefined)[]): DispatchTarget;
}

/** Waits for a request. Exactly one of these functions is called, once. They do not throw. */
export interface Waiter<T> {
  resolve(result: T): void;
  reject(error: unknown): void;
}

/** The options of a request that the dispatcher uses. */
export interface DispatchRequest {
  readonly id: string;
  /** Positions of the wanted outputs; undefined: all. */
  readonly wanted: readonly number[] | undefined;
  readonly signal: AbortSignal | undefined;
  /**
   * What schedulers and models are told besides: priority, time-out and parameters, as words of a record; undefined:
   * nothing.
   */
  readonly attributes: Int32Array | undefined;
  /**
   * The owner of the request, for `Dispatcher.cancelAll`. An owner costs less than a signal, which keeps a
   * list of its requests.
   */
  readonly owner: object | undefined;
  /** Whether large outputs come in memory that V8 allocated. */
  readonly ownOutputs: boolean;
  /** The caller's arrays for outputs, by position of the output. */
  readonly into: readonly (TypedArray | undefined)[] | undefined;
  /** Whether the request asked for this version, so that no other one may serve it. */
  readonly pinned: boolean;
}

/** A public function of the package, used only for its identity. */
export type EntryPoint = (...args: never[]) => unknown;

/** Where a request was made: the public function that is being called, or the stack frames of its caller. */
export type Origin = EntryPoint | string;

/** Options of a dispatcher. */
export interface DispatcherOptions {
  /** The most bytes of its slabs. */
  readonly maxInFlightBytes: number;
  /** Whether errors of queued requests show the line that made the request. */
  readonly captureStacks: boolean;
}
