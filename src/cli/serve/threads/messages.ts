/** What the main thread and the threads of endpoints say to each other. */

import type { ServeGrpcOptions } from '../../../endpoints/grpc/serve.js';
import type { ServeHttpOptions } from '../../../endpoints/http/serve.js';
import type { LoadRequest } from '../../../endpoints/service/load-request.js';
import type { LogChanges } from '../../../endpoints/service/log-settings.js';
import { TritonError, type TritonErrorCode } from '../../../errors.js';
import type { ServerHandle } from '../../../index.js';

/** What a thread starts with. */
export interface ThreadData {
  readonly handle: ServerHandle;
  /** Undefined where it is not to be served; so the other. */
  readonly http: ServeHttpOptions | undefined;
  readonly grpc: ServeGrpcOptions | undefined;
  /** Whether models are loaded and unloaded from outside. */
  readonly controlled: boolean;
  readonly verbose: boolean;
}

/** What only the main thread does. */
export type Wish =
  | {
      readonly does: 'load';
      readonly model: string;
      readonly request: LoadRequest;
    }
  | { readonly does: 'unload'; readonly model: string; readonly dependents: boolean }
  | { readonly does: 'change log'; readonly changes: LogChanges };

/** From a thread. */
export type ToMain =
  | { readonly says: 'listening' }
  | { readonly says: 'failed'; readonly error: SentError }
  | { readonly says: 'line'; readonly line: string }
  | { readonly says: 'wish'; readonly id: number; readonly wish: Wish };

/** To a thread. */
export type ToThread =
  | { readonly says: 'granted'; readonly id: number; readonly value: unknown }
  | { readonly says: 'refused'; readonly id: number; readonly error: SentError }
  | { readonly says: 'verbose'; readonly on: boolean }
  | { readonly says: 'close'; readonly timeoutMs: number };

/** An error's parts: a message keeps no class. */
export interface SentError {
  readonly code: TritonErrorCode;
  readonly message: string;
  readonly model: string | undefined;
}

export function sentError(error: unknown): SentError {
  if (error instanceof TritonError) {
    const { code, message, model } = error;
    return { code, message, model };
  }
  return {
    code: 'INTERNAL',
    message: error instanceof Error ? error.message : String(error),
    model: undefined,
  };
}

export function receivedError({ code, message, model }: SentError): TritonError {
  return new TritonError(code, message, { model });
}
