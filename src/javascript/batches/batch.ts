/** Turns the words and bytes of a batch into requests for a model. */

import type { NativeInstance } from '../../addon/native/instance.js';
import type { ModelConfig } from '../../config/index.js';
import type { Datatype } from '../../tensor/datatype.js';
import type { MemoryViews } from '../../tensor/memory.js';
import { namedValues, type NamedValuesConstructor } from '../../tensor/named-values.js';
import { OutputShapes } from '../../tensor/output-shapes.js';
import { tensorCutter, tensorFactory, type TensorCutter, type TensorFactory } from '../../tensor/output.js';
import type { AnyTensor } from '../../tensor/tensor.js';
import { CallingRequest } from './calling-request.js';
import type { ModelRequest } from '../../api/model-request.js';
import { tensorsOf } from '../versions/version-spec.js';

/** What a request says besides its inputs. Requests that were submitted together share it. */
interface Said {
  readonly id: string;
  readonly wanted: readonly string[];
  readonly priority: number;
  readonly timeoutUs: number;
  readonly parameters: ModelRequest['parameters'];
}

/** What the engine tells of these, where there is something to tell. */
interface Extra {
  readonly id: string;
  readonly priority: number;
  readonly timeoutUs: number;
  readonly parameters: readonly (readonly [string, string | number | bigint | boolean])[];
}

/** What requests need of their instance. */
export interface RequestHost {
  /** Watches for a request to be cancelled. */
  watch(request: BatchRequest): void;
  /** The engine's number for calls of a request, or of any request of its batch (-1); 0: the batch has ended. */
  caller(batch: Batch, position: number): number;
}

/** A batch. */
export class Batch {
  readonly slot: number;
  readonly requests: readonly BatchRequest[];
  /** Rows of each request; empty for a model without a batch dimension. */
  readonly rows: readonly number[];
  /** Memory of the engine, to be detached at the end. */
  readonly buffers: readonly ArrayBuffer[];
  ended = false;
  /** Whether each of its requests has a promise of its own, so that none of them can fail another one. */
  isApart = false;
  /** How many of its requests are streams that have not ended. */
  open = 0;
  /** The engine's numbers for calls of its requests, by position; -1: of any. */
  readonly callers: Map<number, number> = new Map();

  constructor(
    slot: number,
    requests: readonly BatchRequest[],
    rows: readonly number[],
    buffers: readonly ArrayBuffer[],
  ) {
    this.slot = slot;
    this.requests = requests;
    this.rows = rows;
    this.buffers = buffers;
  }
}

/** A request, as the model sees it. */
export class BatchRequest extends CallingRequest implements ModelRequest {
  readonly inputs: Readonly<Record<string, AnyTensor>>;
  readonly #said: Said;
  readonly #host: RequestHost;
  #controller: AbortController | undefined;
  #calls: AbortController | undefined;
  /** Its position in the batch. */
  readonly position: number;
  /** Set when the batch is complete. */
  batch: Batch | undefined;
  /** Called when its caller has given it up, while it is watched. */
  onCancel: (() => void) | undefined;
  #ended = false;

  constructor(inputs: Readonly<Record<string, AnyTensor>>, said: Said, position: number, host: RequestHost) {
    super();
    this.inputs = inputs;
    this.#said = said;
    this.#host = host;
    this.position = position;
  }

  get id(): string {
    return this.#said.id;
  }
  get wanted(): readonly string[] {
    return this.#said.wanted;
  }
  get priority(): number {
    return this.#said.priority;
  }
  get timeoutUs(): number {
    return this.#said.timeoutUs;
  }
  get parameters(): ModelRequest['parameters'] {
    return this.#said.parameters;
  }
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.#host.watch(this);
    }
    return this.#controller.signal;
  }

  get callSignal(): AbortSignal {
    if (this.#calls === undefined) {
      this.#calls = new AbortController();
      this.#host.watch(this);
    }
    return this.#calls.signal;
  }

  /** Whether calls were made for it. */
  get calls(): boolean {
    return this.#calls !== undefined;
  }

  /** Whether what its calls reject with can be of no concern to others: it has a stream or a promise of its own. */
  get isAlone(): boolean {
    return this.onCancel !== undefined || this.batch?.isApart === true;
  }

  /** Cancels the calls that were made for it. */
  abortCalls(): void {
    this.#calls?.abort();
  }

  /** Whether it has had its last response. */
  get ended(): boolean {
    return this.#ended || this.batch?.ended === true;
  }

  /** Notes that it has had its last response, before its batch has ended. */
  end(): void {
    this.#ended = true;
    this.onCancel = undefined;
  }

  get instance(): object {
    return this.#host;
  }

  get caller(): number {
    return this.batch === undefined ? 0 : this.#host.caller(this.batch, this.position);
  }

  /** Aborts its signal, if that was asked for. */
  abort(): void {
    this.#controller?.abort();
  }
}

/** An input of the model. */
interface BatchInput {
  readonly name: string;
  readonly cut: TensorCutter<Datatype>;
  readonly make: TensorFactory<Datatype>;
  readonly shapes: OutputShapes;
}

/** Reads the batches of one version. */
export class BatchReader {
  readonly #inputs: readonly BatchInput[];
  readonly #outputs: readonly string[];
  readonly #batching: boolean;
  readonly #Inputs: NamedValuesConstructor = namedValues();
  readonly #plain: Said;
  readonly #host: RequestHost;

  constructor(config: ModelConfig, host: RequestHost) {
    this.#inputs = tensorsOf(config, 'input').map(({ name, datatype }) => ({
      name,
      cut: tensorCutter(datatype),
      make: tensorFactory(datatype),
      shapes: new OutputShapes(),
    }));
    this.#outputs = Object.freeze(config.output.map(({ name }) => name));
    this.#batching = config.max_batch_size > 0;
    this.#host = host;
    this.#plain = { id: '', wanted: this.#outputs, priority: 0, timeoutUs: 0, parameters: Object.freeze({}) };
  }

  /**
   * Reads the batch that {@link NativeInstance.next} has written.
   *
   * @param objects - Its large inputs, and what requests say besides.
   */
  read(words: Int32Array, bytes: MemoryViews, objects: readonly unknown[]): Batch {
    const requests: BatchRequest[] = [];
    const rows: number[] = [];
    const buffers: ArrayBuffer[] = [];
    let at = 2;
    for (let stretch = words[1] ?? 0; stretch > 0; stretch--) {
      const count = words[at++] ?? 0;
      const extra = words[at++] ?? 0;
      const wanted = words[at++] ?? 0;
      const said =
        extra === 0 && wanted === 0
          ? this.#plain
          : this.#said(words, at, wanted, extra === 0 ? undefined : (objects[~extra] as Extra));
      at += wanted;
      const inputs = words[at++] ?? 0;
      const first = requests.length;
      let batch = 1;
      const made: Record<string, unknown>[] = [];
      for (let k = 0; k < count; k++) {
        const values = new this.#Inputs();
        made.push(values);
        // Its tensors are put in below.
        const given = values as Record<string, AnyTensor>;
        requests.push(new BatchRequest(given, said, first + k, this.#host));
      }
      for (let i = 0; i < inputs; i++) {
        const input = this.#inputs[words[at] ?? 0];
        const rank = words[at + 1] ?? 0;
        if (input === undefined) throw new Error('malformed batch');
        const shape = input.shapes.read(words, at + 2, rank);
        at += 2 + rank;
        const size = words[at++] ?? 0;
        const place = words[at++] ?? 0;
        if (i === 0) batch = shape[0] ?? 1;
        for (let k = 0; k < count; k++) {
          let tensor;
          if (place >= 0) {
            tensor = input.cut(shape, bytes, place + k * size, size);
          } else {
            // The engine has put it there.
            const buffer = objects[~place + k] as ArrayBuffer | undefined;
            if (buffer === undefined) throw new Error(`no memory for an input of ${size} bytes`);
            buffers.push(buffer);
            tensor = input.make(shape, buffer);
          }
          const values = made[k];
          if (values !== undefined) values[input.name] = tensor;
        }
      }
      if (this.#batching) for (let k = 0; k < count; k++) rows.push(batch);
    }
    const whole = new Batch(words[0] ?? 0, requests, rows, buffers);
    for (const request of requests) request.batch = whole;
    return whole;
  }

  #said(words: Int32Array, at: number, count: number, extra: Extra | undefined): Said {
    const wanted =
      count === 0
        ? this.#outputs
        : Array.from({ length: count }, (_, i) => this.#outputs[words[at + i] ?? 0] ?? '');
    return {
      id: extra?.id ?? '',
      wanted,
      priority: extra?.priority ?? 0,
      timeoutUs: extra?.timeoutUs ?? 0,
      parameters: Object.freeze(Object.fromEntries(extra?.parameters ?? [])),
    };
  }
}

/** How often cancelled requests are looked for while somebody has their signals, in milliseconds. */
const watchMs = 10;

/** Aborts the signals of requests whose callers gave them up. An instance has one. */
export class Signals implements RequestHost {
  readonly #native: NativeInstance;
  readonly #watched: Set<BatchRequest> = new Set();
  /** Those that were cancelled and have calls, which go on for the sake of others in their batches. */
  readonly #calling: Set<BatchRequest> = new Set();
  #timer: NodeJS.Timeout | undefined;

  constructor(native: NativeInstance) {
    this.#native = native;
  }

  watch(request: BatchRequest): void {
    if (request.ended) return;
    this.#watched.add(request);
    this.#timer ??= setInterval(() => {
      this.#look();
    }, watchMs).unref();
  }

  caller(batch: Batch, position: number): number {
    if (batch.ended) return 0;
    const known = batch.callers.get(position);
    if (known !== undefined) return known;
    const number = this.#native.caller(batch.slot, position);
    batch.callers.set(position, number);
    return number;
  }

  /** Whether somebody still waits for another request of a batch. */
  #othersWait({ batch }: BatchRequest): boolean {
    if (batch === undefined) return false;
    return batch.requests.some((one) => !one.ended && !this.#native.cancelled(batch.slot, one.position));
  }

  #look(): void {
    for (const request of this.#watched) {
      const { batch, position } = request;
      if (batch === undefined) continue;
      const gone = request.ended;
      if (!gone && !this.#native.cancelled(batch.slot, position)) continue;
      this.#watched.delete(request);
      if (gone) continue;
      if (request.calls) this.#calling.add(request);
      request.abort();
      request.onCancel?.();
    }
    for (const request of this.#calling) {
      if (!request.ended && !request.isAlone && this.#othersWait(request)) continue;
      this.#calling.delete(request);
      request.abortCalls();
    }
    if (this.#watched.size > 0 || this.#calling.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
