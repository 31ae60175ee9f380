/** Tells `node:diagnostics_channel` of requests. Without a subscriber, three flags are read for each request. */

import { channel } from 'node:diagnostics_channel';
import type { ToldStream, StreamWaiter } from '../../dispatch/responses/streams.js';
import type { Waiter } from '../../dispatch/types.js';
import type { InferResult } from '../../api/results.js';

/**
 * A message of the channels `tritonts:request:start`, `tritonts:request:end` and `tritonts:request:error`. The
 * messages of one request are the same object.
 */
export interface RequestMessage {
  /** Name of the model. */
  readonly model: string;
  /** The version that the request asked for or, from the end on, that has answered. */
  version: string | undefined;
  /** The request's id; empty if it has none. */
  readonly id: string;
  /** What it resolved with, from the end on. A stream has none. */
  result?: InferResult;
  /** What it rejected with; from the error on. */
  error?: unknown;
}

const start = channel('tritonts:request:start');
const end = channel('tritonts:request:end');
const failure = channel('tritonts:request:error');

/** Whether somebody listens. */
export function requestsObserved(): boolean {
  return start.hasSubscribers || end.hasSubscribers || failure.hasSubscribers;
}

/** Tells of one request. Subscribers to its end run as a microtask, so that they find no request half delivered. */
export class RequestObserver<
  W extends Waiter<InferResult> = Waiter<InferResult>,
> implements Waiter<InferResult> {
  protected readonly message: RequestMessage;
  protected readonly waiter: W;

  /** Tells of the start. A subscriber runs in here. */
  constructor(model: string, version: string | undefined, id: string, waiter: W) {
    this.message = { model, version, id };
    this.waiter = waiter;
    start.publish(this.message);
  }

  resolve(result: InferResult): void {
    const message = this.message;
    message.version = result.model.version;
    message.result = result;
    this.ended();
    this.waiter.resolve(result);
  }

  reject(error: unknown): void {
    this.refused(error);
    this.waiter.reject(error);
  }

  /** Tells of the error of a request that was not sent, whose waiter is not called. */
  refused(error: unknown): void {
    const message = this.message;
    message.error = error;
    queueMicrotask(() => {
      failure.publish(message);
    });
  }

  protected ended(): void {
    const { message } = this;
    queueMicrotask(() => {
      end.publish(message);
    });
  }
}

/** Tells of one request with any number of responses. */
export class StreamObserver
  extends RequestObserver<StreamWaiter<InferResult>>
  implements StreamWaiter<InferResult>
{
  begin(): void {
    this.waiter.begin();
  }

  push(result: InferResult, bytes: number): void {
    this.message.version = result.model.version;
    this.waiter.push(result, bytes);
  }

  end(): void {
    this.ended();
    this.waiter.end();
  }

  moved(stream: ToldStream): void {
    this.waiter.moved(stream);
  }
}
