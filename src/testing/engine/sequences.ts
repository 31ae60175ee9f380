/**
 * The sequences of a version: which requests may come, which may run now, and what the engine adds to their inputs. Each
 * request runs alone, in the order of its sequence.
 */

import { sequenceEnded, sequenceLive, sequenceUnknown } from '../../addon/sequence-fates.js';
import { statusNumber } from '../../addon/status.js';
import type { NativeStatus } from '../../addon/native/status.js';
import type { NativeSequenceControl, NativeSequencePolicy } from '../../addon/native/version-config.js';
import { datatypeOfNumber, datatypeSize } from '../../tensor/datatype.js';
import { now, type EngineInput, type EngineOutput, type EngineRequest } from './request.js';

/** A sequence that has begun. */
interface OpenSequence {
  /** The request of it that runs. */
  running?: EngineRequest | undefined;
  /** States by the position of the output that makes them. */
  readonly states: Map<number, EngineOutput>;
}

const encoder = new TextEncoder();

/** See the head of this file. */
export class Sequences {
  readonly #model: string;
  readonly #policy: NativeSequencePolicy;
  readonly #batches: boolean;
  readonly #open: Map<string, OpenSequence> = new Map();
  /** When those ended whose last request had END, in nanoseconds; undefined for those that ended with a cancelled request. */
  readonly #ended: Map<string, number | undefined> = new Map();
  /** Sequences of requests without an id. */
  readonly #own: WeakMap<EngineRequest, OpenSequence> = new WeakMap();

  constructor(model: string, policy: NativeSequencePolicy, batches: boolean) {
    this.#model = model;
    this.#policy = policy;
    this.#batches = batches;
  }

  /** Why a request is refused; undefined: it is not. */
  admit(request: EngineRequest): NativeStatus | undefined {
    const { rows, sequence } = request.head;
    const model = `model '${this.#model}'`;
    if (rows > 1)
      return refusal(`${model}: a request of a sequence must have 1 row, but ${rows} were received`);
    const key = keyOf(request);
    if (key === undefined || sequence === undefined) {
      if (this.#policy.iterative) {
        this.#own.set(request, { states: new Map() });
        return undefined;
      }
      return refusal(
        `${model}: expected the id of a sequence, a number other than 0 or a text that is not empty, but received none: send it as options.sequence or the parameter sequence_id, or use model.sequence()`,
      );
    }
    const isText = typeof sequence.id === 'string';
    for (const { kind, datatype } of this.#policy.controls) {
      const name = datatypeOfNumber[datatype] ?? '';
      if (kind !== 'id' || isText === (name === 'BYTES')) continue;
      return refusal(
        `${model}: expected a ${isText ? 'number' : 'text'} as the id of a sequence, because its control tensor is ${name}, but received ${textOf(sequence.id)}`,
      );
    }
    if (sequence.start) {
      this.#open.set(key, { states: new Map() });
      this.#ended.delete(key);
    } else if (!this.#open.has(key)) {
      const ended = this.#ended.get(key);
      const why =
        ended !== undefined
          ? `its last sequence ended with a request that had END, ${Math.round((now() - ended) / 1e6)} ms ago`
          : this.#ended.has(key)
            ? 'its last sequence ended when a waiting request of it was cancelled'
            : `no sequence with this id is known${this.#policy.reloaded ? ': the model was reloaded, and sequences that began before have ended' : ''}`;
      return refusal(
        `${model}: the first request of sequence ${textOf(sequence.id)} must have START; ${why}. Begin it with options.sequence.start or the parameter sequence_start`,
      );
    }
    const open = this.#open.get(key);
    if (open !== undefined) this.#own.set(request, open);
    if (sequence.end) {
      this.#open.delete(key);
      this.#ended.set(key, now());
    }
    return undefined;
  }

  /** What is known of the last sequence of an id, as `NativeServer.sequenceFate`. Here none ends by itself. */
  fateOf(id: bigint | string): number {
    const key = `${typeof id} ${id}`;
    if (this.#open.has(key)) return sequenceLive;
    return this.#ended.has(key) ? sequenceEnded : sequenceUnknown;
  }

  /** Whether no earlier request of its sequence runs. */
  mayRun(request: EngineRequest): boolean {
    const open = this.#own.get(request);
    return open !== undefined && open.running === undefined;
  }

  begin(request: EngineRequest): void {
    const open = this.#own.get(request);
    if (open !== undefined) open.running = request;
  }

  end(request: EngineRequest): void {
    const open = this.#own.get(request);
    if (open?.running === request) open.running = undefined;
  }

  /** Ends the sequence of a waiting request that is cancelled. */
  cancel(request: EngineRequest): void {
    const key = keyOf(request);
    if (key === undefined || this.#open.get(key) !== this.#own.get(request)) return;
    this.#open.delete(key);
    this.#ended.set(key, undefined);
  }

  /** Whether two requests are of the same sequence. */
  areOne(one: EngineRequest, other: EngineRequest): boolean {
    const open = this.#own.get(one);
    return open !== undefined && open === this.#own.get(other);
  }

  /** The inputs that the engine adds: controls and states. */
  inputsOf(request: EngineRequest): EngineInput[] {
    const states = this.#own.get(request)?.states;
    const shape = this.#batches ? [1, 1] : [1];
    return [
      ...this.#policy.controls.map((control) => ({
        index: control.input,
        shape,
        bytes: controlBytes(control, request),
      })),
      ...this.#policy.states.map(({ input, output, firstShape, firstBytes, datatype }) => {
        const kept = states?.get(output);
        if (kept !== undefined) return { index: input, shape: kept.shape, bytes: kept.bytes };
        const elements = firstShape.reduce((product, dim) => product * dim, 1);
        const name = datatypeOfNumber[datatype] ?? 'BYTES';
        // An empty string has a length of four bytes.
        const bytes = firstBytes
          ? new Uint8Array(firstBytes)
          : new Uint8Array(elements * (datatypeSize[name] || 4));
        return { index: input, shape: firstShape, bytes };
      }),
    ].sort((one, other) => one.index - other.index);
  }

  /** Keeps the states among outputs. Returns the others. */
  keep(request: EngineRequest, outputs: readonly EngineOutput[]): readonly EngineOutput[] {
    const states = this.#own.get(request)?.states;
    return outputs.filter((output) => {
      if (!this.#policy.states.some((state) => state.output === output.index)) return true;
      states?.set(output.index, output);
      return false;
    });
  }
}

function keyOf({ head: { sequence } }: EngineRequest): string | undefined {
  if (sequence === undefined || sequence.id === 0n || sequence.id === '') return undefined;
  return `${typeof sequence.id} ${sequence.id}`;
}

function textOf(id: bigint | string): string {
  return typeof id === 'string' ? `'${id}'` : String(id);
}

function refusal(message: string): NativeStatus {
  return { code: statusNumber('INVALID_ARG', undefined), message };
}

/** The bytes of a control tensor for a request. */
function controlBytes(
  { kind, datatype, values }: NativeSequenceControl,
  request: EngineRequest,
): Uint8Array<ArrayBuffer> {
  const { id = 0n, start = false, end = false } = request.head.sequence ?? {};
  const name = datatypeOfNumber[datatype] ?? 'INT32';
  if (kind !== 'id') {
    const value = values[kind === 'ready' || (kind === 'start' ? start : end) ? 1 : 0] ?? 0;
    if (name === 'FP32') return new Uint8Array(Float32Array.of(value).buffer);
    if (name === 'BOOL') return Uint8Array.of(value);
    return new Uint8Array(Int32Array.of(value).buffer);
  }
  if (typeof id === 'string' || name === 'BYTES') {
    const text = encoder.encode(typeof id === 'string' ? id : '');
    const bytes = new Uint8Array(4 + text.length);
    new DataView(bytes.buffer).setUint32(0, text.length, true);
    bytes.set(text, 4);
    return bytes;
  }
  return new Uint8Array(BigUint64Array.of(id).buffer).slice(0, datatypeSize[name]);
}
