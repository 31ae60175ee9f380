/** A request to infer and its answer, as the handler sees them. */

import type { TritonError } from '../../errors.js';
import type { Client } from '../service/client.js';
import type { FrontTrace } from '../service/front-trace.js';
import type { Encoding } from './compression.js';
import type { InferAnswer } from './infer-response.js';

/** See the head of this file. A request is answered once. Later answers, or answers to a client that left, are dropped. */
export interface InferExchange {
  readonly client: Client;
  /** The trace of the request; undefined: requests are not traced. */
  readonly trace: FrontTrace | undefined;
  /** Names and values of the request's headers in turn. */
  readonly rawHeaders: readonly string[];
  /** The encoding of the answer. */
  readonly encoding: Encoding;
  /** Whether the request was not answered yet, and its client is still connected. */
  readonly open: boolean;
  /** Whether the client has left. */
  readonly gone: boolean;
  /** The error if no answer may be made, because clients read too slowly; undefined if it may. */
  refusal(): TritonError | undefined;
  /** Counts bytes of the answer as waiting for the client. */
  wrote(size: number): void;
  /** Stops counting bytes, because the client has read them. */
  left(size: number): void;
  /** Answers with a result. */
  sendInfer(answer: InferAnswer, encoding: Encoding): void;
  /** Answers with an error's text and status. */
  sendError(error: unknown): void;
  /** Releases the body. The request was answered, or can no longer be answered. */
  finish(): void;
}
