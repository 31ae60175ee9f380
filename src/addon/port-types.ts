/** What goes through a port: requests, what it must know of a model version, and the durations of a batch. */

import type { MemoryViews } from '../tensor/memory.js';
import type { WireArray } from '../tensor/views.js';

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

/** An input as it goes to the engine. */
export interface PortInput {
  readonly shape: readonly number[];
  readonly data: WireArray;
  readonly byteLength: number;
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
}

/** What a port needs to know of a model version. */
export interface PortTarget {
  /** The engine's id of the version. */
  readonly uid: number;
  readonly name: string;
  /** Requests that are alike may be one to the engine, of together at most so many rows; 0: none may. */
  readonly mostJoinedRows: number;
  /** The port's own: how many of them get room, if there may be so many. A power of two, at first 1. */
  joinedRoom: number;
  /** An empty `outputs` object of a result. */
  emptyOutputs(): Record<string, unknown>;
  /** @throws {RangeError} where the model has no such output. */
  output(index: number): TargetOutput;
  /** The result that a request resolves with. */
  result(id: string, outputs: Record<string, unknown>, timings: Timings): unknown;
}

/** Who waits for a request; exactly one of these is called, once. They do not throw. */
export interface Waiter<T> {
  resolve(result: T): void;
  reject(error: unknown): void;
}

/** Options of a request that concern its way through the port. */
export interface PortRequest {
  readonly id: string;
  /** Indices of the wanted outputs; undefined: all. */
  readonly wanted: readonly number[] | undefined;
  readonly signal: AbortSignal | undefined;
  /** Whom the request belongs to, for `Port.cancelAll`: many with one signal cost each a place in its list. */
  readonly owner: object | undefined;
  /** Large outputs in memory that V8 allocated. */
  readonly ownOutputs: boolean;
}

/** A public function of the package, of which only the identity matters. */
export type EntryPoint = (...args: never[]) => unknown;

/** Where a request was made: the public function that is being called, or the frames of whoever called it. */
export type Origin = EntryPoint | string;

/** Options of a port. */
export interface PortOptions {
  /** Bound of its slabs. */
  readonly maxInFlightBytes: number;
  /** Failures after queueing carry the line that made the request. */
  readonly captureStacks: boolean;
}
