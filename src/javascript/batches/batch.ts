/** Turns the words and bytes of a batch into requests for a model. */

import { CallSignal } from '../../call-signal.js';
import type { NativeInstance } from '../../addon/native/instance.js';
import type { ModelConfig } from '../../config/index.js';
import type { Datatype } from '../../tensor/datatype.js';
import type { MemoryViews } from '../../tensor/memory.js';
import { namedValues, type NamedValuesConstructor } from '../../tensor/named-values.js';
import { OutputShapes } from '../../tensor/output-shapes.js';
import { tensorCutter, tensorFactory, type TensorCutter, type TensorFactory } from '../../tensor/output.js';
import type { AnyTensor } from '../../tensor/tensor.js';
import { TritonError } from '../../errors.js';
import { clearInterval, setInterval } from '../../timers.js';
import { CallingRequest } from './calling-request.js';
import { Again } from './rescheduled.js';
import { WithParameters } from '../results/with-parameters.js';
import type { ModelRequest } from '../../api/model-request.js';
import type { RequestParameters } from '../../api/request-parameters.js';
import type { ReceivedSequence } from '../../api/request-sequence.js';
import { tensorsOf } from '../versions/version-spec.js';

/** The properties of a request besides its inputs. Requests of one group share them. */
interface RequestProperties {
  readonly id: string;
  readonly wanted: readonly string[];
  readonly priority: number;
  readonly timeoutUs: number;
  readonly parameters: ModelRequest['parameters'];
  readonly sequence: ReceivedSequence | undefined;
}

/** Those properties that the engine passes only if they are not the defaults. */
interface Extra {
  readonly id: string;
  readonly priority: number;
  readonly timeoutUs: number;
  readonly parameters: readonly (readonly [string, string | number | bigint | boolean])[];
}

/** Flags of a request's sequence; `native/binding/instance_batch.cc` has the same. */
const isStart = 2;
const isEnd = 4;
const isText = 8;

/** A number of 64 bits, and its two words in the machine's order. */
const wide = new BigUint64Array(1);
const halves = new Int32Array(wide.buffer);

/** The sequence whose words begin at `at`; `flags` is the first of them. */
function sequenceOf(
  flags: number,
  words: Int32Array,
  at: number,
  objects: readonly unknown[],
): ReceivedSequence {
  let id: bigint | string;
  if ((flags & isText) !== 0) {
    // The engine gives a string.
    id = objects[~(words[at + 1] ?? 0)] as string;
  } else {
    halves[0] = words[at + 1] ?? 0;
    halves[1] = words[at + 2] ?? 0;
    id = wide[0] ?? 0n;
  }
  return Object.freeze({ id, start: (flags & isStart) !== 0, end: (flags & isEnd) !== 0 });
}

/** The functions of an instance that its requests need. */
export interface RequestHost {
  /** Starts watching whether a request is cancelled. */
  watch(request: BatchRequest): void;
  /** The engine's number for calls of a request, or of any request of its batch (-1); 0: the batch has ended. */
  caller(batch: Batch, position: number): number;
  /** The model's name. */
  readonly model: string;
  /** Whether its requests may run again. */
  readonly isIterative: boolean;
}

/** A batch. */
export class Batch {
  readonly slot: number;
  readonly requests: readonly BatchRequest[];
  /** Rows of each request; empty for a model without a batch dimension. */
  readonly rows: readonly number[];
  /** The engine's memory, detached when the batch ends. */
  readonly buffers: readonly ArrayBuffer[];
  ended = false;
  /** Whether each request has a promise of its own, so that no request can fail another. */
  isApart = false;
  /** How many of the requests are streams that have not ended. */
  open = 0;
  /** The engine's numbers for calls of the requests, by position; -1: of any request. */
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
  readonly #properties: RequestProperties;
  readonly #host: RequestHost;
  #controller: AbortController | undefined;
  #calls: CallSignal | undefined;
  /** Its position in the batch. */
  readonly position: number;
  /** Set when the batch is complete. */
  batch: Batch | undefined;
  /** Called when the caller has cancelled the request, while it is watched. */
  onCancel: (() => void) | undefined;
  #ended = false;

  constructor(
    inputs: Readonly<Record<string, AnyTensor>>,
    properties: RequestProperties,
    position: number,
    host: RequestHost,
  ) {
    super();
    this.inputs = inputs;
    this.#properties = properties;
    this.#host = host;
    this.position = position;
  }

  get id(): string {
    return this.#properties.id;
  }
  get wanted(): readonly string[] {
    return this.#properties.wanted;
  }
  get priority(): number {
    return this.#properties.priority;
  }
  get timeoutUs(): number {
    return this.#properties.timeoutUs;
  }
  get parameters(): ModelRequest['parameters'] {
    return this.#properties.parameters;
  }
  get sequence(): ReceivedSequence | undefined {
    return this.#properties.sequence;
  }
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.#host.watch(this);
    }
    return this.#controller.signal;
  }

  get callSignal(): CallSignal {
    if (this.#calls === undefined) {
      this.#calls = new CallSignal();
      this.#host.watch(this);
    }
    return this.#calls;
  }

  /** Whether the model has made calls for this request. */
  get calls(): boolean {
    return this.#calls !== undefined;
  }

  /** Whether a rejected call can fail only this request, because it has a stream or a promise of its own. */
  get isAlone(): boolean {
    return this.onCancel !== undefined || this.batch?.isApart === true;
  }

  /** Cancels the calls that the model has made for this request. */
  abortCalls(): void {
    this.#calls?.abort();
  }

  /** Whether the request has had its final response. */
  get ended(): boolean {
    return this.#ended || this.batch?.ended === true;
  }

  /** Notes that the request has had its final response, before its batch has ended. */
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

  withParameters(outputs: object, parameters: RequestParameters): WithParameters {
    return new WithParameters(this.#host.model, outputs, parameters);
  }

  reschedule(): Again {
    const { model, isIterative } = this.#host;
    if (isIterative) return new Again(this);
    const text = `model '${model}': a request runs again only if the configuration says sequence_batching { iterative_sequence: true }`;
    throw new TritonError('UNSUPPORTED', text, { model });
  }

  /** Aborts the request's signal, if the model has read it. */
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
  readonly #plain: RequestProperties;
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
    this.#plain = {
      id: '',
      wanted: this.#outputs,
      priority: 0,
      timeoutUs: 0,
      parameters: Object.freeze({}),
      sequence: undefined,
    };
  }

  /**
   * Reads the batch that {@link NativeInstance.next} has written.
   *
   * @param objects - The large inputs, and the properties of requests that do not fit into words.
   */
  read(words: Int32Array, bytes: MemoryViews, objects: readonly unknown[]): Batch {
    const requests: BatchRequest[] = [];
    const rows: number[] = [];
    const buffers: ArrayBuffer[] = [];
    let at = 2;
    for (let groups = words[1] ?? 0; groups > 0; groups--) {
      const count = words[at++] ?? 0;
      const extra = words[at++] ?? 0;
      const flags = words[at] ?? 0;
      const sequence = flags === 0 ? undefined : sequenceOf(flags, words, at, objects);
      at += flags === 0 ? 1 : 3;
      const wanted = words[at++] ?? 0;
      let properties = this.#plain;
      if (extra !== 0 || wanted !== 0) {
        const said = extra === 0 ? undefined : (objects[~extra] as Extra);
        properties = this.#propertiesOf(words, at, wanted, said, sequence);
      } else if (sequence !== undefined) {
        properties = { ...this.#plain, sequence };
      }
      at += wanted;
      const inputs = words[at++] ?? 0;
      const first = requests.length;
      let batch = 1;
      const made: Record<string, unknown>[] = [];
      for (let k = 0; k < count; k++) {
        const values = new this.#Inputs();
        made.push(values);
        // The loop below fills in the tensors.
        const given = values as Record<string, AnyTensor>;
        requests.push(new BatchRequest(given, properties, first + k, this.#host));
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
            // The engine passes large inputs as ArrayBuffers.
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

  #propertiesOf(
    words: Int32Array,
    at: number,
    count: number,
    extra: Extra | undefined,
    sequence: ReceivedSequence | undefined,
  ): RequestProperties {
    const wanted =
      count === 0
        ? this.#outputs
        : // An empty slot of a batch wants an output that no model has.
          Array.from({ length: count }, (_, i) => this.#outputs[words[at + i] ?? 0]).filter(
            (name) => name !== undefined,
          );
    return {
      id: extra?.id ?? '',
      wanted,
      priority: extra?.priority ?? 0,
      timeoutUs: extra?.timeoutUs ?? 0,
      parameters: Object.freeze(Object.fromEntries(extra?.parameters ?? [])),
      sequence,
    };
  }
}

/** How often watched requests are checked for cancellation, in milliseconds. */
const watchMs = 10;

/** Aborts the signals of cancelled requests. Each instance has its own. */
export class Signals implements RequestHost {
  readonly #native: NativeInstance;
  readonly #watched: Set<BatchRequest> = new Set();
  /** Cancelled requests whose calls go on, because other requests of the batch may need them. */
  readonly #calling: Set<BatchRequest> = new Set();
  #timer: NodeJS.Timeout | undefined;

  readonly model: string;
  readonly isIterative: boolean;

  constructor(native: NativeInstance, model: string, config: ModelConfig) {
    this.#native = native;
    this.model = model;
    this.isIterative = config.sequence_batching?.iterative_sequence ?? false;
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

  /** Whether another request of the batch is still wanted by its caller. */
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
