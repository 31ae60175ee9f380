/** A sequence of a model in this process. Its requests are sent at once: the engine keeps their order. */

import { checkObject } from '../../argument-checks.js';
import type { EntryPoint } from '../../dispatch/types.js';
import { invalidArgument } from '../../errors.js';
import type { InferOptions, InferResult } from '../../api/results.js';
import type { Sequence, SequenceInferOptions, SequenceOptions } from '../../api/sequence.js';
import type { Inputs } from '../../tensor/inputs.js';
import { withCaller } from '../requests/with-caller.js';
import { SequenceLife } from './sequence-life.js';

/** The part of a model that its sequences need. */
export interface SequencedModel {
  readonly name: string;
  readonly version: string | undefined;
  /**
   * As `infer`, but a request that cannot be sent throws.
   *
   * @throws {@link TritonError} Any code of {@link Model.infer}; also what the caller's getters throw.
   */
  inferSent(inputs: Inputs, options: InferOptions, origin: EntryPoint): Promise<InferResult>;
}

/**
 * Options of a request, without `sequence`.
 *
 * @throws {@link TritonError} INVALID_ARG for an option `sequence`.
 */
export function withoutSequence<O extends object>(options: O | null | undefined): O {
  const given: unknown = options ?? {};
  checkObject(given, 'infer options');
  // Copied, so that each of the caller's getters runs once.
  const copy: { readonly sequence?: unknown } = { ...given };
  if (copy.sequence !== undefined && copy.sequence !== null) {
    throw invalidArgument("the requests of a sequence take no option 'sequence'");
  }
  return copy as O;
}

/** See the head of this file. */
export class ModelSequence implements Sequence {
  readonly #model: SequencedModel;
  readonly #life: SequenceLife;

  /** @throws {@link TritonError} INVALID_ARG for wrong options, UNSUPPORTED for an id that is too long. */
  constructor(model: SequencedModel, options: SequenceOptions | null | undefined) {
    this.#model = model;
    this.#life = new SequenceLife(model.name, model.version, options);
  }

  get id(): bigint | string {
    return this.#life.id;
  }

  get ended(): boolean {
    return this.#life.ended;
  }

  infer(inputs: Inputs, options?: SequenceInferOptions): Promise<InferResult> {
    return this.#send(entry.infer, inputs, options, false);
  }

  end(): Promise<void>;
  end(inputs: Inputs, options?: SequenceInferOptions): Promise<InferResult>;
  end(inputs?: Inputs | null, options?: SequenceInferOptions): Promise<InferResult | void> {
    if (inputs === undefined || inputs === null) return this.#life.finish();
    return this.#send(entry.end, inputs, options, true);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#life.finish();
  }

  #send(
    origin: EntryPoint,
    inputs: Inputs,
    options: SequenceInferOptions | null | undefined,
    end: boolean,
  ): Promise<InferResult> {
    const life = this.#life;
    let sent: Promise<InferResult>;
    try {
      life.checkOpen();
      const own = withoutSequence(options);
      const signal = life.signalWith(own.signal ?? undefined);
      sent = this.#model.inferSent(inputs, { ...own, signal, sequence: life.next(end) }, origin);
    } catch (error) {
      return failed(withCaller(error, origin));
    }
    if (end) life.close();
    return life.follow(sent, end);
  }
}

/** A promise that rejects with what was thrown. */
function failed(error: unknown): Promise<never> {
  return new Promise((_, reject) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- also what a caller's getter threw
    reject(error);
  });
}

/** The functions that callers call. Frames above theirs are cut from stacks. */
/* eslint-disable @typescript-eslint/unbound-method -- never called from here */
const entry = {
  infer: ModelSequence.prototype.infer,
  end: ModelSequence.prototype.end as EntryPoint,
};
/* eslint-enable @typescript-eslint/unbound-method */
