/** Reads `ModelInferRequest` with a hand-written reader, as most calls have it. Tensors are views of its bytes. */

import { invalidArgument, type TritonError } from '../../errors.js';
import type { RequestedOutput } from '../../api/results.js';
import type { Datatype } from '../../tensor/datatype.js';
import type { TensorInput } from '../../tensor/inputs.js';
import { elementCount } from '../../tensor/shape.js';
import type { Parameters, ParameterValue } from '../../protocol/parameters.js';
import type { ServiceRequest } from '../service/service.js';
import type { RegionRange } from '../../tensor/region-tensor.js';
import type { ClientRegions, NamedRange } from '../service/client-regions.js';
import { namingModel } from '../service/request-errors.js';
import { datatypeOfName, tensorOfBytes, type Bytes } from '../service/tensors.js';
import {
  checkBytes,
  checkParts,
  ParameterMap,
  readEntry,
  readShape,
  type Parameter,
  type ParameterKind,
} from '../../protocol/grpc/infer-fields.js';
import { readContents } from '../../protocol/protobuf/contents.js';
import { wireType, type ProtoReader } from '../../protocol/protobuf/reader.js';
import { versionOf } from './version.js';

/** A request, with the parameters for the endpoint itself. */
export interface GrpcInferRequest extends ServiceRequest {
  readonly parameters: Parameters;
  /** Whether the client wants an empty final response from decoupled models. */
  readonly emptyFinal: boolean;
}

const noParameters: Parameters = new Map();
const noBytes: Bytes = new Uint8Array(0);

function wrongKind(what: string, expected: string, { kind }: Parameter): TritonError {
  return invalidArgument(
    `${what}: expected ${expected} but received ${kind === 'none' ? 'no value' : `${kind}_param`}`,
  );
}

/** The kinds of value that each known parameter may have, by its name. */
const kinds: ReadonlyMap<string, readonly ParameterKind[]> = new Map([
  ['sequence_id', ['int64', 'uint64', 'string']],
  ['sequence_start', ['bool']],
  ['sequence_end', ['bool']],
  ['priority', ['int64', 'uint64']],
  ['timeout', ['int64']],
]);

const others: readonly ParameterKind[] = ['bool', 'int64', 'string', 'double'];

/** The name of the parameter that asks for an empty final response from decoupled models. */
const emptyFinalName = 'triton_enable_empty_final_response';

function checkParameters(given: ReadonlyMap<string, Parameter>): {
  parameters: Parameters;
  emptyFinal: boolean;
} {
  const parameters = new Map<string, ParameterValue>();
  let emptyFinal = false;
  for (const [name, one] of given) {
    if (name === emptyFinalName) {
      if (one.kind !== 'bool') throw wrongKind(`parameter '${name}'`, 'bool_param', one);
      emptyFinal = one.value === true;
      continue;
    }
    if (name.startsWith('triton_')) {
      throw invalidArgument(
        `parameter '${name}': the prefix 'triton_' is reserved; the only parameter with it is ${emptyFinalName}`,
      );
    }
    const allowed = kinds.get(name) ?? others;
    if (!allowed.includes(one.kind))
      throw wrongKind(`parameter '${name}'`, allowed.map((kind) => `${kind}_param`).join(' or '), one);
    parameters.set(name, name === 'sequence_id' ? unsignedId(one) : one.value);
  }
  return { parameters, emptyFinal };
}

/** An id of 64 bits without a sign may come as an integer with a sign, which has the same bits. */
function unsignedId({ kind, value }: Parameter): ParameterValue {
  if (kind !== 'int64' || (typeof value !== 'number' && typeof value !== 'bigint')) return value;
  return value < 0 ? BigInt.asUintN(64, BigInt(value)) : value;
}

/** The number of bytes that a parameter says; undefined if it is not given. */
function readBytes(
  tensor: string,
  name: string,
  parameters: ReadonlyMap<string, Parameter>,
): number | undefined {
  const given = parameters.get(name);
  if (given === undefined) return undefined;
  const what = `tensor '${tensor}', parameter '${name}'`;
  if (given.kind !== 'int64') throw wrongKind(what, 'int64_param', given);
  if (typeof given.value === 'number' && given.value >= 0) return given.value;
  throw invalidArgument(`${what}: expected a number of bytes but received ${given.value}`, { tensor });
}

/**
 * The range of shared memory that the parameters of a tensor name; undefined if they name none.
 *
 * @throws {@link TritonError} INVALID_ARG for wrong values, and for a range without a region or without a size.
 */
function readRange(
  tensor: string,
  parameters: ReadonlyMap<string, Parameter> | undefined,
): NamedRange | undefined {
  if (parameters === undefined) return undefined;
  const region = parameters.get('shared_memory_region');
  const offset = readBytes(tensor, 'shared_memory_offset', parameters);
  const byteSize = readBytes(tensor, 'shared_memory_byte_size', parameters);
  if (region === undefined) {
    if (offset === undefined && byteSize === undefined) return undefined;
    const name = offset === undefined ? 'shared_memory_byte_size' : 'shared_memory_offset';
    throw invalidArgument(`tensor '${tensor}': '${name}' needs the parameter 'shared_memory_region'`, {
      tensor,
    });
  }
  if (region.kind !== 'string')
    throw wrongKind(`tensor '${tensor}', parameter 'shared_memory_region'`, 'string_param', region);
  if (byteSize === undefined) {
    throw invalidArgument(
      `tensor '${tensor}': 'shared_memory_region' needs the parameter 'shared_memory_byte_size'`,
      { tensor },
    );
  }
  return { region: String(region.value), offset: offset ?? 0, byteSize };
}

/** An input without its bytes. */
interface Input {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly contents: ProtoReader | undefined;
  /** Where its bytes are, if they are in shared memory. */
  readonly range: NamedRange | undefined;
}

function readInput(reader: ProtoReader): Input {
  let name = '';
  let datatype = '';
  const shape: number[] = [];
  let contents: ProtoReader | undefined;
  let parameters: ParameterMap | undefined;
  while (!reader.done) {
    const tag = reader.tag();
    const field = tag >>> 3;
    if (field === 3) {
      readShape(tag, reader, shape);
      continue;
    }
    if (field > 5) {
      reader.skip(tag);
      continue;
    }
    checkBytes(tag, 'of an input');
    if (field === 1) name = reader.text();
    else if (field === 2) datatype = reader.text();
    else if (field === 4) readEntry(reader.message(), (parameters ??= new ParameterMap()));
    else contents = reader.message();
  }
  const range = readRange(name, parameters);
  const negative = shape.find((dim) => dim < 0);
  if (negative !== undefined) {
    throw invalidArgument(
      `input '${name}': expected dims of 0 or more in its shape but received ${negative}`,
      {
        tensor: name,
      },
    );
  }
  return { name, datatype: datatypeOfName(datatype, name), shape, contents, range };
}

function readOutput(
  reader: ProtoReader,
  memory: ClientRegions,
  targets: Map<string, RegionRange>,
): RequestedOutput {
  let name = '';
  let parameters: ParameterMap | undefined;
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === ((1 << 3) | wireType.bytes)) name = reader.text();
    else if (tag === ((2 << 3) | wireType.bytes))
      readEntry(reader.message(), (parameters ??= new ParameterMap()));
    else reader.skip(tag);
  }
  const range = readRange(name, parameters);
  const classes = parameters?.get('classification');
  if (range !== undefined) {
    if (classes !== undefined) {
      throw invalidArgument(`output '${name}': classification cannot be used with shared memory`, {
        tensor: name,
      });
    }
    targets.set(name, memory.range(range));
  }
  if (classes === undefined) return { name };
  const what = `output '${name}', parameter 'classification'`;
  if (classes.kind !== 'int64') throw wrongKind(what, 'int64_param', classes);
  if (typeof classes.value !== 'number' || classes.value <= 0)
    throw invalidArgument(`${what}: expected 1 or more but received ${classes.value}`, { tensor: name });
  return { name, classification: classes.value };
}

/** The inputs as tensors: each gets its bytes or its typed contents. */
function tensorsOf(
  model: string,
  inputs: readonly Input[],
  raw: readonly Bytes[],
  memory: ClientRegions,
): Record<string, TensorInput> {
  let next = 0;
  const entries = inputs.map((input): [string, TensorInput] => {
    const { name, datatype, shape, contents, range } = input;
    const isTyped = contents !== undefined && !contents.done;
    if (range !== undefined) {
      if (!isTyped) return [name, memory.tensor(name, datatype, shape, range)];
      throw invalidArgument(
        `input '${name}': expected either 'contents' or the parameter 'shared_memory_region' but received both`,
        { tensor: name },
      );
    }
    if (isTyped && raw.length > 0) {
      throw invalidArgument(
        `input '${name}': expected either 'contents' or raw_input_contents in a request but received both`,
        { tensor: name },
      );
    }
    if (isTyped) return [name, readContents('input', name, datatype, shape, contents)];
    const bytes = raw[next++] ?? (raw.length === 0 && elementCount(shape) === 0 ? noBytes : undefined);
    if (bytes !== undefined) return [name, tensorOfBytes(name, datatype, shape, bytes)];
    throw invalidArgument(
      `unable to find data for input tensor '${name}' of model '${model}': raw_input_contents has ${raw.length} entries and 'contents' is empty`,
      { model, tensor: name },
    );
  });
  if (entries.length === 1) {
    const [[name, tensor] = ['', []]] = entries;
    if (name !== '__proto__') return { [name]: tensor };
  }
  // fromEntries defines properties, so `__proto__` is a name like any other.
  const tensors = Object.fromEntries(entries);
  const names = new Set<string>();
  for (const { name } of inputs) {
    if (names.has(name)) throw invalidArgument(`input '${name}' is in the request twice`, { tensor: name });
    names.add(name);
  }
  return tensors;
}

/**
 * Reads a request. `id` and `model` keep what was read before an error, so that a stream's error response can name
 * the request.
 */
export class InferRequestReader {
  id = '';
  model = '';

  /**
   * Reads a request. Its tensors are views of `reader`'s bytes.
   *
   * @throws {@link UnreadableMessage} For bytes that are not a message.
   * @throws {@link TritonError} INVALID_ARG for a message that is not a valid request; NOT_FOUND for an unknown
   *   region of shared memory.
   */
  read(reader: ProtoReader, memory: ClientRegions): GrpcInferRequest {
    try {
      return this.#read(reader, memory);
    } catch (error) {
      throw namingModel(error, this.model);
    }
  }

  #read(reader: ProtoReader, memory: ClientRegions): GrpcInferRequest {
    let version = '';
    let parameters: ParameterMap | undefined;
    const inputs: ProtoReader[] = [];
    const outputs: ProtoReader[] = [];
    const raw: Bytes[] = [];
    while (!reader.done) {
      const tag = reader.tag();
      const field = tag >>> 3;
      if (field > 7) {
        reader.skip(tag);
        continue;
      }
      checkBytes(tag, 'of the request');
      if (field === 1) this.model = reader.text();
      else if (field === 2) version = reader.text();
      else if (field === 3) this.id = reader.text();
      else if (field === 4) readEntry(reader.message(), (parameters ??= new ParameterMap()));
      else if (field === 5) inputs.push(reader.message());
      else if (field === 6) outputs.push(reader.message());
      // Bodies are collected in memory that no other thread can access.
      else raw.push(reader.view() as Bytes);
      if (field > 4) checkParts(inputs.length + outputs.length + raw.length, 'inputs and outputs');
    }
    const { model, id } = this;
    const checked =
      parameters === undefined
        ? { parameters: noParameters, emptyFinal: false }
        : checkParameters(parameters);
    const given = inputs.map(readInput);
    const targets = new Map<string, RegionRange>();
    const wanted = outputs.map((output) => readOutput(output, memory, targets));
    return {
      model,
      version: versionOf(version),
      id,
      inputs: tensorsOf(model, given, raw, memory),
      outputs: wanted.length === 0 ? undefined : wanted,
      targets: targets.size > 0 ? targets : undefined,
      ...checked,
    };
  }
}
