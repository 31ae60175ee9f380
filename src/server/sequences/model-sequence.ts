/** A sequence of a model in this process. Its requests are sent at once: the engine keeps their order. */

import { checkObject } from '../../argument-checks.js';
import type { EntryPoint, SequenceMark, Waiter } from '../../dispatch/types.js';
import { invalidArgument } from '../../errors.js';
import type { InferOptions, InferResult } from '../../api/results.js';
import type { Sequence, SequenceInferOptions, SequenceOptions } from '../../api/sequence.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { CheckedOptions } from '../requests/infer-options.js';
import { makePromise, takeSettler } from '../requests/settler.js';
import { withCaller } from '../requests/with-caller.js';
import { SequenceLife } from './sequence-life.js';

/** The part of a model that its sequences need. */
export interface SequencedModel {
  readonly name: string;
  readonly version: string | undefined;
  /**
   * Checks the options of a request, which have no `sequence`.
   *
   * @throws {@link TritonError} INVALID_ARG for wrong ones.
   */
  checkMarked(options: InferOptions | undefined, mark: SequenceMark): CheckedOptions;
  /** Whether {@link checkMarked} returns the same for a mark without options, whenever it is called. */
  readonly isConstant: boolean;
  /** See `ModelHandle.sendChecked`. */
  sendChecked(inputs: Inputs, options: CheckedOptions, waiter: Waiter<InferResult>, origin: EntryPoint): void;
}

/** Waits for a request of a sequence. */
class SequenceWaiter implements Waiter<InferResult> {
  readonly #life: SequenceLife;
  readonly #end: boolean;
  readonly #settler: Waiter<InferResult>;

  constructor(life: SequenceLife, end: boolean, settler: Waiter<InferResult>) {
    this.#life = life;
    this.#end = end;
    this.#settler = settler;
  }

  resolve(result: InferResult): void {
    this.#life.answered(this.#end, undefined);
    this.#settler.resolve(result);
  }

  reject(error: unknown): void {
    this.#life.answered(this.#end, error);
    this.#settler.reject(error);
  }
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
  /** The options of requests without options and flags, which most requests are; undefined: not made yet. */
  #plain: CheckedOptions | undefined;

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
    const promise = makePromise();
    const settler = takeSettler();
    try {
      life.checkOpen();
      const checked = this.#check(options, end);
      this.#model.sendChecked(inputs, checked, new SequenceWaiter(life, end, settler), origin);
    } catch (error) {
      settler.reject(withCaller(error, origin));
      return promise;
    }
    if (end) life.close();
    life.sent();
    return promise;
  }

  #check(options: SequenceInferOptions | null | undefined, end: boolean): CheckedOptions {
    const life = this.#life;
    const model = this.#model;
    if (options !== undefined && options !== null) {
      const own = withoutSequence(options);
      const signal = life.signalWith(own.signal ?? undefined);
      return model.checkMarked({ ...own, signal }, life.next(end));
    }
    if (life.hasSignal) return model.checkMarked({ signal: life.signalWith(undefined) }, life.next(end));
    if (end || !life.begun || !model.isConstant) return model.checkMarked(undefined, life.next(end));
    this.#plain ??= model.checkMarked(undefined, life.next(false));
    return this.#plain;
  }
}

/** The functions that callers call. Frames above theirs are cut from stacks. */
/* eslint-disable @typescript-eslint/unbound-method -- never called from here */
const entry = {
  infer: ModelSequence.prototype.infer,
  end: ModelSequence.prototype.end as EntryPoint,
};
/* eslint-enable @typescript-eslint/unbound-method */
