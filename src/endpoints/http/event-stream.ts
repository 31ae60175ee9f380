/** Server-sent events. */

import type { Exchange } from './exchange.js';

/** The headers of an answer of events, as names and values in turn. */
export const eventHeaders: readonly string[] = [
  'Content-Type',
  'text/event-stream; charset=utf-8',
  'Cache-Control',
  'no-cache',
];

/** Writes an event. Resolves when the socket takes more, or is gone. */
export async function writeEvent(exchange: Exchange, event: string): Promise<void> {
  const { response, client } = exchange;
  if (response.write(event)) return;
  exchange.wrote(event.length);
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      forget();
      resolve();
    };
    const forget = client.onGone(done);
    response.once('drain', done).once('close', done);
    if (client.gone || response.destroyed) done();
  });
  exchange.left(event.length);
}
