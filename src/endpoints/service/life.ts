/** Opens an endpoint, which listens until it is closed or its signal fires. */

import type { AddressInfo, Server } from 'node:net';
import { expected, readOptions } from '../../argument-checks.js';
import { TritonError } from '../../errors.js';
import { listen, type Listening } from '../../listen.js';

/** The parts of an endpoint. */
export interface EndpointParts {
  /** The public function that opens the endpoint, for errors. */
  readonly caller: string;
  /** The protocol's name, for errors. */
  readonly what: string;
  readonly server: Server;
  readonly listening: Listening & { readonly signal: AbortSignal | undefined };
  /** Stops listening. Resolves when all calls under way have ended, or were cancelled after `timeoutMs`. */
  readonly drain: (timeoutMs: number) => Promise<void>;
}

/** An endpoint that listens. */
export interface Endpoint extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number };
  close(options?: { readonly timeoutMs?: number | undefined }): Promise<void>;
}

const defaultCloseMs = 30_000;

function checkCloseOptions(options: unknown): number {
  const { timeoutMs = defaultCloseMs } = readOptions<{ readonly timeoutMs?: number }>(
    options,
    ['timeoutMs'],
    'close options',
  );
  if (typeof timeoutMs === 'number' && timeoutMs >= 0) return timeoutMs;
  throw expected('milliseconds, 0 or more,', 'close options.timeoutMs', timeoutMs);
}

/**
 * Opens an endpoint.
 *
 * @throws {@link TritonError} UNAVAILABLE if it cannot listen on the port, CANCELLED if the signal has already
 *   fired.
 */
export async function openEndpoint({
  caller,
  what,
  server,
  listening,
  drain,
}: EndpointParts): Promise<Endpoint> {
  const { signal } = listening;
  const isAborted = (): boolean => signal?.aborted === true;
  const cancelled = (): TritonError =>
    new TritonError('CANCELLED', `${caller} was cancelled by its signal`, { cause: signal?.reason });
  if (isAborted()) throw cancelled();
  await listen(what, server, listening);
  let closing: Promise<void> | undefined;
  const close = (timeoutMs: number): Promise<void> => (closing ??= drain(timeoutMs));
  if (isAborted()) {
    await close(0);
    throw cancelled();
  }
  const onAbort = (): void => {
    void close(defaultCloseMs);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  server.once('close', () => signal?.removeEventListener('abort', onAbort));
  // The server listens on a port, so the address is not the name of a pipe.
  const bound = server.address() as AddressInfo;
  return {
    address: Object.freeze({ host: bound.address, port: bound.port }),
    async close(given = {}) {
      await close(checkCloseOptions(given));
    },
    async [Symbol.asyncDispose]() {
      await close(defaultCloseMs);
    },
  };
}
