/** Publishes each call on a `node:diagnostics_channel`, as Node does for requests over HTTP. */

import { channel } from 'node:diagnostics_channel';
import type { ServerHttp2Stream } from 'node:http2';

/** The channel's name. */
export const callStarted = 'tritonts.grpc.call.start';

/** A message of the channel. */
export interface StartedCall {
  readonly stream: ServerHttp2Stream;
  readonly path: string;
}

const started = channel(callStarted);

/** Publishes the start of a call. */
export function tellOfCall(stream: ServerHttp2Stream, path: string | undefined): void {
  if (started.hasSubscribers) started.publish({ stream, path: path ?? '' } satisfies StartedCall);
}
