/** Logs each request over HTTP when it has its answer, or cannot have one any more. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from './log.js';

/** Node says this of all its HTTP servers; this process has those of the endpoints alone. */
const started = 'http.server.request.start';

interface Started {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Starts to log. Returns what ends it. */
export function logRequests(log: Log): () => void {
  const onStart = (message: unknown): void => {
    // Node's own message, which its documents describe.
    const { request, response } = message as Started;
    const begun = performance.now();
    response.once('close', () => {
      const { method = '', url = '', socket } = request;
      const took = (performance.now() - begun).toFixed(3);
      const outcome = response.writableFinished ? String(response.statusCode) : 'the client left';
      log.verbose(
        `HTTP request from ${socket.remoteAddress ?? 'nowhere'}: ${method} ${url}: ${outcome}, ${took} ms`,
      );
    });
  };
  subscribe(started, onStart);
  return () => {
    unsubscribe(started, onStart);
  };
}
