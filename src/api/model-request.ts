/** A request as a model in JavaScript gets it. */

import type {
  ModelRegistry,
  ModelSignature,
  OutputNames,
  SignatureFor,
  TensorOf,
} from '../tensor/signature.js';
import type { AnyTensor } from '../tensor/tensor.js';

/** What the types of a model may be given: its name in {@link ModelRegistry}, or its signature. */
// eslint-disable-next-line @typescript-eslint/no-redundant-type-constituents -- programs add names
export type NameOrSignature = keyof ModelRegistry | ModelSignature;

/** The inputs that a model with signature `S` gets: an optional one may be missing. */
export type ReceivedOf<S extends ModelSignature> = string extends keyof S['inputs']
  ? Readonly<Record<string, AnyTensor>>
  : { readonly [N in keyof S['inputs']]: TensorOf<NonNullable<S['inputs'][N]>> };

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
   * The inputs by name, with the batch dimension where the model has one. Inputs of 64 KiB and more are views
   * of the engine's memory, and are detached when the batch has ended: `clone()` what is kept. Smaller ones are
   * copies.
   */
  readonly inputs: ReceivedOf<SignatureFor<M>>;
  /** The caller's `id`; empty if it has none. */
  readonly id: string;
  /** Names of the outputs that the caller asked for. Others may be left out. */
  readonly wanted: readonly OutputNames<SignatureFor<M>>[];
  /** The caller's `parameters`. Whole numbers are bigints. */
  readonly parameters: Readonly<Record<string, string | number | bigint | boolean>>;
  /** The caller's `priority`; 0: none. */
  readonly priority: number;
  /** The caller's `timeoutUs`; 0: none. */
  readonly timeoutUs: number;
  /**
   * Aborts when the caller has given the request up, within about 10 ms. It is made when it is first read, in
   * `execute` or later.
   */
  readonly signal: AbortSignal;
}
