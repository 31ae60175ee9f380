/** Sequences: requests that belong together, in their order, such as the chunks of a recording. */

import type { InputsOf, ModelSignature, OutputNames, WantedOf } from '../tensor/signature.js';
import type { InferOptions, InferResult, RequestedOutputs } from './results.js';

/**
 * Options of {@link Model.sequence}.
 *
 * @example
 * const sequence = model.sequence({ id: 'call-17', signal: hungUp.signal });
 */
export interface SequenceOptions {
  /**
   * The correlation id, as in {@link RequestSequence}, but not 0 or empty (default: a number that no other
   * sequence of this process has).
   */
  readonly id?: number | bigint | string | undefined;
  /**
   * Ends the sequence, and cancels its requests in flight (default: none). The server frees the sequence's slot
   * when one of these requests was still waiting, otherwise after `max_sequence_idle_microseconds`.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a request of a {@link Sequence}: those of {@link Model.infer} without `sequence`. */
export type SequenceInferOptions<
  N extends string = string,
  W extends RequestedOutputs<N> | undefined = RequestedOutputs<N> | undefined,
> = Omit<InferOptions<N, W>, 'sequence'>;

/**
 * A {@link Sequence} with a known signature, which types its inputs and outputs by name.
 *
 * @typeParam S - The signature.
 *
 * @example
 * await using sequence = server.model('recogniser').sequence(); // a TypedSequence, if the name is in ModelRegistry
 */
export interface TypedSequence<S extends ModelSignature> extends AsyncDisposable {
  /** The correlation id. */
  readonly id: bigint | string;
  /** Whether no more requests are accepted: after {@link end}, an abort, or an error that ended the sequence. */
  readonly ended: boolean;
  /**
   * Runs the next request of the sequence. The first one starts the sequence. Calls need not be awaited: the
   * requests run one after the other, in the order of the calls.
   *
   * A request that cannot be sent, such as one with wrong inputs, does not count: the sequence goes on with the
   * next call. An error of the model itself (INTERNAL, UNSUPPORTED) does not end the sequence either. Any other
   * error of a request that was sent ends it.
   *
   * @param inputs - As for {@link Model.infer}.
   * @param options - As for {@link Model.infer}, without `sequence`.
   * @throws {@link TritonError} INVALID_ARG after `end()`; after an abort, CANCELLED; after an error that ended the
   *   sequence, the code of that error, which is the `cause`; otherwise as {@link Model.infer}.
   *
   * @example
   * const { outputs } = await sequence.infer({ chunk });
   */
  infer<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    inputs: InputsOf<S>,
    options?: SequenceInferOptions<OutputNames<S>, W>,
  ): Promise<InferResult<WantedOf<S, W>>>;
  /**
   * Ends the sequence without a request, and waits until the requests in flight have ended. Only a request can
   * tell the server that a sequence has ended, so the server frees its slot after
   * `max_sequence_idle_microseconds`. Pass the last inputs to `end` to free it at once. It never rejects, and
   * may be called again.
   *
   * @example
   * await sequence.end();
   */
  end(): Promise<void>;
  /**
   * Runs the last request of the sequence, and ends it.
   *
   * @param inputs - As for {@link Model.infer}.
   * @param options - As for {@link Model.infer}, without `sequence`.
   * @throws {@link TritonError} INVALID_ARG after an earlier `end()`, otherwise as {@link infer}.
   *
   * @example
   * const { outputs } = await sequence.end({ chunk: last });
   */
  end<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    inputs: InputsOf<S>,
    options?: SequenceInferOptions<OutputNames<S>, W>,
  ): Promise<InferResult<WantedOf<S, W>>>;
  /**
   * Calls {@link end} without inputs, for `await using`.
   *
   * @example
   * await using sequence = model.sequence();
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Requests of a model that belong together. {@link Model.sequence} returns it. It takes care of the id and the
 * flags of each request. Every {@link TypedSequence} is a Sequence.
 *
 * @example
 * await using sequence = model.sequence();
 * for (const chunk of chunks) await sequence.infer({ chunk });
 * const { outputs } = await sequence.end({ chunk: last });
 */
export interface Sequence extends TypedSequence<ModelSignature> {
  // As in Model: this member makes TypeScript compare a TypedSequence with this interface member by member.
  /** The correlation id. */
  readonly id: bigint | string;
}
