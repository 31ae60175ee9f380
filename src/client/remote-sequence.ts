/**
 * A sequence of a model in another process. Its requests are sent one after the other, because connections do not keep
 * the order of requests.
 */

import type { RequestSequence, SequenceOptions } from '../index.js';
import { SequenceLife } from '../server/sequences/sequence-life.js';
import { withoutSequence } from '../server/sequences/model-sequence.js';
import type { RemoteInputs } from './shared-memory.js';
import type {
  RemoteInferOptions,
  RemoteResult,
  RemoteSequence,
  RemoteSequenceInferOptions,
} from './types.js';

/** Sends a checked request. */
export type SendChecked = (sequence: RequestSequence) => Promise<RemoteResult>;

/** The part of a remote model that its sequences need. */
export interface SequencedRemote {
  readonly name: string;
  readonly version: string | undefined;
  /**
   * Checks a request, and copies its inputs.
   *
   * @throws {@link TritonError} INVALID_ARG for a request that cannot be sent.
   */
  prepare(inputs: RemoteInputs, options: RemoteInferOptions): SendChecked | Promise<SendChecked>;
}

const ignore = (): void => undefined;

/** See the head of this file. */
export class SequenceOfServer implements RemoteSequence {
  readonly #model: SequencedRemote;
  readonly #life: SequenceLife;
  /** Resolves when all requests so far have ended. */
  #last: Promise<void> = Promise.resolve();

  /** @throws {@link TritonError} INVALID_ARG for wrong options, UNSUPPORTED for an id that is too long. */
  constructor(model: SequencedRemote, options: SequenceOptions | null | undefined) {
    this.#model = model;
    this.#life = new SequenceLife(model.name, model.version, options);
  }

  get id(): bigint | string {
    return this.#life.id;
  }

  get ended(): boolean {
    return this.#life.ended;
  }

  infer(inputs: RemoteInputs, options?: RemoteSequenceInferOptions): Promise<RemoteResult> {
    return this.#send(inputs, options, false);
  }

  end(): Promise<void>;
  end(inputs: RemoteInputs, options?: RemoteSequenceInferOptions): Promise<RemoteResult>;
  end(inputs?: RemoteInputs | null, options?: RemoteSequenceInferOptions): Promise<RemoteResult | void> {
    return inputs === undefined || inputs === null ? this.#finish() : this.#send(inputs, options, true);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#finish();
  }

  async #finish(): Promise<void> {
    this.#life.close();
    await this.#last;
    await this.#life.finish();
  }

  async #send(
    inputs: RemoteInputs,
    options: RemoteSequenceInferOptions | null | undefined,
    end: boolean,
  ): Promise<RemoteResult> {
    const life = this.#life;
    life.checkOpen();
    const own = withoutSequence(options);
    const prepared = this.#model.prepare(inputs, {
      ...own,
      signal: life.signalWith(own.signal ?? undefined),
    });
    // It may reject before its turn.
    if (prepared instanceof Promise) prepared.catch(ignore);
    if (end) life.close();
    const answer = this.#inTurn(this.#last, prepared, end);
    this.#last = answer.then(ignore, ignore);
    return answer;
  }

  async #inTurn(
    before: Promise<void>,
    prepared: SendChecked | Promise<SendChecked>,
    end: boolean,
  ): Promise<RemoteResult> {
    const life = this.#life;
    await before;
    let send: SendChecked;
    try {
      life.checkAlive();
      send = await prepared;
      life.checkAlive();
    } catch (error) {
      if (end) life.reopen();
      throw error;
    }
    const sent = send(life.next(end));
    life.sent();
    try {
      const result = await sent;
      life.answered(end, undefined);
      return result;
    } catch (error) {
      life.answered(end, error);
      throw error;
    }
  }
}
