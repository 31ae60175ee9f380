/** A request, as a model in JavaScript receives it. */

import type {
  ModelRegistry,
  ModelSignature,
  OutputNames,
  SignatureFor,
  TensorOf,
} from '../tensor/signature.js';
import type { AnyTensor } from '../tensor/tensor.js';
import type { ReceivedSequence } from './request-sequence.js';
import type { RequestParameters } from './request-parameters.js';

/** The type parameter of a model's types: its name in {@link ModelRegistry}, or its signature. */
// eslint-disable-next-line @typescript-eslint/no-redundant-type-constituents -- programs add names
export type NameOrSignature = keyof ModelRegistry | ModelSignature;

/** The inputs that a model with signature `S` receives. An optional input may be missing. */
export type ReceivedOf<S extends ModelSignature> = string extends keyof S['inputs']
  ? Readonly<Record<string, AnyTensor>>
  : { readonly [N in keyof S['inputs']]: TensorOf<NonNullable<S['inputs'][N]>> };

/**
 * What `request.reschedule()` returns: a result that stands for another run of the request.
 *
 * @example
 * const result: Rescheduled = request.reschedule();
 */
export interface Rescheduled {
  /** The request. */
  readonly request: object;
}

/**
 * What `request.withParameters()` returns: a result that stands for outputs and parameters.
 *
 * @example
 * const result: ParameterizedResult = request.withParameters({ y }, { tokens: 12 });
 */
export interface ParameterizedResult {
  /** The outputs. */
  readonly outputs: object;
}

/**
 * A request in a batch.
 *
 * @example
 * execute(requests) {
 *   return requests.map((request) => ({ y: request.inputs.x.as('FP32').data.map((value) => value + 1) }));
 * }
 */
export interface ModelRequest<M extends NameOrSignature = ModelSignature> {
  /**
   * The inputs by name, with the batch dimension if the model batches. An input of 64 KiB or more is a view of
   * the engine's memory and is detached when the batch ends; `clone()` it to keep it. Smaller inputs are
   * copies.
   */
  readonly inputs: ReceivedOf<SignatureFor<M>>;
  /** The caller's `id`; empty if the caller gave none. */
  readonly id: string;
  /** Names of the outputs that the caller asked for. The model may leave out all others. */
  readonly wanted: readonly OutputNames<SignatureFor<M>>[];
  /** The caller's `parameters`. Integers are bigints. */
  readonly parameters: Readonly<Record<string, string | number | bigint | boolean>>;
  /** The caller's `priority`; 0 if the caller gave none. */
  readonly priority: number;
  /** The caller's `timeoutUs`; 0 if the caller gave none. */
  readonly timeoutUs: number;
  /**
   * The sequence that the request belongs to; undefined if the caller gave none. In batches of the strategy `direct`
   * of `sequence_batching`, empty slots are requests without one; their inputs are zeros, and their results are dropped.
   */
  readonly sequence: ReceivedSequence | undefined;
  /**
   * Aborts within about 10 ms after the caller has cancelled the request. The signal is created when this
   * property is first read, in `execute` or later.
   */
  readonly signal: AbortSignal;
  /**
   * Makes a result with parameters, which the caller gets as `parameters` of its result (Triton: response
   * parameters). Return or yield it in place of the outputs. The parameters of a response have at most 64 KiB; more
   * of them, and values of another kind, are a TypeError.
   *
   * @param outputs - The outputs by name, as without parameters.
   * @param parameters - Strings, numbers and booleans by name. Integers may have 64 bits.
   * @example
   * execute(requests) {
   *   return requests.map((request) => request.withParameters({ y: request.inputs.x }, { source: 'cached' }));
   * }
   */
  withParameters(outputs: object, parameters: RequestParameters): ParameterizedResult;
  /**
   * Runs the request again in a later batch, instead of ending it (Triton: the release flag `RESCHEDULE` of iterative
   * sequences). Return it as the request's result, or, of a decoupled model, return it from the request's generator.
   * The request keeps its inputs and its sequence, and neither starts nor ends that any more. Its caller waits on.
   *
   * @throws {@link TritonError} UNSUPPORTED for a model without `sequence_batching { iterative_sequence: true }`.
   * @example
   * execute(requests) {
   *   return requests.map((request) => (this.isDone(request) ? { y: this.result(request) } : request.reschedule()));
   * }
   */
  reschedule(): Rescheduled;
}
