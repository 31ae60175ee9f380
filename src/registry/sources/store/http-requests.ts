/**
 * Ends the HTTP requests of a client that takes no signal. Node announces each request of its own HTTP client, in the asynchronous
 * context of the call that makes it.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { ClientRequest } from 'node:http';

const contexts = new AsyncLocalStorage<AbortSignal>();
let isSubscribed = false;

/** Node's channel calls it with what its documentation says: an object with the request. */
function begun(message: unknown): void {
  const signal = contexts.getStore();
  if (signal === undefined || typeof message !== 'object' || message === null) return;
  const { request }: { readonly request?: unknown } = message;
  if (!(request instanceof ClientRequest)) return;
  const end = (): void => void request.destroy();
  if (signal.aborted) {
    end();
    return;
  }
  signal.addEventListener('abort', end, { once: true });
  // Its connection may serve other requests afterwards.
  request.once('close', () => {
    signal.removeEventListener('abort', end);
  });
}

/**
 * Calls a function of a client. The signal ends each request that the call makes, also later on.
 *
 * @param call - Returns the client's promise or stream. A stream begins its request in this call, or the signal does not end it.
 */
export function endedBy<T>(signal: AbortSignal, call: () => T): T {
  if (!isSubscribed) {
    subscribe('http.client.request.start', begun);
    isSubscribed = true;
  }
  return contexts.run(signal, call);
}
