/** A request in the engine of a test server. */

import type { NativeStatus } from '../../addon/native/status.js';
import type { ReceivedSequence } from '../../api/request-sequence.js';

/** An input with its bytes, which nothing else uses. */
export interface EngineInput {
  /** Its position among the model's inputs. */
  readonly index: number;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The id of the staged block that has the bytes; absent: they are a copy. */
  readonly block?: number;
}

/** An output that a model has made for one request. */
export interface EngineOutput {
  readonly index: number;
  /** Number of the datatype. */
  readonly datatype: number;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The phases of a batch, in nanoseconds of the clock of `performance.now()`. */
export interface BatchTimes {
  rows: number;
  begun: number;
  inputsReady: number;
  computed: number;
}

/** How a request ended without a response of its model. */
export interface Refusal {
  readonly status: NativeStatus;
  /** Whether its queue was full. */
  readonly limited?: boolean;
  /** Whether no version took it, so that it may be sent again to another. */
  readonly unserved?: boolean;
}

/** Receives the responses to a request. */
export interface ResponseSink {
  /** `isFinal`: the request has ended. `parameters` are words, as `native/engine/port/port_layout.h` has them. */
  respond(
    request: EngineRequest,
    outputs: readonly EngineOutput[],
    isFinal: boolean,
    times: BatchTimes,
    parameters?: Int32Array,
  ): void;
  /** The request has failed. */
  fail(request: EngineRequest, refusal: Refusal): void;
  /** The request has ended without a further response. */
  end(request: EngineRequest): void;
}

/** What is told of a request as it goes on, for the test. */
export interface RequestNotes {
  responded(outputs: readonly EngineOutput[]): void;
  ended(status: NativeStatus | undefined, rows: number): void;
}

/** Where it is, and what it says besides its inputs. */
export interface RequestHead {
  readonly sink: ResponseSink;
  readonly slot: number;
  readonly generation: number;
  readonly position: number;
  readonly rows: number;
  readonly wanted: readonly number[] | undefined;
  readonly id: string;
  readonly priority: number;
  readonly timeoutUs: number;
  readonly parameters: readonly (readonly [string, string | number | bigint | boolean])[];
  readonly sequence: ReceivedSequence | undefined;
}

/** See the head of this file. */
export class EngineRequest {
  readonly head: RequestHead;
  readonly inputs: readonly EngineInput[];
  /** When it came, in nanoseconds. */
  readonly arrived: number = now();
  state: 'waiting' | 'running' | 'done' = 'waiting';
  cancelled = false;
  /** Responses that its caller has not read yet, and their bytes. */
  unread = 0;
  unreadBytes = 0;
  /** Whether no version took it. */
  isUnserved = false;
  /** The error that the test has scripted for it. */
  fault: NativeStatus | undefined;
  notes: RequestNotes | undefined;

  constructor(head: RequestHead, inputs: readonly EngineInput[]) {
    this.head = head;
    this.inputs = inputs;
  }

  get isDone(): boolean {
    return this.state === 'done';
  }

  /** Ends it, if it has not ended. */
  fail(refusal: Refusal): void {
    if (this.isDone) return;
    this.state = 'done';
    this.isUnserved = refusal.unserved === true;
    this.notes?.ended(refusal.status, 0);
    this.head.sink.fail(this, refusal);
  }
}

/** As it was when this module was loaded: fake timers may replace it. */
const clock = performance.now.bind(performance);

/** The time, in nanoseconds. */
export function now(): number {
  return clock() * 1e6;
}
