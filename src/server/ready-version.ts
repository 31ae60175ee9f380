/** A served version as one environment uses it: prepared once, so that a request has little left to do. */

import type { DispatchTarget, IntoTarget, TargetOutput, Timings } from '../dispatch/types.js';
import { datatypeOf, deepFreeze, type ModelConfig } from '../config/index.js';
import { didYouMean } from '../suggest.js';
import { invalidArgument, TritonError } from '../errors.js';
import { checkKeys } from '../checks.js';
import type { VersionDescriptor } from '../registry/published.js';
import { classify, whyUnclassifiable } from '../tensor/classification.js';
import type { Datatype } from '../tensor/datatype.js';
import { elementTypes } from '../tensor/elements.js';
import type { EncodedInputs } from '../tensor/encoded.js';
import { InputEncoder } from '../tensor/input.js';
import { compileReshape, type Reshape } from '../tensor/reshape.js';
import {
  tensorCutter,
  tensorFactory,
  type AnyTensor,
  type TensorCutter,
  type TensorFactory,
} from '../tensor/output.js';
import { OutputShapes } from '../tensor/output-shapes.js';
import { checkInto, targetMemory, tensorInto } from '../tensor/into.js';
import type { Inputs, TypedArray } from '../tensor/types.js';
import type { ViewKind } from '../tensor/views.js';
import type { InferOptions, InferResult, TensorMetadata } from './types.js';

const noParameters: InferResult['parameters'] = Object.freeze({});

/** Objects without inherited properties, of one hidden class: `__proto__` is a legal name of a tensor. */
interface OutputsConstructor {
  new (): Record<string, unknown>;
}

function outputsConstructor(): OutputsConstructor {
  function Outputs(): void {
    // Only its instances matter.
  }
  Outputs.prototype = Object.freeze(Object.create(null) as object);
  // A function called with `new` makes objects of its prototype; TypeScript knows classes only.
  return Outputs as unknown as OutputsConstructor;
}

function datatypeOfTensor(
  config: ModelConfig,
  tensor: { name: string; data_type: ModelConfig['input'][number]['data_type'] },
): Datatype {
  const datatype = datatypeOf(tensor.data_type);
  if (!datatype)
    throw new TritonError('INTERNAL', `model '${config.name}', tensor '${tensor.name}': no datatype`);
  return datatype;
}

/** One output of a version: from the engine's words and bytes to a tensor. */
class VersionOutput implements TargetOutput {
  readonly name: string;
  readonly cut: TensorCutter<Datatype>;
  readonly make: TensorFactory<Datatype>;
  readonly #datatype: Datatype;
  /** Where the model's shape of it is not the caller's. */
  readonly #reshape: Reshape | undefined;
  readonly #shapes: OutputShapes = new OutputShapes();

  constructor(name: string, datatype: Datatype, reshape: Reshape | undefined) {
    this.name = name;
    this.#datatype = datatype;
    this.cut = tensorCutter(datatype);
    this.make = tensorFactory(datatype);
    this.#reshape = reshape;
  }

  into(shape: readonly number[], bytes: number, target: TypedArray): IntoTarget {
    const memory = targetMemory(this.name, this.#datatype, shape, bytes, target);
    return { tensor: tensorInto(this.#datatype, shape, target), memory };
  }

  shape(words: Int32Array, position: number, rank: number): readonly number[] {
    const shape = this.#shapes.read(words, position, rank);
    return this.#reshape ? this.#reshape(shape) : shape;
  }
}

/** See the head of this file. */
export class ReadyVersion implements DispatchTarget {
  readonly uid: number;
  readonly name: string;
  /** Its number as text. */
  readonly version: string;
  readonly wires: readonly ViewKind[];
  groupRoom = 1;
  readonly config: ModelConfig;
  readonly notes: readonly string[];
  readonly instances: VersionDescriptor['instances'];
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
  /** Labels of classes by output name. Triton: `label_filename`. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  readonly #encoder: InputEncoder;
  /** By input, where the caller's shape of it is not the model's. */
  readonly #reshapes: readonly (Reshape | undefined)[];
  readonly #reshaped: boolean;
  /** By input, the model's dims of it. */
  readonly #dims: readonly (readonly number[])[];
  readonly #newest: () => ReadyVersion;
  #lastWanted: { readonly names: readonly string[]; readonly wanted: WantedOutputs } | undefined;
  readonly #model: InferResult['model'];
  readonly #outputNames: readonly string[];
  readonly #outputsOf: readonly VersionOutput[];
  readonly #Outputs: OutputsConstructor = outputsConstructor();

  /** @param newest - The version that serves the model's requests now; throws where there is none. */
  constructor(name: string, version: number, descriptor: VersionDescriptor, newest: () => ReadyVersion) {
    this.#newest = newest;
    const config = deepFreeze(descriptor.config);
    this.uid = descriptor.uid;
    this.name = name;
    this.version = String(version);
    this.config = config;
    this.notes = Object.freeze([...descriptor.notes]);
    this.instances = deepFreeze(descriptor.instances);
    const batch = config.max_batch_size > 0 ? [-1] : [];
    const describe = (
      tensor: ModelConfig['input'][number] | ModelConfig['output'][number],
    ): TensorMetadata => ({
      name: tensor.name,
      datatype: datatypeOfTensor(config, tensor),
      shape: [...batch, ...tensor.dims],
    });
    this.inputs = deepFreeze(config.input.map(describe));
    this.outputs = deepFreeze(config.output.map(describe));
    this.labels = deepFreeze(descriptor.labels);
    const batching = config.max_batch_size > 0;
    this.#encoder = new InputEncoder({
      model: name,
      maxBatchSize: config.max_batch_size,
      inputs: config.input.map((input) => ({
        name: input.name,
        datatype: datatypeOfTensor(config, input),
        dims: input.dims,
        optional: input.optional,
      })),
    });
    this.wires = this.inputs.map(({ datatype }) =>
      datatype === 'BYTES' ? 'Uint8Array' : elementTypes[datatype].wire,
    );
    this.#reshapes = config.input.map(
      ({ dims, reshape }) => reshape && compileReshape(dims, reshape.shape, batching),
    );
    this.#reshaped = this.#reshapes.some((reshape) => reshape !== undefined);
    this.#dims = config.input.map(({ dims, reshape }) => reshape?.shape ?? dims);
    this.#model = Object.freeze({ name, version: this.version });
    this.#outputNames = this.outputs.map((output) => output.name);
    this.#outputsOf = this.outputs.map(({ name: output, datatype }, i) => {
      const { dims = [], reshape } = config.output[i] ?? {};
      return new VersionOutput(output, datatype, reshape && compileReshape(reshape.shape, dims, batching));
    });
  }

  /**
   * Checks and encodes a request's inputs; see {@link InputEncoder.encode}.
   *
   * @throws {TritonError} INVALID_ARG for what the model does not take.
   */
  encode(inputs: Inputs): EncodedInputs {
    const encoded = this.#encoder.encode(inputs);
    if (!this.#reshaped) return encoded;
    const { shapes } = encoded;
    for (let i = 0; i < shapes.length; i++) {
      const shape = shapes[i];
      if (shape !== undefined) shapes[i] = this.#reshapes[i]?.(shape) ?? shape;
    }
    return encoded;
  }

  rowsOf({ shapes }: EncodedInputs): number {
    if (this.config.max_batch_size === 0) return 0;
    const first = shapes.find((shape) => shape !== undefined);
    if (first !== undefined) return first[0] ?? 0;
    throw invalidArgument(
      `model '${this.name}': expected at least one input, which tells the batch, but got none`,
      { model: this.name },
    );
  }

  releaseInputs(): void {
    this.#encoder.release();
  }

  successor(shapes: readonly (readonly number[] | undefined)[]): ReadyVersion {
    const next = this.#newest();
    if (next === this || !next.#takes(this, shapes)) {
      throw new TritonError(
        'UNAVAILABLE',
        `model '${this.name}': version ${this.version} was unloaded before it had the request, which version ${next.version} does not take as it is`,
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
    if (most > 0 !== other.config.max_batch_size > 0) return false;
    return shapes.every((shape, i) => {
      if (shape === undefined) return this.config.input[i]?.optional === true;
      const dims = most > 0 ? shape.slice(1) : shape;
      const configured = this.#dims[i] ?? [];
      if (most > 0 && (shape[0] ?? 0) > most) return false;
      return dims.length === configured.length && configured.every((dim, d) => dim === -1 || dim === dims[d]);
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

  result(id: string, outputs: Record<string, unknown>, timings: Timings): InferResult {
    return {
      model: this.#model,
      id,
      // Only setOutput fills it.
      outputs: outputs as Record<string, AnyTensor>,
      parameters: noParameters,
      timings,
    };
  }

  /**
   * Which outputs a request wants, and of which of them as classes.
   *
   * @throws {TritonError} INVALID_ARG for unknown or repeated names.
   */
  wanted(outputs: InferOptions['outputs']): WantedOutputs {
    if (outputs === undefined) return allOutputs;
    const fail = (message: string, tensor?: string): never => {
      throw new TritonError('INVALID_ARG', `model '${this.name}': ${message}`, { model: this.name, tensor });
    };
    if (!Array.isArray(outputs)) return fail('expected an array of output names for options.outputs');
    // The same names mean the same as before.
    if (this.#lastWanted !== undefined && areEqual(this.#lastWanted.names, outputs)) {
      return this.#lastWanted.wanted;
    }
    // Each entry is read once from here on.
    const entries: readonly unknown[] = [...(outputs as readonly unknown[])];
    if (entries.length === 0) return allOutputs; // as in Triton: none named, all wanted
    const indices: number[] = [];
    const classes: { name: string; count: number }[] = [];
    for (const entry of entries) {
      const asked: Readonly<Record<string, unknown>> =
        typeof entry === 'object' && entry !== null ? { ...entry } : { name: entry };
      checkKeys(asked, ['name', 'classification'], 'options.outputs[]');
      const { name, classification = 0 } = asked;
      if (typeof name !== 'string')
        return fail(`expected names in options.outputs but received ${typeof name}`);
      const index = this.#outputNames.indexOf(name);
      if (index < 0) {
        fail(
          `unknown output '${name}'${didYouMean(name, this.#outputNames)}; it has ${this.#outputNames.join(', ')}`,
          name,
        );
      }
      if (indices.includes(index)) fail(`output '${name}' is asked for twice`, name);
      indices.push(index);
      if (typeof classification !== 'number' || !Number.isSafeInteger(classification) || classification < 0) {
        return fail(
          `output '${name}': expected a count of classes, 0 or more, for classification but received ${String(classification)}`,
          name,
        );
      }
      if (classification === 0) continue; // off, as in Triton
      const datatype = this.outputs[index]?.datatype;
      const why = datatype && whyUnclassifiable(datatype);
      if (why !== undefined) fail(`output '${name}': ${why}`, name);
      classes.push({ name, count: classification });
    }
    const wanted = { indices, classes };
    const names = entries.filter((entry) => typeof entry === 'string');
    if (names.length === entries.length) this.#lastWanted = { names, wanted };
    return wanted;
  }

  /**
   * The caller's arrays for outputs, by their positions.
   *
   * @throws {TritonError} INVALID_ARG for unknown names, outputs that are not wanted or wanted as classes, and arrays of
   *   another class than the output's `data` has.
   */
  intoOf(into: NonNullable<InferOptions['into']>, { indices, classes }: WantedOutputs): TypedArray[] {
    const fail = (message: string, tensor?: string): never => {
      throw new TritonError('INVALID_ARG', `model '${this.name}': ${message}`, { model: this.name, tensor });
    };
    const targets: TypedArray[] = [];
    for (const [name, target] of Object.entries(into) as [string, unknown][]) {
      const index = this.#outputNames.indexOf(name);
      if (index < 0) {
        fail(
          `unknown output '${name}' in options.into${didYouMean(name, this.#outputNames)}; it has ${this.#outputNames.join(', ')}`,
          name,
        );
      }
      if (indices !== undefined && !indices.includes(index)) {
        fail(`output '${name}' is in options.into, but not in options.outputs`, name);
      }
      if (classes.some((one) => one.name === name)) {
        fail(`output '${name}' is asked for as classes, which have no place in options.into`, name);
      }
      targets[index] = checkInto(this.name, name, this.outputs[index]?.datatype ?? 'BYTES', target);
    }
    return targets;
  }

  /**
   * The result with outputs replaced by their best classes, as `value:index[:label]`. Triton: classification extension.
   *
   * @throws {TritonError} INVALID_ARG for outputs of a datatype that has no order to go by.
   */
  classified(result: InferResult, classes: WantedOutputs['classes']): InferResult {
    const outputs = new this.#Outputs();
    for (const name of Object.keys(result.outputs)) outputs[name] = result.outputs[name];
    for (const { name, count } of classes) {
      const tensor = result.outputs[name];
      if (!tensor) continue;
      outputs[name] = classify(tensor, {
        count,
        batched: this.config.max_batch_size > 0,
        labels: this.labels[name],
        model: this.name,
        output: name,
      });
    }
    return this.result(result.id, outputs, result.timings);
  }
}

/** What a request wants of the outputs. */
export interface WantedOutputs {
  /** Positions; undefined: all. */
  readonly indices: readonly number[] | undefined;
  /** Those wanted as classes, with how many. */
  readonly classes: readonly { readonly name: string; readonly count: number }[];
}

function areEqual(names: readonly string[], entries: readonly unknown[]): boolean {
  if (names.length !== entries.length) return false;
  for (let i = 0; i < names.length; i++) if (names[i] !== entries[i]) return false;
  return true;
}

const allOutputs: WantedOutputs = Object.freeze({ indices: undefined, classes: [] });
