/** Results of decoupled models: iterables, whose items are the responses to a request. */

/** The iterator that yields the responses to a request. */
export interface OpenedIterator {
  readonly isAsync: boolean;
  /** Calls the iterator's `next()`. It may return any value, and throws what the model throws. */
  next(): unknown;
  /** Calls the iterator's `return()`, if it has one, because its responses are no longer read. */
  leave(): unknown;
}

/** A stream among the results of a batch. */
export interface OpenedStream {
  /** The position of its request in the batch. */
  readonly position: number;
  readonly iterator: OpenedIterator;
}

interface Iterates {
  readonly [Symbol.iterator]?: unknown;
  readonly [Symbol.asyncIterator]?: unknown;
}

/** Whether a result is an iterable of responses. A string is not. */
export function iterates(result: unknown): result is object {
  if (typeof result !== 'object' || result === null) return false;
  const { [Symbol.iterator]: plain, [Symbol.asyncIterator]: async }: Iterates = result;
  return typeof async === 'function' || typeof plain === 'function';
}

/**
 * Opens the iterator of a result. The asynchronous iterator is preferred.
 *
 * @throws The error that the model's function throws; an Error if it returns no iterator.
 */
export function iteratorOf(result: object): OpenedIterator {
  const isAsync = typeof (result as Iterates)[Symbol.asyncIterator] === 'function';
  // `iterates` has checked that one of the two is a function.
  const iterable = result as Record<symbol, () => unknown>;
  const made = iterable[isAsync ? Symbol.asyncIterator : Symbol.iterator]?.();
  if (typeof made !== 'object' || made === null || !('next' in made)) {
    throw new Error('an iterable of responses returned no iterator');
  }
  // A missing or malformed method throws when it is called.
  const iterator = made as { next(): unknown; return?(): unknown };
  return {
    isAsync,
    next: () => iterator.next(),
    leave: () => iterator.return?.(),
  };
}

/** The result of a call of next(). */
export interface Item {
  readonly done: boolean;
  readonly value: unknown;
}

/**
 * Reads the value that next() has returned or resolved to.
 *
 * @throws An Error if the value is not an object.
 */
export function itemOf(given: unknown): Item {
  if (typeof given !== 'object' || given === null) {
    throw new TypeError('expected next() of an iterable of responses to return an object');
  }
  const { done, value } = given as { readonly done?: unknown; readonly value?: unknown };
  return { done: Boolean(done), value };
}
