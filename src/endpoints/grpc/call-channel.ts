/** Tells whoever wants to know of each call, as Node does of requests over HTTP (`node:diagnostics_channel`). */

import { channel } from 'node:diagnostics_channel';
import type { ServerHttp2Stream } from 'node:http2';

/** The channel's name. */
export const callStarted = 'tritonts.grpc.call.start';

/** Its messages. */
export interface StartedCall {
  readonly stream: ServerHttp2Stream;
  readonly path: string;
}

const started = channel(callStarted);

/** A call begins. */
export function tellOfCall(stream: ServerHttp2Stream, path: string | undefined): void {
  if (started.hasSubscribers) started.publish({ stream, path: path ?? '' } satisfies StartedCall);
}
