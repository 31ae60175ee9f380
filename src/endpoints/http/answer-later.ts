/** Answers of calls that take a while. */

import type { Exchange } from './exchange.js';

/** Answers with what the promise resolves with, as JSON. */
export function answerWith(exchange: Exchange, action: Promise<object>): void {
  action.then(
    (value) => {
      exchange.sendJson(200, JSON.stringify(value));
    },
    (error: unknown) => {
      exchange.sendError(error);
    },
  );
}

/** Answers with an empty body when the promise resolves. */
export function finishWith(exchange: Exchange, action: Promise<void>): void {
  action.then(
    () => {
      exchange.sendEmpty(200);
    },
    (error: unknown) => {
      exchange.sendError(error);
    },
  );
}
