/** The instances of a version, and the batches on their way to them. */

import type { NativeStatus } from '../../addon/native/status.js';
import type { BatchTimes, EngineOutput, EngineRequest } from './request.js';

/** Where the responses of a batch go: its version. */
export interface BatchOwner {
  /** A response. `parameters` are words, as `native/engine/port/port_layout.h` has them (default: none). */
  respond(
    batch: EngineBatch,
    request: EngineRequest,
    outputs: readonly EngineOutput[],
    isFinal: boolean,
    parameters?: Int32Array,
  ): void;
  fail(request: EngineRequest, status: NativeStatus): void;
  end(batch: EngineBatch, request: EngineRequest): void;
  /** The request is to run again. */
  again(request: EngineRequest): void;
  /** The instance may get its next batch. */
  free(batch: EngineBatch): void;
  /** All requests of the batch have ended, or run again. */
  done(batch: EngineBatch): void;
  /** The inputs that the model gets: those of the request, and those that the engine adds. */
  inputsOf(request: EngineRequest): EngineRequest['inputs'];
}

/** Requests that run together. */
export class EngineBatch {
  readonly owner: BatchOwner;
  readonly requests: readonly EngineRequest[];
  readonly times: BatchTimes;
  /** Why it has no more requests: a number of `ClosedBy`. */
  readonly closedBy: number;
  /** Requests that waited when it was formed and are not in it. */
  readonly left: number;
  /** Whether it still keeps its instance from taking another. */
  isHolding = true;

  constructor(
    owner: BatchOwner,
    requests: readonly EngineRequest[],
    { closedBy, left }: { readonly closedBy: number; readonly left: number },
    begun: number,
  ) {
    // A request to a model without batches counts as one row.
    const rows = requests.reduce((sum, { head }) => sum + Math.max(1, head.rows), 0);
    this.closedBy = closedBy;
    this.left = left;
    this.owner = owner;
    this.requests = requests;
    this.times = { rows, begun, inputsReady: begun, computed: begun };
  }
}

/** See the head of this file. There is one instance, which runs in this environment. */
export class Inbox {
  /** How many batches may run at once. */
  readonly concurrency: number;
  readonly waiting: EngineBatch[] = [];
  isClosed = false;
  isUp = false;
  /** Called when there may be something to do. */
  onWake: () => void = () => undefined;
  /** Called when the instance may take batches. */
  onUp: () => void = () => undefined;

  constructor(concurrency: number) {
    this.concurrency = concurrency;
  }
}
