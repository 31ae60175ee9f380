/**
 * A served version as one environment uses it. All that can be is prepared once, so that a request has little
 * left to do.
 */

import { datatypeOf, deepFreeze, fullDims, hasRowsInValues, type ModelConfig } from '../../config/index.js';
import type { EngineConnection } from '../../dispatch/engine-connection.js';
import { mostRoom } from '../../dispatch/requests/groups.js';
import type { DispatchRequest, DispatchTarget, Origin, Waiter } from '../../dispatch/types.js';
import type { Timings } from '../../api/timings.js';
import { invalidArgument, TritonError, unavailable } from '../../errors.js';
import type { VersionDescriptor } from '../../registry/entries/published.js';
import type { Sliced } from '../../slices.js';
import { classify } from '../../tensor/classification.js';
import type { Datatype } from '../../tensor/datatype.js';
import { elementTypes } from '../../tensor/elements.js';
import type { EncodedInputs } from '../../tensor/encoded.js';
import { InputEncoder } from '../../tensor/input.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { AnyTensor } from '../../tensor/tensor.js';
import { compileReshape, type Reshape } from '../../tensor/reshape.js';
import { checkRowsInValues } from '../../tensor/shape-values.js';
import type { TypedArray } from '../../tensor/types.js';
import type { ViewKind, WireArray } from '../../tensor/views.js';
import type { TensorMetadata } from '../../api/metadata.js';
import type { InferOptions, InferResult } from '../../api/results.js';
import { namedValues, type NamedValuesConstructor } from '../../tensor/named-values.js';
import { VersionOutput } from './version-output.js';
import { OutputChoice, type WantedOutputs } from '../requests/wanted-outputs.js';
import { anyMapped, rangeOf } from '../../tensor/region-arrays.js';
import { inRegions } from '../requests/in-regions.js';

const noParameters: InferResult['parameters'] = Object.freeze({});

function datatypeOfTensor(
  config: ModelConfig,
  tensor: { name: string; data_type: ModelConfig['input'][number]['data_type'] },
): Datatype {
  const datatype = datatypeOf(tensor.data_type);
  if (!datatype)
    throw new TritonError('INTERNAL', `model '${config.name}', tensor '${tensor.name}': no datatype`);
  return datatype;
}

/** What serves the requests of a version's model now. */
export interface Newest {
  /**
   * The version of this number, or the newest one.
   *
   * @throws {@link TritonError} If there is none.
   */
  version(number: string | undefined): ReadyVersion;
  /** Has the model loaded, if it is lazy and not served; undefined otherwise. */
  reload(): Promise<void> | undefined;
}

/** See the head of this file. */
export class ReadyVersion implements DispatchTarget {
  readonly uid: number;
  readonly name: string;
  /** The version's number as text. */
  readonly version: string;
  readonly wires: readonly ViewKind[];
  groupRoom = 1;
  readonly mostRoom: number;
  readonly config: ModelConfig;
  /** Why it runs without batches although it might have them, and the line that turns them on. */
  readonly unbatched: string | undefined;
  readonly detour: string | undefined;
  /** Whether a request gets any number of responses. */
  readonly decoupled: boolean;
  /** Whether its model is told the ids of requests. */
  readonly takesIds: boolean;
  /** Whether a request without wanted outputs is sent as it is. With {@link takesIds}, it must have no id. */
  readonly isPlain: boolean;
  readonly notes: readonly string[];
  /** How long it took to load. */
  readonly loadSeconds: number;
  readonly instances: VersionDescriptor['instances'];
  readonly changes: VersionDescriptor['changes'];
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
  /** Labels of classes by name of the output. Triton: `label_filename`. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  /** The template of its chats; undefined if it has none. */
  readonly chatTemplate: VersionDescriptor['chatTemplate'];
  readonly #encoder: InputEncoder;
  /** By input: how the caller's shape becomes the model's, if they differ. */
  readonly #reshapes: readonly (Reshape | undefined)[];
  /** By input: its name, if its first value is the rows. */
  readonly #rowsInValues: readonly (string | undefined)[];
  /** Whether a request's inputs are more than encoded: reshaped, or their values compared. */
  readonly #adjusts: boolean;
  /** Whether there is one input, whose shape tells its size. That of strings does not. */
  readonly #shapeTells: boolean;
  /** The inputs whose first dim is the batch. */
  readonly #tellRows: readonly number[];
  /** By input: the model's dims, with -1 for the batch. */
  readonly #dims: readonly (readonly number[])[];
  readonly #newest: Newest;
  readonly #model: InferResult['model'];
  readonly #choice: OutputChoice;
  readonly #outputsOf: readonly VersionOutput[];
  readonly #Outputs: NamedValuesConstructor;

  constructor(name: string, version: number, descriptor: VersionDescriptor, newest: Newest) {
    this.#newest = newest;
    const config = deepFreeze(descriptor.config);
    this.uid = descriptor.uid;
    this.loadSeconds = descriptor.loadSeconds;
    this.name = name;
    this.version = String(version);
    this.config = config;
    this.unbatched = descriptor.unbatched;
    this.detour = descriptor.detour;
    this.decoupled = config.model_transaction_policy?.decoupled ?? false;
    this.takesIds = descriptor.takesIds;
    this.isPlain = !this.decoupled;
    this.notes = Object.freeze([...descriptor.notes]);
    this.instances = deepFreeze(descriptor.instances);
    this.changes = descriptor.changes;
    const describe = (
      tensor: ModelConfig['input'][number] | ModelConfig['output'][number],
    ): TensorMetadata => ({
      name: tensor.name,
      datatype: datatypeOfTensor(config, tensor),
      shape: [...fullDims(config, tensor)],
    });
    this.inputs = deepFreeze(config.input.map(describe));
    this.outputs = deepFreeze(config.output.map(describe));
    this.#Outputs = namedValues(this.outputs);
    this.labels = deepFreeze(descriptor.labels);
    this.chatTemplate = descriptor.chatTemplate;
    const batching = config.max_batch_size > 0;
    this.#encoder = new InputEncoder({
      model: name,
      maxBatchSize: config.max_batch_size,
      batchSizeCompleted: descriptor.batchSizeCompleted,
      backend: config.backend,
      inputs: config.input.map((input) => ({
        name: input.name,
        datatype: datatypeOfTensor(config, input),
        dims: hasRowsInValues(config, input) ? fullDims(config, input) : input.dims,
        rowsInValues: hasRowsInValues(config, input),
        optional: input.optional,
      })),
    });
    this.wires = this.inputs.map(({ datatype }) =>
      datatype === 'BYTES' ? 'Uint8Array' : elementTypes[datatype].wire,
    );
    this.#reshapes = config.input.map(
      ({ dims, reshape }) => reshape && compileReshape(dims, reshape.shape, batching),
    );
    this.#rowsInValues = config.input.map((input) =>
      hasRowsInValues(config, input) ? input.name : undefined,
    );
    this.#adjusts = [...this.#reshapes, ...this.#rowsInValues].some((one) => one !== undefined);
    this.#shapeTells = this.inputs.length === 1 && this.inputs[0]?.datatype !== 'BYTES';
    this.#tellRows = [...config.input.keys()].filter((i) => this.#rowsInValues[i] === undefined);
    // The engine compares the values of requests that it batches, and those of a group have one key.
    this.mostRoom = this.#tellRows.length < config.input.length ? 1 : mostRoom;
    this.#dims = config.input.map((input) => fullDims(config, input, input.reshape?.shape));
    this.#model = Object.freeze({ name, version: this.version });
    this.#choice = new OutputChoice(name, this.outputs);
    this.#outputsOf = this.outputs.map(({ name: output, datatype }, i) => {
      const { dims = [], reshape } = config.output[i] ?? {};
      const shaped = reshape && compileReshape(reshape.shape, dims, batching);
      return new VersionOutput(name, output, datatype, shaped);
    });
  }

  /**
   * Checks and encodes a request's inputs; see {@link InputEncoder.encode}.
   *
   * @throws {@link TritonError} INVALID_ARG for inputs that the model does not take.
   */
  encode(inputs: Inputs): EncodedInputs {
    const encoded = this.#encoder.encode(inputs);
    if (!this.#adjusts) return encoded;
    if (this.#tellRows.length < this.#rowsInValues.length)
      checkRowsInValues(this.name, this.#rowsInValues, encoded, this.rowsOf(encoded));
    const { shapes } = encoded;
    for (let i = 0; i < shapes.length; i++) {
      const shape = shapes[i];
      if (shape !== undefined) shapes[i] = this.#reshapes[i]?.(shape) ?? shape;
    }
    return encoded;
  }

  /**
   * Sends a request of a version that {@link isPlain}. See `EngineConnection.send`.
   *
   * @throws {@link TritonError} Any code, for a request that cannot be sent. Its waiter is not called then.
   */
  send(
    connection: EngineConnection,
    inputs: Inputs,
    request: DispatchRequest,
    waiter: Waiter<unknown>,
    origin: Origin,
  ): void {
    const encoder = this.#encoder;
    // The inputs must be copied before any code of the caller runs again, so nothing may come in between.
    if (this.#adjusts) {
      this.#sendEncoded(connection, this.encode(inputs), request, waiter, origin);
      return;
    }
    if (!encoder.hasOne) {
      const values = encoder.readAll(inputs);
      if (!anyMapped() && connection.sendAlike(this, encoder, values, request, waiter, origin))
        encoder.done(values);
      else this.#sendEncoded(connection, encoder.encodeValues(values), request, waiter, origin);
      return;
    }
    const value = encoder.readOnly(inputs);
    const shape = encoder.shapeOf(value);
    if (shape === undefined) {
      this.#sendEncoded(connection, encoder.encodeValue(value), request, waiter, origin);
      return;
    }
    // It has a shape, so its class is the input's.
    const data = value as WireArray;
    if (anyMapped() && rangeOf(data, connection) !== undefined) {
      this.#sendEncoded(connection, encoder.encodeValue(value), request, waiter, origin);
      return;
    }
    connection.send(this, encoder.encoded, request, waiter, origin, shape, data);
  }

  #sendEncoded(
    connection: EngineConnection,
    encoded: EncodedInputs,
    request: DispatchRequest,
    waiter: Waiter<unknown>,
    origin: Origin,
  ): void {
    const asked = inRegions(request, encoded, connection);
    // The shape may be the very array of the last request's.
    if (this.#shapeTells)
      connection.send(this, encoded, asked, waiter, origin, encoded.shapes[0], encoded.data[0]);
    else connection.send(this, encoded, asked, waiter, origin);
  }

  rowsOf({ shapes }: EncodedInputs): number {
    if (this.config.max_batch_size === 0) return 0;
    for (const input of this.#tellRows) {
      const shape = shapes[input];
      if (shape !== undefined) return shape[0] ?? 0;
    }
    throw invalidArgument(
      `model '${this.name}': expected at least one input to determine the batch, but got none`,
      { model: this.name },
    );
  }

  releaseInputs(): void {
    this.#encoder.release();
  }

  reload(): Promise<void> | undefined {
    return this.#newest.reload();
  }

  successor(shapes: readonly (readonly number[] | undefined)[], isPinned = false): ReadyVersion {
    const next = this.#newest.version(isPinned ? this.version : undefined);
    if (next === this || !next.#takes(this, shapes)) {
      throw unavailable(
        'NOT_READY',
        `model '${this.name}': version ${this.version} was unloaded before the request reached it, and version ${next.version} takes other tensors; make the call again`,
        { model: this.name },
      );
    }
    return next;
  }

  /** Whether it takes a request that was made for another version. */
  #takes(other: ReadyVersion, shapes: readonly (readonly number[] | undefined)[]): boolean {
    const isSame = (one: readonly TensorMetadata[], two: readonly TensorMetadata[]): boolean =>
      one.length === two.length &&
      one.every(({ name, datatype }, i) => name === two[i]?.name && datatype === two[i].datatype);
    if (!isSame(this.inputs, other.inputs) || !isSame(this.outputs, other.outputs)) return false;
    const { max_batch_size: most } = this.config;
    if (this.decoupled !== other.decoupled) return false;
    if (most > 0 !== other.config.max_batch_size > 0) return false;
    if (this.#rowsInValues.some((name, i) => name !== other.#rowsInValues[i])) return false;
    return shapes.every((shape, i) => {
      if (shape === undefined) return this.config.input[i]?.optional === true;
      const configured = this.#dims[i] ?? [];
      if (most > 0 && this.#rowsInValues[i] === undefined && (shape[0] ?? 0) > most) return false;
      return (
        shape.length === configured.length && configured.every((dim, d) => dim === -1 || dim === shape[d])
      );
    });
  }

  emptyOutputs(): Record<string, unknown> {
    return new this.#Outputs();
  }

  output(index: number): VersionOutput {
    const output = this.#outputsOf[index];
    if (!output) throw new RangeError(`model '${this.name}' has no output ${index}`);
    return output;
  }

  result(
    id: string,
    outputs: Record<string, unknown>,
    timings: Timings,
    parameters: InferResult['parameters'] = noParameters,
  ): InferResult {
    return {
      model: this.#model,
      id,
      // Only setOutput fills it.
      outputs: outputs as Record<string, AnyTensor>,
      parameters,
      timings,
    };
  }

  /** See {@link OutputChoice.wanted}. */
  wanted(outputs: InferOptions['outputs']): WantedOutputs {
    return this.#choice.wanted(outputs);
  }

  /** See {@link OutputChoice.before}. */
  wantedBefore(outputs: InferOptions['outputs']): WantedOutputs | undefined {
    return this.#choice.before(outputs);
  }

  /** See {@link OutputChoice.intoOf}. */
  intoOf(into: NonNullable<InferOptions['into']>, wanted: WantedOutputs): TypedArray[] {
    return this.#choice.intoOf(into, wanted);
  }

  #isShapeTensor(output: string): boolean {
    return this.config.output.some(({ name, is_shape_tensor: is }) => name === output && is);
  }

  /**
   * The result with outputs replaced by their best classes, as `value:index[:label]`. Triton: classification
   * extension.
   *
   * @throws {@link TritonError} INVALID_ARG for outputs whose datatype has no order, and beyond the limits of {@link classify}.
   */
  *classified(result: InferResult, classes: WantedOutputs['classes']): Sliced<InferResult> {
    const outputs = new this.#Outputs();
    for (const name of Object.keys(result.outputs)) outputs[name] = result.outputs[name];
    for (const { name, count } of classes) {
      const tensor = result.outputs[name];
      if (!tensor) continue;
      outputs[name] = yield* classify(tensor, {
        count,
        batched: this.config.max_batch_size > 0 && !this.#isShapeTensor(name),
        labels: this.labels[name],
        model: this.name,
        output: name,
      });
    }
    return this.result(result.id, outputs, result.timings, result.parameters);
  }
}
