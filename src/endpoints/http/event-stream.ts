/** Server-sent events. */

import type { Exchange } from './exchange.js';

/** The headers of an answer of events, as names and values in turn. */
export const eventHeaders: readonly string[] = [
  'Content-Type',
  'text/event-stream; charset=utf-8',
  'Cache-Control',
  'no-cache',
];

/** Writes an event, or the parts of one. Resolves when the socket takes more, or is gone. */
export async function writeEvent(exchange: Exchange, ...parts: readonly (string | Buffer)[]): Promise<void> {
  const { response, client } = exchange;
  // Corking makes one system call for all parts, without a copy.
  response.cork();
  let takesMore = true;
  for (const part of parts) takesMore = response.write(part);
  response.uncork();
  if (takesMore) return;
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  exchange.wrote(size);
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
  exchange.left(size);
}
