/** What a server is asked, whichever protocol carries it. */

import type { ModelConfig } from '../config/index.js';
import type { TritonError } from '../errors.js';
import type { ModelMetadata, ModelStatus, RequestParameters } from '../index.js';
import type { ParameterValue } from '../protocol/parameters.js';
import type { Datatype } from '../tensor/datatype.js';
import type { Calls } from './calls.js';
import type { RemoteMetadata, RemoteStatistics } from './types.js';

/** A model, and a version of it if only that is meant. */
export interface ModelName {
  readonly name: string;
  readonly version: string | undefined;
}

/** An input in wire layout. */
export interface WireInput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Nobody else has them: the caller may change its arrays while the request waits for a connection. */
  readonly bytes: Uint8Array;
}

/** A request that was checked. */
export interface WireRequest {
  readonly id: string;
  /** With `priority` and `timeout`. */
  readonly parameters: readonly (readonly [name: string, value: ParameterValue])[];
  readonly inputs: readonly WireInput[];
  /** Those that are wanted, and as how many classes, 0 being none; undefined: all. */
  readonly outputs: readonly { readonly name: string; readonly classes: number }[] | undefined;
}

/** An output of an answer. */
export interface WireOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** In wire layout, in memory of its own. */
  readonly bytes: ArrayBuffer;
  /** Its elements in place of the bytes, from a server that writes JSON alone. */
  readonly listed?: readonly unknown[] | undefined;
}

/** An answer. */
export interface WireAnswer {
  readonly model: { readonly name: string; readonly version: string };
  readonly id: string;
  readonly parameters: RequestParameters;
  readonly outputs: readonly WireOutput[];
}

/** What a server says of a model's readiness. */
export interface Readiness {
  readonly ready: boolean;
  /** The server does not know the model, or does not let this client ask. */
  readonly refusal?: TritonError | undefined;
}

/** Takes the answers of a decoupled model. `end` or `fail` is called last, once. */
export interface AnswerSink {
  /** @param bytes - The size of the answer's message. */
  answer(answer: WireAnswer, bytes: number): void;
  end(): void;
  fail(error: TritonError): void;
}

/** A request whose answers come one after the other. */
export interface AnswerStream {
  /** Takes no more answers for now, or goes on. */
  pause(paused: boolean): void;
  /** Cancels the request; its sink is not called any more. */
  cancel(): void;
}

/**
 * See the head of this file. Each call throws a {@link TritonError}: the server's error; UNAVAILABLE without a connection, in
 * time or at all, and after {@link close}; CANCELLED by the call's signal.
 */
export interface Protocol {
  readonly calls: Calls;
  /** What callers of `infer` are told to do for decoupled models. */
  readonly forDecoupled: string;
  /** Asks whether anybody is there. */
  reach(signal: AbortSignal | undefined): Promise<void>;
  serverReady(): Promise<boolean>;
  serverMetadata(): Promise<RemoteMetadata>;
  index(ready: boolean): Promise<readonly ModelStatus[]>;
  statistics(name: string | undefined, version: string | undefined): Promise<RemoteStatistics[]>;
  load(
    name: string,
    config: string | undefined,
    files: readonly (readonly [path: string, bytes: Uint8Array])[],
    force: boolean,
  ): Promise<void>;
  unload(name: string, dependents: boolean): Promise<void>;
  modelReady(model: ModelName): Promise<Readiness>;
  metadata(model: ModelName): Promise<ModelMetadata>;
  config(model: ModelName): Promise<ModelConfig>;
  /** @param timeoutMs - In place of the connection's. */
  infer(
    model: ModelName,
    request: WireRequest,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
  ): Promise<WireAnswer>;
  /** What goes wrong is told to the sink, never before this has returned. */
  stream(
    model: ModelName,
    request: WireRequest,
    signal: AbortSignal | undefined,
    sink: AnswerSink,
  ): AnswerStream;
  /** Refuses new calls, lets those under way end within a time limit, cancels the rest, and closes all connections. */
  close(timeoutMs: number): Promise<void>;
}
