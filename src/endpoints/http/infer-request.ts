/** Reads the body of `infer`: JSON, JSON followed by binary tensors, or the bytes of the only input. */

import { invalidArgument, type TritonError } from '../../errors.js';
import type { ModelMetadata } from '../../api/metadata.js';
import type { RequestedOutput } from '../../api/results.js';
import { datatypeSize, type Datatype } from '../../tensor/datatype.js';
import type { TensorInput } from '../../tensor/inputs.js';
import type { Parameters, ParameterValue } from '../../protocol/parameters.js';
import type { ClientRegions, NamedRange } from '../service/client-regions.js';
import type { RegionRange } from '../../tensor/region-tensor.js';
import { datatypeOfName, oneElement, tensorOfBytes, type Bytes } from '../service/tensors.js';
import {
  JsonText,
  member,
  readArray,
  readCount,
  readFlag,
  readObject,
  readParameterObject,
  readString,
  wrongType,
  type JsonObject,
} from './json.js';
import { readTensor, takesIntegers } from './json-tensor.js';

/** Whether outputs are sent as binary data. */
export interface BinaryOutputs {
  /** For outputs that the request does not list. */
  readonly others: boolean;
  readonly listed: ReadonlyMap<string, boolean>;
}

/** An input without its elements. */
export interface InputForm {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** The input's bytes in the binary part; undefined if they are not there. */
  readonly size: number | undefined;
  /** Where it is in shared memory; undefined if it is not there. */
  readonly range: NamedRange | undefined;
}

/** Where an output of the request's list goes. */
export interface OutputForm {
  readonly name: string;
  /** Undefined: to the client. */
  readonly range: NamedRange | undefined;
}

/** A request to infer, without the model's name. */
export interface HttpInferRequest {
  readonly id: string;
  readonly inputs: Readonly<Record<string, TensorInput>>;
  /** The inputs in the order of the request. */
  readonly forms: readonly InputForm[];
  readonly parameters: Parameters;
  readonly outputs: readonly RequestedOutput[] | undefined;
  /** The listed outputs in the order of the request. */
  readonly outputForms: readonly OutputForm[];
  readonly binary: BinaryOutputs;
  /** Where outputs go, by name, if some go to shared memory. */
  readonly targets: ReadonlyMap<string, RegionRange> | undefined;
}

const noneListed: ReadonlyMap<string, boolean> = new Map();
const allJson: BinaryOutputs = Object.freeze({ others: false, listed: noneListed });
const allBinary: BinaryOutputs = Object.freeze({ others: true, listed: noneListed });
const noParameters: Parameters = new Map();

/** The binary part of a body. Inputs take their bytes from it in order. */
export class BinaryPart {
  readonly #body: Buffer;
  #at: number;

  /** @param start - The offset of the binary part. */
  constructor(body: Buffer, start: number) {
    this.#body = body;
    this.#at = start;
  }

  /** Takes the next `size` bytes as a tensor. */
  take({ name, datatype, shape }: InputForm, size: number): TensorInput {
    const { length } = this.#body;
    if (size > length - this.#at) {
      throw invalidArgument(
        `unexpected size for input '${name}': binary_data_size is ${size}, but the body has ${length - this.#at} bytes left`,
        { tensor: name },
      );
    }
    this.#at += size;
    return tensorOfBytes(name, datatype, shape, bytesOf(this.#body, this.#at - size, this.#at));
  }

  checkEmpty(): void {
    const left = this.#body.length - this.#at;
    if (left === 0) return;
    throw invalidArgument(`unexpected additional input data: ${left} bytes behind those of the inputs`);
  }
}

/**
 * The range of shared memory that the parameters of a tensor name; undefined if they name none.
 *
 * @throws {@link TritonError} INVALID_ARG for wrong values, and for a range without a region.
 */
function readRange(tensor: string, path: string, parameters: JsonObject): NamedRange | undefined {
  const region = member(parameters, 'shared_memory_region');
  const offset = member(parameters, 'shared_memory_offset');
  const byteSize = member(parameters, 'shared_memory_byte_size');
  if (region === undefined) {
    if (offset === undefined && byteSize === undefined) return undefined;
    const name = offset === undefined ? 'shared_memory_byte_size' : 'shared_memory_offset';
    throw invalidArgument(`'${path}': ${name} needs the parameter shared_memory_region`, { tensor });
  }
  return {
    region: readString(`${path}.shared_memory_region`, region),
    offset: offset === undefined ? 0 : readCount(`${path}.shared_memory_offset`, offset),
    byteSize: byteSize === undefined ? 0 : readCount(`${path}.shared_memory_byte_size`, byteSize),
  };
}

function readShape(name: string, value: unknown): number[] {
  return readArray(`inputs.${name}.shape`, value).map((dim) => {
    if (typeof dim !== 'number' || !Number.isSafeInteger(dim))
      throw wrongType(`inputs.${name}.shape`, 'integers', dim);
    if (dim >= 0) return dim;
    throw invalidArgument(`input '${name}': expected dims of 0 or more in its shape but received ${dim}`, {
      tensor: name,
    });
  });
}

function readInput(
  given: unknown,
  binary: BinaryPart,
  forms: InputForm[],
  memory: ClientRegions,
): [string, TensorInput] {
  const input = readObject('inputs[]', given);
  const name = readString('inputs[].name', member(input, 'name'));
  const datatype = datatypeOfName(readString(`inputs.${name}.datatype`, member(input, 'datatype')), name);
  const shape = readShape(name, member(input, 'shape'));
  const data = member(input, 'data');
  const given_ = member(input, 'parameters');
  let size: number | undefined;
  let range: NamedRange | undefined;
  if (given_ !== undefined) {
    const parameters = readObject(`inputs.${name}.parameters`, given_);
    range = readRange(name, `inputs.${name}.parameters`, parameters);
    const asked = member(parameters, 'binary_data_size');
    if (asked !== undefined) size = readCount(`inputs.${name}.parameters.binary_data_size`, asked);
  }
  const sources = [data, size, range].filter((source) => source !== undefined).length;
  if (sources !== 1) {
    const what = sources === 0 ? 'none of them' : 'more than one';
    throw invalidArgument(
      `input '${name}': expected one of 'data' and the parameters 'binary_data_size' and 'shared_memory_region' but received ${what}`,
      { tensor: name },
    );
  }
  const form = { name, datatype, shape, size, range };
  forms.push(form);
  if (range !== undefined) return [name, memory.tensor(name, datatype, shape, range)];
  if (size !== undefined) return [name, binary.take(form, size)];
  return [name, readTensor(name, datatype, shape, readArray(`inputs.${name}.data`, data))];
}

function readInputs(
  list: readonly unknown[],
  part: BinaryPart,
  forms: InputForm[],
  memory: ClientRegions,
): Record<string, TensorInput> {
  const entries = list.map((given) => readInput(given, part, forms, memory));
  part.checkEmpty();
  // fromEntries defines properties, so `__proto__` is a name like any other.
  const inputs = Object.fromEntries(entries);
  if (entries.length === 1 || Object.keys(inputs).length === entries.length) return inputs;
  const seen = new Set<string>();
  const [twice] = entries.find(([name]) => seen.size === seen.add(name).size) ?? [];
  throw invalidArgument(`input '${twice}' is given twice`, { tensor: twice });
}

function readOutput(
  given: unknown,
  listed: Map<string, boolean>,
  memory: ClientRegions,
  forms: OutputForm[],
  targets: Map<string, RegionRange>,
): RequestedOutput {
  const output = readObject('outputs[]', given);
  const name = readString('outputs[].name', member(output, 'name'));
  const asked = member(output, 'parameters');
  if (asked === undefined) {
    listed.set(name, false);
    forms.push({ name, range: undefined });
    return { name };
  }
  const path = `outputs.${name}.parameters`;
  const parameters = readObject(path, asked);
  const range = readRange(name, path, parameters);
  forms.push({ name, range });
  const binary = member(parameters, 'binary_data');
  listed.set(name, binary !== undefined && readFlag(`${path}.binary_data`, binary));
  const classes = member(parameters, 'classification');
  if (range !== undefined) {
    let other = listed.get(name) === true ? 'binary_data' : undefined;
    // As elsewhere, 0 classes mean none.
    if (classes !== undefined && classes !== 0) other ??= 'classification';
    if (other !== undefined) {
      throw invalidArgument(`output '${name}': ${other} cannot be used with shared memory`, { tensor: name });
    }
    targets.set(name, memory.range(range));
  }
  if (classes === undefined) return { name };
  return { name, classification: readCount(`${path}.classification`, classes) };
}

/** Whether an input has integers in JSON, where 1.0 would be an error. */
function hasIntegers(list: readonly unknown[]): boolean {
  return list.some((given) => {
    if (typeof given !== 'object' || given === null) return false;
    const input = given as JsonObject;
    return takesIntegers(member(input, 'datatype')) && member(input, 'data') !== undefined;
  });
}

/**
 * Reads a body.
 *
 * @param jsonSize - How many of its bytes are JSON.
 * @throws {@link TritonError} INVALID_ARG for a body that is not JSON, a missing member, a wrong type and an
 *   invalid value; NOT_FOUND for an unknown region of shared memory.
 */
export function readInferRequest(body: Buffer, jsonSize: number, memory: ClientRegions): HttpInferRequest {
  const json = new JsonText(body.subarray(0, jsonSize));
  let root = readObject('request', json.parse());
  let list = readArray('inputs', member(root, 'inputs'));
  if (json.hidesShapeFractions || (json.hidesFractions && hasIntegers(list))) {
    root = readObject('request', json.parseExactly());
    list = readArray('inputs', member(root, 'inputs'));
  }
  const id = member(root, 'id');
  const forms: InputForm[] = [];
  const inputs = readInputs(list, new BinaryPart(body, jsonSize), forms, memory);
  let parameters = readParameterObject('parameters', member(root, 'parameters'));
  let others = false;
  const wantsBinary = parameters.get('binary_data_output');
  if (wantsBinary !== undefined) {
    others = readFlag('parameters.binary_data_output', wantsBinary);
    const rest = new Map<string, ParameterValue>(parameters);
    rest.delete('binary_data_output');
    parameters = rest;
  }
  const asked = member(root, 'outputs');
  const wanted = asked === undefined ? [] : readArray('outputs', asked);
  const listed = wanted.length === 0 ? noneListed : new Map<string, boolean>();
  const outputForms: OutputForm[] = [];
  const targets = new Map<string, RegionRange>();
  // With listed outputs, `listed` is a Map of this request and may be written to.
  const outputs = wanted.map((one) =>
    readOutput(one, listed as Map<string, boolean>, memory, outputForms, targets),
  );
  return {
    id: id === undefined ? '' : readString('id', id),
    inputs,
    forms,
    parameters,
    outputs: wanted.length === 0 ? undefined : outputs,
    outputForms,
    targets: targets.size > 0 ? targets : undefined,
    binary: wanted.length === 0 && !others ? allJson : { others, listed },
  };
}

/** A range of the body. Bodies are in memory that no other thread can access. */
function bytesOf(body: Buffer, start: number, end: number): Bytes {
  return body.subarray(start, end) as Bytes;
}

/** The shape of an input with `size` bytes: the batch is 1, and one variable dim takes the rest. */
function shapeOfRaw(
  name: string,
  datatype: Datatype,
  dims: readonly number[],
  batched: boolean,
  size: number,
): number[] {
  const shape = batched ? [1, ...dims.slice(1)] : [...dims];
  const fail = (text: string): TritonError =>
    invalidArgument(`input '${name}' cannot be sent as a raw binary request: ${text}`, { tensor: name });
  const variable = shape.filter((dim) => dim === -1).length;
  if (datatype === 'BYTES') {
    if (shape.some((dim) => dim !== 1 && dim !== -1))
      throw fail(`it is one element, but the shape is [${shape.join(',')}]`);
    return shape.map(() => 1);
  }
  if (variable > 1) throw fail(`its shape [${shape.join(',')}] has ${variable} variable dims`);
  if (variable === 0) return shape;
  const rest = shape.reduce((product, dim) => (dim === -1 ? product : product * dim), datatypeSize[datatype]);
  if (size % rest !== 0) throw fail(`expected a multiple of ${rest} bytes but received ${size}`);
  return shape.map((dim) => (dim === -1 ? size / rest : dim));
}

/**
 * Reads a raw binary request: the whole body is the data of the model's only input. All outputs are sent as binary
 * data.
 *
 * @throws {@link TritonError} INVALID_ARG for a model with several inputs, and for a body that does not fit the
 *   input.
 */
export function readRawRequest(
  body: Buffer,
  { name: model, inputs }: ModelMetadata,
  batched: boolean,
): HttpInferRequest {
  const [input] = inputs;
  if (input === undefined || inputs.length !== 1) {
    throw invalidArgument(
      `model '${model}': a raw binary request is for models with one input, and it has ${inputs.length}`,
      { model },
    );
  }
  const { name, datatype, shape: dims } = input;
  const bytes = bytesOf(body, 0, body.length);
  const shape = shapeOfRaw(name, datatype, dims, batched, bytes.length);
  const tensor = tensorOfBytes(name, datatype, shape, datatype === 'BYTES' ? oneElement(bytes) : bytes);
  return {
    id: '',
    inputs: Object.fromEntries([[name, tensor]]),
    forms: [],
    parameters: noParameters,
    outputs: undefined,
    outputForms: [],
    targets: undefined,
    binary: allBinary,
  };
}
