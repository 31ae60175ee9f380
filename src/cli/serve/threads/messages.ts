/** The messages between the main thread and the endpoint threads. */

import type { ServeGrpcOptions } from '../../../endpoints/grpc/serve.js';
import type { ServeHttpOptions } from '../../../endpoints/http/serve.js';
import type { LoadRequest } from '../../../endpoints/service/load-request.js';
import type { LogChanges } from '../../../endpoints/service/log-settings.js';
import type { TraceChanges } from '../../../endpoints/service/trace-settings.js';
import { TritonError, type TritonErrorJSON } from '../../../errors.js';
import type { ServerHandle } from '../../../index.js';

/** The data that a thread starts with. */
export interface ThreadData {
  readonly handle: ServerHandle;
  /** Undefined if the endpoint is not served. The same holds for gRPC. */
  readonly http: ServeHttpOptions | undefined;
  readonly grpc: ServeGrpcOptions | undefined;
  /** Whether clients may load and unload models. */
  readonly controlled: boolean;
  readonly verbose: boolean;
}

/** Requests that only the main thread can carry out. */
export type Wish =
  | {
      readonly does: 'load';
      readonly model: string;
      readonly request: LoadRequest;
    }
  | { readonly does: 'unload'; readonly model: string; readonly dependents: boolean }
  | { readonly does: 'change log'; readonly changes: LogChanges }
  | {
      readonly does: 'change trace';
      readonly changes: TraceChanges | undefined;
      readonly model: string | undefined;
    };

/** Messages from a thread. */
export type ToMain =
  | { readonly says: 'listening' }
  | { readonly says: 'failed'; readonly error: TritonErrorJSON }
  | { readonly says: 'line'; readonly line: string }
  | { readonly says: 'wish'; readonly id: number; readonly wish: Wish };

/** Messages to a thread. */
export type ToThread =
  | { readonly says: 'granted'; readonly id: number; readonly value: unknown }
  | { readonly says: 'refused'; readonly id: number; readonly error: TritonErrorJSON }
  | { readonly says: 'verbose'; readonly on: boolean }
  | { readonly says: 'close'; readonly timeoutMs: number };

/** An error as a message carries it, because a posted error loses its class. */
export function sentError(error: unknown): TritonErrorJSON {
  return TritonError.from(error).toJSON();
}
