/** What a test server has noted of a request. */

import { nativeError } from '../addon/status.js';
import type { NativeStatus } from '../addon/native/status.js';
import type { NativeTensorSpec } from '../addon/native/version-config.js';
import type { AnyTensor, ReceivedSequence, TritonError } from '../index.js';
import { datatypeOfNumber } from '../tensor/datatype.js';
import { tensorFactory } from '../tensor/output.js';
import type { EngineOutput, EngineRequest, RequestNotes } from './engine/request.js';

/**
 * A request that came to a model, in a form for assertions. Requests that the checks refuse, such as those with a wrong
 * shape, do not come to a model.
 *
 * @example
 * const [first] = server.requests('digits');
 * assert.equal(first.outcome, 'answered');
 * assertClose(first.inputs.image, { datatype: 'FP32', shape: [1, 64], data: pixels });
 */
export interface RecordedRequest {
  /** The model's name. */
  readonly model: string;
  /** The version's number as text. */
  readonly version: string;
  /** The id that the request got; empty: none. */
  readonly id: string;
  /** The inputs by name, as the model gets them. They are copies. */
  readonly inputs: Readonly<Record<string, AnyTensor>>;
  /** The outputs that the request wants by name; undefined: all. */
  readonly wanted: readonly string[] | undefined;
  /** Its parameters. Integers are bigints, as for models. */
  readonly parameters: Readonly<Record<string, string | number | bigint | boolean>>;
  /** Its priority; 0: the model's default. */
  readonly priority: number;
  /** Its time-out in the queue in microseconds; 0: none. */
  readonly timeoutUs: number;
  /** The sequence that it belongs to; undefined: none. */
  readonly sequence: ReceivedSequence | undefined;
  /** When it came, in milliseconds since 1970: `Date.now()`, also of fake timers. */
  readonly at: number;
  /** What became of it. 'waiting': it has not ended. 'cancelled': its caller, or the close of the server, ended it. */
  readonly outcome: 'waiting' | 'answered' | 'failed' | 'cancelled';
  /** The outputs of each response so far: one of an answered request, any number of a decoupled model's. */
  readonly responses: readonly Readonly<Record<string, AnyTensor>>[];
  /** Why it failed; undefined: it did not. */
  readonly error: TritonError | undefined;
  /** How many rows its batch had, or 1 for models without batches; 0: it was in no batch that ended. */
  readonly batchSize: number;
}

/** See the head of this file. */
export class Recorded implements RecordedRequest, RequestNotes {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly inputs: Readonly<Record<string, AnyTensor>>;
  readonly wanted: readonly string[] | undefined;
  readonly parameters: Readonly<Record<string, string | number | bigint | boolean>>;
  readonly priority: number;
  readonly timeoutUs: number;
  readonly sequence: ReceivedSequence | undefined;
  readonly at: number = Date.now();
  outcome: RecordedRequest['outcome'] = 'waiting';
  readonly responses: Readonly<Record<string, AnyTensor>>[] = [];
  error: TritonError | undefined;
  batchSize = 0;
  /** The bytes of its tensors. */
  bytes: number;
  /** Called with the bytes of each response. */
  onGrowth: (bytes: number) => void = () => undefined;
  readonly #outputs: readonly NativeTensorSpec[];
  #told: RecordedRequest | undefined;

  constructor(
    model: string,
    version: number,
    { head, inputs }: EngineRequest,
    specs: { readonly inputs: readonly NativeTensorSpec[]; readonly outputs: readonly NativeTensorSpec[] },
  ) {
    this.model = model;
    this.version = String(version);
    this.id = head.id;
    this.wanted = head.wanted && Object.freeze(head.wanted.map((index) => specs.outputs[index]?.name ?? ''));
    this.parameters = Object.freeze(Object.fromEntries(head.parameters));
    this.priority = head.priority;
    this.timeoutUs = head.timeoutUs;
    this.sequence = head.sequence && Object.freeze({ ...head.sequence });
    this.#outputs = specs.outputs;
    this.bytes = bytesOf(inputs);
    this.inputs = Object.freeze(
      Object.fromEntries(
        inputs.map(({ index, shape, bytes }) => {
          const { name = '', datatype = 0 } = specs.inputs[index] ?? {};
          return [name, tensorOf(datatype, shape, bytes)];
        }),
      ),
    );
  }

  /** It as it is now. A test cannot change it, but for the elements of its tensors. */
  get told(): RecordedRequest {
    if (this.#told !== undefined) return this.#told;
    const { model, version, id, inputs, wanted, parameters, priority, timeoutUs, sequence } = this;
    const { at, outcome, error, batchSize } = this;
    const told = Object.freeze({
      ...{ model, version, id, inputs, wanted, parameters, priority, timeoutUs, sequence },
      ...{ at, outcome, error, batchSize },
      responses: Object.freeze([...this.responses]),
    });
    if (this.outcome !== 'waiting') this.#told = told;
    return told;
  }

  responded(outputs: readonly EngineOutput[]): void {
    const bytes = bytesOf(outputs);
    this.bytes += bytes;
    this.responses.push(
      Object.freeze(
        Object.fromEntries(
          outputs.map(({ index, datatype, shape, bytes }) => [
            this.#outputs[index]?.name ?? '',
            tensorOf(datatype, shape, bytes),
          ]),
        ),
      ),
    );
    this.onGrowth(bytes);
  }

  ended(status: NativeStatus | undefined, rows: number): void {
    this.batchSize = status === undefined ? Math.max(1, rows) : 0;
    this.error = status && nativeError(status.code, status.message, { model: this.model });
    if (this.error === undefined) this.outcome = 'answered';
    else this.outcome = this.error.code === 'CANCELLED' ? 'cancelled' : 'failed';
  }
}

function bytesOf(tensors: readonly { readonly bytes: Uint8Array }[]): number {
  return tensors.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
}

/** A tensor of a copy of the bytes. */
function tensorOf(datatype: number, shape: readonly number[], bytes: Uint8Array<ArrayBuffer>): AnyTensor {
  // The factory makes a tensor of the datatype that it is asked for.
  return tensorFactory(datatypeOfNumber[datatype] ?? 'BYTES')([...shape], bytes.slice().buffer) as AnyTensor;
}
