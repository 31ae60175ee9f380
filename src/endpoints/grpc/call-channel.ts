/** Publishes each call on a `node:diagnostics_channel`, as Node does for requests over HTTP. */

import { channel } from 'node:diagnostics_channel';
import type { Stream } from './http2/stream.js';

/** The channel's name. */
export const callStarted = 'tritonts.grpc.call.start';

/** A message of the channel. */
export interface StartedCall {
  /** The path of the RPC: `/<service>/<method>`. */
  readonly path: string;
  /** The client's address; undefined: it has left. */
  readonly remoteAddress: string | undefined;
  /**
   * Calls `ended` once, when the call has ended.
   *
   * @param ended - Takes the gRPC status that was sent; undefined: none was, because the client has left or is none of gRPC.
   */
  readonly whenEnded: (ended: (status: number | undefined) => void) => void;
}

const started = channel(callStarted);

/** Publishes the start of a call. */
export function tellOfCall(stream: Stream): void {
  if (!started.hasSubscribers) return;
  started.publish({
    path: stream.headers[':path'] ?? '',
    remoteAddress: stream.remoteAddress,
    whenEnded(ended) {
      stream.watch((status) => {
        try {
          ended(status);
        } catch (error) {
          // As errors of the channel's other functions: the call and its connection go on.
          process.nextTick(() => {
            throw error;
          });
        }
      });
    },
  } satisfies StartedCall);
}
