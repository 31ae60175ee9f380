/**
 * The description of a remote model's version: enough to check and encode requests as in the server's own
 * process.
 */

import { deepFreeze, fullDims, hasRowsInValues, type ModelConfig } from '../config/index.js';
import { TritonError } from '../errors.js';
import { Fraction } from '../protocol/json-exact.js';
import { OutputChoice } from '../server/requests/wanted-outputs.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import { targetMemory, tensorInto } from '../tensor/into-check.js';
import { InputEncoder } from '../tensor/input.js';
import { namedValues, type NamedValuesConstructor } from '../tensor/named-values.js';
import { tensorFactory } from '../tensor/output.js';
import type { AnyTensor, Tensor } from '../tensor/tensor.js';
import type { Datatype } from '../tensor/datatype.js';
import type { TensorSpec } from '../tensor/plan.js';
import { bytesAt } from '../tensor/views.js';
import type { ModelMetadata, RequestSequence } from '../index.js';
import { unreadable } from './failures.js';
import type { ParameterValue } from '../protocol/parameters.js';
import type { WireAnswer, WireInput, WireOutput, WireRequest } from './protocol.js';
import type { WireRange } from './regions.js';
import {
  isShared,
  splitInputs,
  splitInto,
  type RemoteInputs,
  type SharedMemoryOutput,
} from './shared-memory.js';
import type { RemoteInferOptions, RemoteResult } from './types.js';
import { thrownText } from '../thrown-text.js';

/** See the head of this file. */
export class RemoteVersion {
  readonly #model: string;
  readonly #inputs: readonly TensorSpec[];
  readonly #encoder: InputEncoder;
  readonly #choice: OutputChoice;
  readonly #outputNames: readonly string[];
  readonly #Outputs: NamedValuesConstructor = namedValues();
  readonly decoupled: boolean;

  /** @param config - Undefined if the server has no configurations: then only the metadata's shapes are known. */
  constructor(model: string, metadata: ModelMetadata, config: ModelConfig | undefined) {
    this.#model = model;
    const maxBatchSize = config?.max_batch_size ?? 0;
    this.#inputs = metadata.inputs.map(({ name, datatype, shape }) => {
      const input = config?.input.find((one) => one.name === name);
      // A shape in metadata begins with the batch. For a shape tensor, Triton's metadata does not say what
      // shape requests have.
      const isShape = input !== undefined && config !== undefined && hasRowsInValues(config, input);
      const dims = isShape ? fullDims(config, { ...input, dims: input.dims.map(Number) }) : undefined;
      return {
        name,
        datatype,
        dims: dims ?? (maxBatchSize > 0 ? shape.slice(1) : shape).map(Number),
        rowsInValues: isShape,
        optional: input?.optional ?? false,
      };
    });
    this.#encoder = new InputEncoder({ model, maxBatchSize, inputs: this.#inputs });
    this.#choice = new OutputChoice(model, metadata.outputs);
    this.#outputNames = metadata.outputs.map(({ name }) => name);
    this.decoupled = config?.model_transaction_policy?.decoupled ?? false;
  }

  /**
   * Checks a request. Its inputs are copied.
   *
   * @throws {@link TritonError} INVALID_ARG if the model does not accept the request.
   */
  check(inputs: RemoteInputs, options: RemoteInferOptions): WireRequest {
    const wanted = this.#choice.wanted(options.outputs);
    const { arrays, places } = splitInto(this.#model, options.into ?? {});
    this.#choice.intoOf(arrays, wanted);
    for (const name of places.keys()) this.#choice.indexOfInto(name, wanted);
    const { indices, classes } = wanted;
    // An output in shared memory must be named, and so all others, too.
    const asked = indices ?? (places.size === 0 ? undefined : this.#outputNames.map((_, index) => index));
    const outputs = asked?.map((index) => {
      const name = this.#outputNames[index] ?? '';
      const place = places.get(name);
      const count = classes.find((one) => one.name === name)?.count ?? 0;
      return { name, classes: count, ...(place !== undefined && { place }) };
    });
    const { id = '' } = options;
    const split = splitInputs(this.#model, this.#inputs, inputs);
    try {
      const encoded = this.#copied(this.#encoder.encode(split.inputs), split.ranges);
      return { id, parameters: parametersOf(options), inputs: encoded, outputs };
    } finally {
      this.#encoder.release();
      this.#encoder.encoded.ranges = undefined;
    }
  }

  #copied({ shapes, data, byteLengths, ranges }: EncodedInputs, places: readonly WireRange[]): WireInput[] {
    return this.#inputs.flatMap(({ name, datatype }, i) => {
      const shape = shapes[i];
      const range = ranges?.[i];
      if (shape !== undefined && range !== undefined) {
        const place = places[range.region];
        return [{ name, datatype, shape: [...shape], bytes: new Uint8Array(0), place }];
      }
      const elements = data[i];
      if (shape === undefined || elements === undefined) return [];
      const bytes = bytesAt(elements);
      if (bytes === undefined)
        throw new TritonError('INVALID_ARG', `input '${name}' has lost its buffer`, {
          model: this.#model,
          tensor: name,
        });
      // The slice of a Buffer would share its memory.
      const own = Uint8Array.prototype.slice.call(bytes, 0, byteLengths[i] ?? 0);
      return [{ name, datatype, shape: [...shape], bytes: own }];
    });
  }

  /**
   * Makes a result of an answer.
   *
   * @throws {@link TritonError} INVALID_ARG if an array of `into` does not fit, INTERNAL if the answer is
   *   invalid.
   */
  read({ outputs: wire, ...rest }: WireAnswer, { into = {} }: RemoteInferOptions): RemoteResult {
    const outputs: Record<string, unknown> = new this.#Outputs();
    const stored: Record<string, SharedMemoryOutput> = {};
    for (const output of wire) {
      const { name, datatype, shape, listed } = output;
      if (output.stored === true) {
        stored[name] = { datatype, shape };
        continue;
      }
      const bytes = listed === undefined ? output.bytes : this.#bytesOfJson(output, listed);
      const target = into[name];
      if (target === undefined || isShared(target)) outputs[name] = tensorFactory(datatype)(shape, bytes);
      else {
        targetMemory(this.#model, name, datatype, shape, bytes.byteLength, target).set(new Uint8Array(bytes));
        outputs[name] = tensorInto(datatype, shape, target);
      }
    }
    // Filled only by the loop above, with tensors.
    const tensors = outputs as Record<string, Tensor> as Record<string, AnyTensor>;
    if (Object.keys(stored).length === 0) return { ...rest, outputs: tensors };
    return { ...rest, outputs: tensors, sharedMemory: stored };
  }

  /**
   * The elements of an output that arrived as JSON, from a server without the extension for binary data.
   *
   * @throws {@link TritonError} INTERNAL if the elements do not fit the datatype and shape.
   */
  #bytesOfJson({ name, datatype, shape }: WireOutput, data: readonly unknown[]): ArrayBuffer {
    const plain = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.flatMap(plain);
      if (value instanceof Fraction) return value.value;
      // JSON may write floats as integers.
      return isFloat(datatype) && typeof value === 'bigint' ? Number(value) : value;
    };
    const spec = { name, datatype, dims: shape, optional: false };
    const encoder = new InputEncoder({ model: this.#model, maxBatchSize: 0, inputs: [spec], noun: 'output' });
    const elements = data.flatMap(plain) as (number | bigint | boolean | string)[]; // The encoder checks each element.
    try {
      const { data: encoded } = encoder.encode({ [name]: { data: elements, shape } });
      const bytes = encoded[0] && bytesAt(encoded[0]);
      return bytes === undefined ? new ArrayBuffer(0) : new Uint8Array(bytes).buffer;
    } catch (error) {
      // The encoder's error blames the caller's input, but the data is the server's.
      throw unreadable(this.#model, thrownText(error), error);
    }
  }
}

function parametersOf({
  priority,
  timeoutUs,
  parameters = {},
  sequence,
}: RemoteInferOptions): [string, ParameterValue][] {
  const told = Object.entries(parameters).filter(([, value]) => (value as unknown) !== undefined);
  return [
    ...(priority === undefined ? [] : [['priority', priority] as [string, ParameterValue]]),
    ...(timeoutUs === undefined ? [] : [['timeout', timeoutUs] as [string, ParameterValue]]),
    ...(sequence === undefined ? [] : sequenceParameters(sequence)),
    ...told,
  ];
}

/** A checked sequence as parameters of the request. */
export function sequenceParameters({ id, start, end }: RequestSequence): [string, ParameterValue][] {
  const flags: [string, ParameterValue][] = [];
  if (start === true) flags.push(['sequence_start', true]);
  if (end === true) flags.push(['sequence_end', true]);
  return [['sequence_id', id], ...flags];
}

function isFloat(datatype: Datatype): boolean {
  return datatype.startsWith('FP') || datatype === 'BF16';
}

/**
 * Reads a configuration, in which some integers may be strings.
 *
 * @throws {@link TritonError} INTERNAL if the text is not a configuration.
 */
export function readConfig(model: string, text: string): ModelConfig {
  let config: ModelConfig;
  try {
    // The server sends the form that Triton documents; the parts that are used are checked below.
    config = JSON.parse(text) as ModelConfig;
  } catch (cause) {
    throw new TritonError(
      'INTERNAL',
      `model '${model}': the server's configuration is not JSON: ${JSON.stringify(text.slice(0, 200))}`,
      { model, cause },
    );
  }
  const { input, max_batch_size }: { readonly input?: unknown; readonly max_batch_size?: unknown } = {
    ...(config as ModelConfig | null), // The text may be null.
  };
  if (!Array.isArray(input))
    throw new TritonError('INTERNAL', `model '${model}': the server's configuration has no inputs`, {
      model,
    });
  return deepFreeze({ ...config, max_batch_size: Number(max_batch_size ?? 0) });
}
