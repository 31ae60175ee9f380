/** Results of decoupled models: iterables, whose items are the responses to a request. */

/** What gives the responses to a request, one after the other. */
export interface OpenedIterator {
  readonly isAsync: boolean;
  /** Calls the iterator. What it returns is any value of the model, and what it throws is the model's. */
  next(): unknown;
  /** Tells it that nobody reads any more, if it wants to know. */
  leave(): unknown;
}

/** A stream among the results of a batch. */
export interface OpenedStream {
  /** Of its request in the batch. */
  readonly position: number;
  readonly iterator: OpenedIterator;
}

interface Iterates {
  readonly [Symbol.iterator]?: unknown;
  readonly [Symbol.asyncIterator]?: unknown;
}

/** Whether a result is an iterable of responses. A string is none. */
export function iterates(result: unknown): result is object {
  if (typeof result !== 'object' || result === null) return false;
  const { [Symbol.iterator]: plain, [Symbol.asyncIterator]: async }: Iterates = result;
  return typeof async === 'function' || typeof plain === 'function';
}

/**
 * Begins to iterate. Of a result that can be iterated in both ways the asynchronous one is taken.
 *
 * @throws What the model's function throws; an Error if it returns no iterator.
 */
export function iteratorOf(result: object): OpenedIterator {
  const isAsync = typeof (result as Iterates)[Symbol.asyncIterator] === 'function';
  // `iterates` has looked.
  const iterable = result as Record<symbol, () => unknown>;
  const made = iterable[isAsync ? Symbol.asyncIterator : Symbol.iterator]?.();
  if (typeof made !== 'object' || made === null || !('next' in made)) {
    throw new Error('an iterable of responses returned no iterator');
  }
  // What it does not have, or has in another form, throws when it is called.
  const iterator = made as { next(): unknown; return?(): unknown };
  return {
    isAsync,
    next: () => iterator.next(),
    leave: () => iterator.return?.(),
  };
}

/** What a call of next() has given. */
export interface Item {
  readonly done: boolean;
  readonly value: unknown;
}

/**
 * Reads what next() has returned, or resolved to.
 *
 * @throws An Error if it is no iterator's result.
 */
export function itemOf(given: unknown): Item {
  if (typeof given !== 'object' || given === null) {
    throw new TypeError('expected next() of an iterable of responses to return an object');
  }
  const { done, value } = given as { readonly done?: unknown; readonly value?: unknown };
  return { done: Boolean(done), value };
}
