/** A served version as one environment uses it: prepared once, so that a request has little left to do. */

import type { PortTarget, TargetOutput, Timings } from '../addon/port-types.js';
import { datatypeOf } from '../config/description.js';
import { deepFreeze } from '../config/expand.js';
import { didYouMean } from '../config/suggest.js';
import type { ModelConfig } from '../config/types.js';
import { TritonError } from '../errors.js';
import { checkKeys } from '../checks.js';
import type { VersionDescriptor } from '../registry/published.js';
import { classify, whyUnclassifiable } from '../tensor/classification.js';
import type { Datatype } from '../tensor/datatype.js';
import { compileInputs } from '../tensor/input.js';
import { compileReshape, type Reshape } from '../tensor/reshape.js';
import type { EncodedInput } from '../tensor/gather.js';
import {
  tensorCutter,
  tensorFactory,
  type AnyTensor,
  type TensorCutter,
  type TensorFactory,
} from '../tensor/output.js';
import type { OnlyInput } from '../tensor/only-input.js';
import { OutputShapes } from '../tensor/output-shapes.js';
import type { Inputs } from '../tensor/types.js';
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
  /** Where the model's shape of it is not the caller's. */
  readonly #reshape: Reshape | undefined;
  readonly #shapes: OutputShapes = new OutputShapes();

  constructor(name: string, datatype: Datatype, reshape: Reshape | undefined) {
    this.name = name;
    this.cut = tensorCutter(datatype);
    this.make = tensorFactory(datatype);
    this.#reshape = reshape;
  }

  shape(words: Int32Array, position: number, rank: number): readonly number[] {
    const shape = this.#shapes.read(words, position, rank);
    return this.#reshape ? this.#reshape(shape) : shape;
  }
}

/** See the head of this file. */
export class ReadyVersion implements PortTarget {
  readonly uid: number;
  readonly name: string;
  /** Its number as text. */
  readonly version: string;
  readonly mostJoinedRows: number;
  joinedRoom = 1;
  readonly config: ModelConfig;
  readonly notes: readonly string[];
  readonly instances: VersionDescriptor['instances'];
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
  /** Checks and encodes a request's inputs, by position. */
  readonly encode: (inputs: Inputs) => readonly (EncodedInput | undefined)[];
  /** The only input, where that has a shorter way than `encode`. */
  readonly only: OnlyInput | undefined;
  /** Labels of classes by output name. Triton: `label_filename`. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
  readonly #model: InferResult['model'];
  readonly #outputNames: readonly string[];
  readonly #outputsOf: readonly VersionOutput[];
  readonly #Outputs: OutputsConstructor = outputsConstructor();

  constructor(name: string, version: number, descriptor: VersionDescriptor) {
    const config = deepFreeze(descriptor.config);
    this.uid = descriptor.uid;
    this.name = name;
    this.version = String(version);
    // What never runs together need not come together.
    this.mostJoinedRows = config.dynamic_batching ? config.max_batch_size : 0;
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
    const { encode, only } = compileInputs({
      model: name,
      maxBatchSize: config.max_batch_size,
      inputs: config.input.map((input) => ({
        name: input.name,
        datatype: datatypeOfTensor(config, input),
        dims: input.dims,
        optional: input.optional,
      })),
    });
    const inputReshapes = config.input.map(
      ({ dims, reshape }) => reshape && compileReshape(dims, reshape.shape, batching),
    );
    const reshaped = inputReshapes.some((reshape) => reshape !== undefined);
    this.only = reshaped ? undefined : only;
    this.encode = reshaped
      ? (inputs): (EncodedInput | undefined)[] =>
          encode(inputs).map((input, i) => {
            const reshape = inputReshapes[i];
            return input && reshape
              ? { shape: reshape(input.shape), data: input.data, byteLength: input.byteLength }
              : input;
          })
      : encode;
    this.#model = Object.freeze({ name, version: this.version });
    this.#outputNames = this.outputs.map((output) => output.name);
    this.#outputsOf = this.outputs.map(({ name: output, datatype }, i) => {
      const { dims = [], reshape } = config.output[i] ?? {};
      return new VersionOutput(output, datatype, reshape && compileReshape(reshape.shape, dims, batching));
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
    if (outputs.length === 0) return allOutputs; // as in Triton: none named, all wanted
    const indices: number[] = [];
    const classes: { name: string; count: number }[] = [];
    for (const entry of outputs as readonly unknown[]) {
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
    return { indices, classes };
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

const allOutputs: WantedOutputs = Object.freeze({ indices: undefined, classes: [] });
