/** Keeps a request whose model is not loaded: with copies of its inputs, which count against the limit of what may wait. */

import type { EngineConnection } from '../../dispatch/engine-connection.js';
import { cancelled } from '../../dispatch/errors/request-errors.js';
import type { AwaitingRequest, LoadQueue } from '../../dispatch/requests/awaited-loads.js';
import type { ToldStream } from '../../dispatch/responses/streams.js';
import type { Waiter } from '../../dispatch/types.js';
import type { InferResult } from '../../api/results.js';
import type { ModelKey } from '../../model-key.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { CheckedOptions } from '../requests/infer-options.js';
import { keepInputs } from './kept-inputs.js';
import type { LazyLoads } from './lazy-loads.js';

/** A model that is not loaded. */
export interface SleepingModel {
  readonly key: ModelKey;
  readonly lazy: LazyLoads;
  readonly connection: EngineConnection;
  /** The requests of its handle. */
  readonly queue: LoadQueue;
}

/**
 * Adds a request to the queue of its model.
 *
 * @param send - Sends it with the inputs that were kept. It throws, without a call of the waiter, if it cannot be sent.
 * @returns What a stream's reader can do with it until it is sent.
 * @throws {@link TritonError} UNAVAILABLE (`TOO_MUCH_IN_FLIGHT`) and INVALID_ARG as {@link LazyLoads.hold}, CANCELLED or UNAVAILABLE
 *   (`TIMED_OUT`) by its signal. It also throws what the caller's getters throw.
 */
export function holdRequest(
  { key, lazy, connection, queue }: SleepingModel,
  given: Inputs,
  { request }: CheckedOptions,
  waiter: Waiter<InferResult>,
  send: (inputs: Inputs) => void,
): ToldStream {
  const { signal } = request;
  if (signal?.aborted === true) throw cancelled(key.name, signal);
  const { inputs, bytes } = keepInputs(given, connection);
  const awaiting: AwaitingRequest = {
    request,
    send: () => {
      send(inputs);
    },
    reject: (error) => {
      waiter.reject(error);
    },
    leave: lazy.hold(key.name, bytes),
  };
  const { isLoading } = queue;
  queue.add([awaiting]);
  // What a request that came during a load is refused with is not for the others.
  if (isLoading && lazy.asksEach) {
    lazy.wake(key).catch((error: unknown) => {
      queue.refuse(awaiting, error);
    });
  }
  return queue.stream(awaiting);
}
