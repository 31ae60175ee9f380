/** The source of items of `Model.map`: an iterable or async iterable of the caller's. */

import { AsyncResource } from 'node:async_hooks';
import type { Inputs } from '../../tensor/inputs.js';

/** Takes items from a source. */
export interface ItemConsumer {
  /** Whether another item is wanted now. */
  readonly hasRoom: boolean;
  /** Takes an item. What it throws counts as an error of the source. */
  take(inputs: Inputs): void;
  /** The source failed. It is exhausted then. */
  sourceFailed(error: unknown): void;
  /**
   * An async source has answered: {@link take} or {@link sourceFailed} was called, or the source is
   * exhausted.
   */
  sourceAnswered(): void;
}

/** See the head of this file. */
export class ItemSource {
  readonly #items: Iterator<Inputs, unknown> | undefined;
  readonly #asyncItems: AsyncIterator<Inputs, unknown> | undefined;
  readonly #consumer: ItemConsumer;
  /** The source runs in the async context (`AsyncLocalStorage`) of the code that called `map`. */
  readonly #context: AsyncResource = new AsyncResource('tritonts.map');
  readonly #pullNow = (): void => {
    if (this.#asyncItems) this.#pullAsync(this.#asyncItems);
    else if (this.#items) this.#pullAll(this.#items);
  };
  /** Whether an async source was asked for its next item. */
  #pulling = false;
  #exhausted = false;

  constructor(items: Iterable<Inputs> | AsyncIterable<Inputs>, consumer: ItemConsumer) {
    this.#consumer = consumer;
    if (Symbol.asyncIterator in items) this.#asyncItems = items[Symbol.asyncIterator]();
    else this.#items = items[Symbol.iterator]();
  }

  /** Whether it has no more items, or must not be asked for any. */
  get exhausted(): boolean {
    return this.#exhausted;
  }

  /**
   * Asks for items while the consumer has room. Mostly responses make room, which come in any async context.
   */
  pull(): void {
    this.#context.runInAsyncScope(this.#pullNow);
  }

  /** Tells the source to end. Resolves when it has ended, and rejects with whatever it throws then. */
  async end(): Promise<void> {
    if (this.#exhausted) return;
    this.#exhausted = true;
    this.#items?.return?.();
    const ending = this.#asyncItems?.return?.();
    // A generator that was asked for an item ends only after that item, which may never come.
    if (this.#pulling) ending?.catch(() => undefined);
    else await ending;
  }

  #pullAll(items: Iterator<Inputs, unknown>): void {
    while (this.#consumer.hasRoom) {
      try {
        this.#take(items.next());
      } catch (error) {
        this.#fail(error);
      }
    }
  }

  #pullAsync(items: AsyncIterator<Inputs, unknown>): void {
    if (this.#pulling || !this.#consumer.hasRoom) return;
    this.#pulling = true;
    let step: Promise<IteratorResult<Inputs, unknown>>;
    try {
      step = Promise.resolve(items.next());
    } catch (error) {
      this.#pulling = false;
      this.#fail(error);
      return;
    }
    step
      .then((next) => {
        this.#pulling = false;
        this.#take(next);
      })
      .catch((error: unknown) => {
        this.#pulling = false;
        this.#fail(error);
      })
      .finally(() => {
        this.#consumer.sourceAnswered();
      });
  }

  #take({ done, value }: IteratorResult<Inputs, unknown>): void {
    if (done === true) {
      this.#exhausted = true;
      return;
    }
    this.#consumer.take(value);
  }

  #fail(error: unknown): void {
    this.#exhausted = true;
    this.#consumer.sourceFailed(error);
  }
}
