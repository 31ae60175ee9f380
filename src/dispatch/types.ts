/** What goes through a dispatcher: requests, what it must know of a model version, and the durations of a batch. */

import type { EncodedInputs } from '../tensor/encoded.js';
import type { MemoryViews } from '../tensor/memory.js';
import type { TypedArray } from '../tensor/types.js';
import type { ViewKind } from '../tensor/views.js';

/** Durations of the batch that a request ran in, in nanoseconds. */
export interface Timings {
  /** Rows of the batch: how many items ran together. */
  readonly batchSize: number;
  /** From the tick the request was made in to the start of its batch. */
  readonly queueNs: number;
  /** Gathering inputs. Triton: `compute_input`. */
  readonly computeInputNs: number;
  /** The model itself. Triton: `compute_infer`. */
  readonly computeInferNs: number;
  /** Distributing outputs. Triton: `compute_output`. */
  readonly computeOutputNs: number;
  /** Whether the answer came from the response cache. */
  readonly cacheHit: boolean;
}

/** One output of a model version. */
export interface TargetOutput {
  readonly name: string;
  /** The caller's shape of it; the model's dims are `rank` words from `position` on. */
  shape(words: Int32Array, position: number, rank: number): readonly number[];
  /** It, from `size` bytes at `offset` of shared memory, which are copied. */
  readonly cut: (shape: readonly number[], memory: MemoryViews, offset: number, size: number) => unknown;
  /** It, from memory that is its alone. */
  readonly make: (shape: readonly number[], buffer: ArrayBuffer) => unknown;
  /**
   * It, with an array of the caller's for its data.
   *
   * @param bytes - What its elements take.
   * @returns The tensor, and the array's memory, which is to be filled.
   * @throws {TritonError} INVALID_ARG where the array has not just as many elements, or lost its memory meanwhile.
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
  /** The class of array that each input's bytes are written as. */
  readonly wires: readonly ViewKind[];
  /**
   * The dispatcher's own: for how many requests a group gets room. A power of two, at first 1: it doubles when a group
   * was full.
   */
  groupRoom: number;
  /**
   * The batch of a request; 0 for models without a batch dimension.
   *
   * @throws {TritonError} INVALID_ARG where it has no input that tells.
   */
  rowsOf(inputs: EncodedInputs): number;
  /** Lets go of what the last request's inputs were. */
  releaseInputs(): void;
  /** An empty `outputs` object of a result. */
  emptyOutputs(): Record<string, unknown>;
  /** @throws {RangeError} where the model has no such output. */
  output(index: number): TargetOutput;
  /** The result that a request resolves with. */
  result(id: string, outputs: Record<string, unknown>, timings: Timings): unknown;
  /**
   * The version that serves requests of this one's now that it is unloaded, if it takes them as they are.
   *
   * @throws {TritonError} What keeps it from being asked.
   */
  successor(shapes: readonly (readonly number[] | undefined)[]): DispatchTarget;
}

/** Who waits for a request; exactly one of these is called, once. They do not throw. */
export interface Waiter<T> {
  resolve(result: T): void;
  reject(error: unknown): void;
}

/** Options of a request that concern its way through the dispatcher. */
export interface DispatchRequest {
  readonly id: string;
  /** Indices of the wanted outputs; undefined: all. */
  readonly wanted: readonly number[] | undefined;
  readonly signal: AbortSignal | undefined;
  /** Whom the request belongs to, for `Dispatcher.cancelAll`: many with one signal cost each a place in its list. */
  readonly owner: object | undefined;
  /** Large outputs in memory that V8 allocated. */
  readonly ownOutputs: boolean;
  /** The caller's arrays for outputs, by their positions. */
  readonly into: readonly (TypedArray | undefined)[] | undefined;
  /** Whether it asked for this version, and no other one may answer it. */
  readonly pinned: boolean;
}

/** A public function of the package, of which only the identity matters. */
export type EntryPoint = (...args: never[]) => unknown;

/** Where a request was made: the public function that is being called, or the frames of whoever called it. */
export type Origin = EntryPoint | string;

/** Options of a dispatcher. */
export interface DispatcherOptions {
  /** Bound of its slabs. */
  readonly maxInFlightBytes: number;
  /** Failures after queueing carry the line that made the request. */
  readonly captureStacks: boolean;
}
