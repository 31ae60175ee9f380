/** The calls to a server, independent of the protocol that carries them. */

import type { ModelConfig } from '../config/index.js';
import type { TritonError } from '../errors.js';
import type { ModelMetadata, ModelStatus, RequestParameters } from '../index.js';
import type { ParameterValue } from '../protocol/parameters.js';
import type { Datatype } from '../tensor/datatype.js';
import type { Calls } from './calls.js';
import type { RegionCalls, WireRange } from './regions.js';
import type { RemoteMetadata, RemoteStatistics } from './types.js';

/** A model, with a version if the call is for a specific one. */
export interface ModelName {
  readonly name: string;
  readonly version: string | undefined;
}

/** An input in wire layout. */
export interface WireInput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Its own copy: the caller may change its arrays while the request waits for a connection. */
  readonly bytes: Uint8Array;
  /** Where the input is, if it is in shared memory. Then `bytes` is empty. */
  readonly place?: WireRange | undefined;
}

/** An output that is requested. */
export interface WireWanted {
  readonly name: string;
  /** The number of classes; 0: no classification. */
  readonly classes: number;
  /** Where the server writes it, if that is shared memory. */
  readonly place?: WireRange | undefined;
}

/** A checked request. */
export interface WireRequest {
  readonly id: string;
  /** Includes `priority` and `timeout`. */
  readonly parameters: readonly (readonly [name: string, value: ParameterValue])[];
  readonly inputs: readonly WireInput[];
  /** The requested outputs; undefined: all outputs. */
  readonly outputs: readonly WireWanted[] | undefined;
}

const none: ReadonlySet<string> = new Set();

/** The names of the outputs that the server writes to shared memory. */
export function storedOutputs({ outputs = [] }: WireRequest): ReadonlySet<string> {
  const names = outputs.flatMap(({ name, place }) => (place === undefined ? [] : [name]));
  return names.length === 0 ? none : new Set(names);
}

/** An output of an answer. */
export interface WireOutput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** The bytes in wire layout, in their own memory. */
  readonly bytes: ArrayBuffer;
  /** The elements instead of the bytes, from a server that sends only JSON. */
  readonly listed?: readonly unknown[] | undefined;
  /** Whether the server has written it to shared memory. Then `bytes` is empty. */
  readonly stored?: boolean | undefined;
}

/** An answer. */
export interface WireAnswer {
  readonly model: { readonly name: string; readonly version: string };
  readonly id: string;
  readonly parameters: RequestParameters;
  readonly outputs: readonly WireOutput[];
}

/** A server's answer about a model's readiness. */
export interface Readiness {
  readonly ready: boolean;
  /** Set if the server does not know the model, or does not let this client ask. */
  readonly refusal?: TritonError | undefined;
}

/** Receives the answers of a decoupled model. The last call is one of `end` or `fail`, once. */
export interface AnswerSink {
  /** @param bytes - The size of the answer's message. */
  answer(answer: WireAnswer, bytes: number): void;
  end(): void;
  fail(error: TritonError): void;
}

/** A request with a sequence of answers. */
export interface AnswerStream {
  /** Pauses or resumes the receiving of answers. */
  pause(paused: boolean): void;
  /** Cancels the request; its sink is not called any more. */
  cancel(): void;
}

/**
 * See the head of this file. Each call throws a {@link TritonError}: the server's error; UNAVAILABLE if there
 * is no connection, if the answer is late, or after {@link close}; CANCELLED by the call's signal.
 */
export interface Protocol extends RegionCalls {
  readonly calls: Calls;
  /** The advice in the error of `infer` for decoupled models. */
  readonly forDecoupled: string;
  /** Checks that a server answers. */
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
  /** @param timeoutMs - The time limit, instead of the connection's. */
  infer(
    model: ModelName,
    request: WireRequest,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
  ): Promise<WireAnswer>;
  /** Opens a stream. Errors go to the sink, never before this has returned. */
  stream(
    model: ModelName,
    request: WireRequest,
    signal: AbortSignal | undefined,
    sink: AnswerSink,
  ): AnswerStream;
  /**
   * Refuses new calls, waits for calls in progress up to a time limit, cancels the rest, and closes all
   * connections.
   */
  close(timeoutMs: number): Promise<void>;
}
