/** Types of requests, of model versions as requests need them, and of waiters. */

import type { StopSignal } from '../call-signal.js';
import type { RequestParameters } from '../api/request-parameters.js';
import type { Timings } from '../api/timings.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import type { MemoryViews } from '../tensor/memory.js';
import type { RegionRange } from '../tensor/region-tensor.js';
import type { TypedArray } from '../tensor/types.js';
import type { ViewKind } from '../tensor/views.js';

/** An output of a model version. */
export interface TargetOutput {
  readonly name: string;
  /** The shape that the caller sees. The model's dims are the `rank` words from `position` on. */
  shape(words: Int32Array, position: number, rank: number): readonly number[];
  /** Makes the output from `size` bytes at `offset` of shared memory, which are copied. */
  readonly cut: (shape: readonly number[], memory: MemoryViews, offset: number, size: number) => unknown;
  /** Makes the output from memory that it then owns. */
  readonly make: (shape: readonly number[], buffer: ArrayBuffer) => unknown;
  /**
   * Makes the output in an array of the caller's.
   *
   * @param bytes - The size of its elements.
   * @returns The tensor, and the array's memory, which the caller of this function must fill.
   * @throws {@link TritonError} INVALID_ARG if the array has another number of elements, or lost its memory.
   */
  into(shape: readonly number[], bytes: number, target: TypedArray): IntoTarget;
  /** What stands for an output of `byteSize` bytes that the engine has written to a region. */
  stored(shape: readonly number[], byteSize: number): unknown;
}

/** An output whose data is an array of the caller's. */
export interface IntoTarget {
  readonly tensor: unknown;
  readonly memory: Uint8Array;
}

/** A model version, as far as sending requests and delivering responses needs it. */
export interface DispatchTarget {
  /** The engine's id of the version. */
  readonly uid: number;
  readonly name: string;
  /** The version's number as text. */
  readonly version?: string | undefined;
  /** The version's inputs, by position. */
  readonly inputs: readonly { readonly name: string }[];
  /** The class of array with which each input's bytes are written. */
  readonly wires: readonly ViewKind[];
  /**
   * The number of requests that a new group gets room for; only this folder uses it. It starts at 1, is a power
   * of two, and doubles when a group was full.
   */
  groupRoom: number;
  /**
   * The maximum number of requests in a group, a power of two. 1: requests of the same form must not be sent
   * together.
   */
  readonly mostRoom: number;
  /**
   * The batch size of a request; 0 for models without a batch dimension.
   *
   * @throws {@link TritonError} INVALID_ARG if the request has no input that determines the batch size.
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
  /**
   * The result that a request resolves with.
   *
   * @param parameters - Those of the response (default: none).
   */
  result(
    id: string,
    outputs: Record<string, unknown>,
    timings: Timings,
    parameters?: RequestParameters,
  ): unknown;
  /**
   * The version that serves this version's requests after its unload, if it accepts them unchanged.
   *
   * @param isPinned - Whether it has to have the same number.
   * @throws {@link TritonError} The error for a request that no version serves, or that the successor does not
   *   accept.
   */
  successor(shapes: readonly (readonly number[] | undefined)[], isPinned?: boolean): DispatchTarget;
  /**
   * Has the model loaded again, if it is lazy and not served. The promise rejects with the reason why it cannot be.
   *
   * @returns Undefined if there is nothing to wait for.
   */
  reload?(): Promise<void> | undefined;
}

export type { RegionRange } from '../tensor/region-tensor.js';

/**
 * The inputs of a request that come from regions, and its outputs that go there. Other inputs come from the
 * encoded inputs. Other outputs go to pages, or to arrays of `into`.
 */
export interface RequestRegions {
  /** By position of the input. Such an input has a shape in the encoded inputs, but no data. */
  readonly sources: readonly (RegionRange | undefined)[];
  /** By position of the output. The output may be smaller than its range. */
  readonly targets: readonly (RegionRange | undefined)[];
}

/** Waits for a request. Exactly one of these functions is called, once. They do not throw. */
export interface Waiter<T> {
  resolve(result: T): void;
  reject(error: unknown): void;
}

/** The sequence of a request. */
export interface SequenceMark {
  /** A number of 64 bits, or a text of 1 to 128 bytes. 0n: none. */
  readonly id: bigint | string;
  /** Whether it is the first request of the sequence, and whether the last. */
  readonly start: boolean;
  readonly end: boolean;
}

/** The options of a request that this folder uses. */
export interface DispatchRequest {
  readonly id: string;
  /** Positions of the requested outputs; undefined: all. */
  readonly wanted: readonly number[] | undefined;
  readonly signal: StopSignal | undefined;
  /** Priority, time-out and parameters for schedulers and models, as words of a record; undefined: none. */
  readonly attributes: Int32Array | undefined;
  /**
   * The owner of the request, for `EngineConnection.cancelAll`. An owner costs less than a signal, which keeps a list
   * of its requests.
   */
  readonly owner: object | undefined;
  /** Whether to return large outputs in memory that V8 allocated. */
  readonly ownOutputs: boolean;
  /** The caller's arrays for outputs, by position of the output. */
  readonly into: readonly (TypedArray | undefined)[] | undefined;
  /** The regions that the request reads and writes; undefined: none. */
  readonly regions: RequestRegions | undefined;
  /** Whether the caller asked for this version, so that no other version may serve the request. */
  readonly pinned: boolean;
  /** The sequence that the request belongs to; undefined: the caller names none. */
  readonly sequence: SequenceMark | undefined;
}

/** A public function of the package, used only for its identity. */
export type EntryPoint = (...args: never[]) => unknown;

/** Where a request was made: the public function that is being called, or the stack frames of its caller. */
export type Origin = EntryPoint | string;

/** Options of an engine connection. */
export interface EngineConnectionOptions {
  /** The maximum total size of slabs, in bytes. */
  readonly maxInFlightBytes: number;
  /** Whether errors of queued requests show the line that made the request. */
  readonly captureStacks: boolean;
  /** Called for each request that begins a sequence, just before it is sent. It does not throw. */
  readonly onSequence?: ((target: DispatchTarget, id: bigint | string) => void) | undefined;
}
