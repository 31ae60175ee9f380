/**
 * The life of a {@link Sequence}, in this process and remote: its id, the flags of its next request, and what ended
 * it.
 *
 *     open ── end() ──────────────────────────────────> closed: takes no more calls
 *      └───── signal, error of a request that was sent ─> failed: also calls that wait for their turn reject
 */

import { readOptions, show } from '../../argument-checks.js';
import { invalidArgument, TritonError, type TritonErrorCode } from '../../errors.js';
import type { SequenceMark } from '../../dispatch/types.js';
import { printableLine } from '../../printable.js';
import type { SequenceOptions } from '../../api/sequence.js';
import { checkSequenceId } from '../requests/sequence-option.js';
import { tellEnd, tellStart, type SequenceMessage } from './sequence-channels.js';
import { newSequenceId } from './sequence-ids.js';

const keys: readonly (keyof SequenceOptions)[] = ['id', 'signal'];

/** Codes of errors that a model itself gives, after which its sequence goes on. */
const ofModels: readonly TritonErrorCode[] = ['INTERNAL', 'UNSUPPORTED', 'ALREADY_EXISTS', 'UNKNOWN'];

/** See the head of this file. */
export class SequenceLife {
  readonly id: bigint | string;
  readonly #signal: AbortSignal | undefined;
  readonly #model: string;
  readonly #message: SequenceMessage;
  #begun = false;
  #closed = false;
  #failure: TritonError | undefined;
  #toldEnd = false;
  #inFlight = 0;
  /** Called when no request is in flight. */
  readonly #resting: (() => void)[] = [];
  #unlisten: (() => void) | undefined;

  /**
   * @throws {@link TritonError} INVALID_ARG for wrong options, UNSUPPORTED for an id that is too long.
   */
  constructor(model: string, version: string | undefined, options: unknown) {
    const { id, signal } = readOptions<SequenceOptions>(options, keys, 'sequence options');
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      const text = `model '${model}': expected an AbortSignal for options.signal but received ${show(signal)}`;
      throw invalidArgument(text, { model });
    }
    this.id = id === undefined ? newSequenceId() : checkSequenceId(model, 'options.id', id);
    if (this.id === 0n) {
      const text = `model '${model}': expected an id other than 0 and '' for options.id; leave it out to get one`;
      throw invalidArgument(text, { model });
    }
    this.#model = model;
    this.#signal = signal;
    this.#message = { model, version, id: this.id };
    if (signal === undefined) return;
    const abort = (): void => {
      const text = `model '${model}': ${this.#name} was cancelled by its signal`;
      this.#fail(new TritonError('CANCELLED', text, { model, cause: signal.reason }));
    };
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    this.#unlisten = (): void => {
      signal.removeEventListener('abort', abort);
    };
  }

  get ended(): boolean {
    return this.#closed || this.#failure !== undefined;
  }

  /** @throws {@link TritonError} The reason why no more calls are accepted. */
  checkOpen(): void {
    this.checkAlive();
    if (!this.#closed) return;
    const text = `model '${this.#model}': ${this.#name} has ended; begin another one with model.sequence()`;
    throw invalidArgument(text, { model: this.#model });
  }

  /** @throws {@link TritonError} The error that ended the sequence, also for a call that was accepted before. */
  checkAlive(): void {
    // A new object, because callers may change what they catch.
    if (this.#failure) throw new TritonError(this.#failure.code, this.#failure.message, this.#failure);
  }

  /** The signal of a request with a signal of its own, if it has one. */
  signalWith(own: AbortSignal | undefined): AbortSignal | undefined {
    if (this.#signal === undefined || own === undefined) return own ?? this.#signal;
    // A value of a wrong type is refused where the options are checked.
    return (own as unknown) instanceof AbortSignal ? AbortSignal.any([own, this.#signal]) : own;
  }

  /** The id and flags of the next request. */
  next(end: boolean): SequenceMark {
    return { id: this.id, start: !this.#begun, end };
  }

  /** Whether its first request was sent. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Whether its signal ends it. */
  get hasSignal(): boolean {
    return this.#signal !== undefined;
  }

  /** Accepts no more calls. */
  close(): void {
    this.#closed = true;
  }

  /** Accepts calls again, because the last request could not be sent. */
  reopen(): void {
    this.#closed = false;
  }

  /** Called when a request was sent. {@link answered} is called when it has ended. */
  sent(): void {
    this.#inFlight++;
    if (this.#begun) return;
    this.#begun = true;
    tellStart(this.#message);
  }

  /**
   * Called when a request has ended, before its caller sees that.
   *
   * @param end - Whether it had END.
   * @param error - What it rejects with; undefined: it resolves.
   */
  answered(end: boolean, error: unknown): void {
    this.#inFlight--;
    if (this.#inFlight === 0) while (this.#resting.length > 0) this.#resting.pop()?.();
    if (error instanceof TritonError && !ofModels.includes(error.code)) this.#failBy(error);
    else if (end) this.#tellEnd(error);
  }

  /** Ends the sequence without a request. Resolves when none of its requests is in flight. */
  async finish(): Promise<void> {
    this.#closed = true;
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#resting.push(resolve));
    this.#tellEnd(undefined);
  }

  #failBy(error: TritonError): void {
    const { code, reason, message } = error;
    const text = `model '${this.#model}': ${this.#name} has ended, because one of its requests failed: ${message}`;
    this.#fail(new TritonError(code, text, { model: this.#model, reason, cause: error }));
  }

  #fail(failure: TritonError): void {
    this.#failure ??= failure;
    this.#tellEnd(failure);
  }

  #tellEnd(error: unknown): void {
    this.#unlisten?.();
    this.#unlisten = undefined;
    if (this.#toldEnd || !this.#begun) return;
    this.#toldEnd = true;
    if (error !== undefined) this.#message.error = error;
    tellEnd(this.#message);
  }

  get #name(): string {
    return typeof this.id === 'string' ? `sequence '${printableLine(this.id)}'` : `sequence ${this.id}`;
  }
}
