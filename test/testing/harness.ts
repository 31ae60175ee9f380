/** What a call of a test server comes to. */

import { TritonError } from '../../src/index.js';

/** The code and the message of the error that a promise rejects with; undefined if it resolves. */
export function failureOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: unknown) => (error instanceof TritonError ? `${error.code}: ${error.message}` : String(error)),
  );
}
