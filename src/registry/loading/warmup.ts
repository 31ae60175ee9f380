/** The samples that a version is warmed up with: from its configuration, and files, to what the engine runs. */

import { join, normalize, sep } from 'node:path';
import { keepBytes } from '../../addon/native-bytes.js';
import type { NativeBytes } from '../../addon/native/folder.js';
import type { NativeWarmupInput, NativeWarmupSample } from '../../addon/native/version-config.js';
import {
  datatypeOf,
  fieldError,
  fieldPath,
  indexPath,
  keyPath,
  type ConfigSource,
  type ModelConfig,
  type ModelWarmup,
  type ModelWarmupInput,
  fullDims,
  hasRowsInValues,
  sequenceTensorsOf,
} from '../../config/index.js';
import { TritonError, type TritonErrorCode } from '../../errors.js';
import { datatypeNumber, datatypeSize, type Datatype } from '../../tensor/datatype.js';
import { compileReshape } from '../../tensor/reshape.js';
import type { GivenFiles } from '../sources/model-source.js';
import { readAtMost, TooLargeError, whyUnread } from '../files/read-file.js';
import { booleansFault, prefixBytes, stringsFault } from '../files/tensor-files.js';

/** See the head of this file. */
export interface Warmup {
  readonly samples: readonly NativeWarmupSample[];
  /** Frees what was read for it: when the version has started, or never will. */
  readonly release: () => void;
}

/** What reading samples needs to know. */
export interface WarmupContext {
  /** Where the configuration came from. */
  readonly source: ConfigSource;
  /** The model's folder. */
  readonly folder: string;
  /** The model's files by path, in place of the folder's. */
  readonly files: GivenFiles | undefined;
  /** What the requests of a sample may hold together: no more than other requests. */
  readonly maxInFlightBytes: number;
}

/**
 * Makes the samples of a complete, checked configuration, and reads their files.
 *
 * @throws {TritonError} INVALID_ARG for a file that does not fit its input, or a sample that is larger than requests may
 *   be, INTERNAL for a file that cannot be read, UNAVAILABLE without memory; with the field's place.
 */
export async function readWarmup(config: ModelConfig, context: WarmupContext): Promise<Warmup> {
  const kept: NativeBytes[] = [];
  const release = (): void => {
    for (const bytes of kept.splice(0)) bytes.release();
  };
  try {
    const samples: NativeWarmupSample[] = [];
    for (const [index, sample] of config.model_warmup.entries()) {
      if (sample.batch_size === 0) continue;
      const inputs = await new SampleReader(config, context, sample, index, kept).read();
      const { name, batch_size: batchSize, count } = sample;
      samples.push({ name, batchSize, count: Math.max(1, count), inputs });
    }
    return { samples, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** What a request takes besides its tensors, at most: a batch of very many is refused before there is memory for it. */
const requestBytes = 512;

/** Reads the inputs of one sample. */
class SampleReader {
  readonly #config: ModelConfig;
  readonly #context: WarmupContext;
  readonly #sample: ModelWarmup;
  readonly #path: string;
  /** What is to be released. */
  readonly #kept: NativeBytes[];
  /** What one request may still hold. */
  #left: number;

  constructor(
    config: ModelConfig,
    context: WarmupContext,
    sample: ModelWarmup,
    index: number,
    kept: NativeBytes[],
  ) {
    this.#config = config;
    this.#context = context;
    this.#sample = sample;
    this.#path = indexPath('model_warmup', index);
    this.#kept = kept;
    this.#left = context.maxInFlightBytes / sample.batch_size - requestBytes;
  }

  async read(): Promise<NativeWarmupInput[]> {
    const inputs: NativeWarmupInput[] = [];
    for (const [position, input] of this.#config.input.entries()) {
      const { name, dims, reshape } = input;
      const given = this.#sample.inputs[name];
      const datatype = given && datatypeOf(given.data_type);
      // Absent: it is optional.
      if (given === undefined || datatype === undefined) continue;
      const batching = this.#config.max_batch_size > 0;
      const full = batching ? [1, ...given.dims] : given.dims;
      const shape = reshape ? (compileReshape(dims, reshape.shape, batching)?.(full) ?? full) : full;
      const path = keyPath(fieldPath(this.#path, 'inputs'), name);
      if (hasRowsInValues(this.#config, input)) {
        inputs.push(await this.#shapeTensor(given, datatype, position, name, path));
        continue;
      }
      inputs.push({
        input: position,
        datatype: datatypeNumber[datatype],
        shape,
        ...(await this.#data(given, datatype, name, path)),
      });
    }
    await this.#readHidden(inputs);
    return inputs;
  }

  /** Controls and states, of which no scheduler makes a warm-up's: as the sample says, else zeros. */
  async #readHidden(inputs: NativeWarmupInput[]): Promise<void> {
    for (const [index, hidden] of sequenceTensorsOf(this.#config).inputs.entries()) {
      const { name, data_type, firstDims } = hidden;
      const given = this.#sample.inputs[name] ?? { data_type, dims: firstDims, zero_data: true };
      const datatype = datatypeOf(data_type);
      if (datatype === undefined) continue;
      const path = keyPath(fieldPath(this.#path, 'inputs'), name);
      inputs.push({
        input: this.#config.input.length + index,
        datatype: datatypeNumber[datatype],
        shape: this.#config.max_batch_size > 0 ? [1, ...given.dims] : given.dims,
        ...(await this.#data(given, datatype, name, path)),
      });
    }
  }

  /** A shape tensor of a model that batches. Each request has one row, which its first value tells. */
  async #shapeTensor(
    given: ModelWarmupInput,
    datatype: Datatype,
    position: number,
    name: string,
    path: string,
  ): Promise<NativeWarmupInput> {
    const shape = [...fullDims(this.#config, { dims: given.dims, is_shape_tensor: true })];
    const wide = datatype === 'INT64';
    const { data: read, size } = await this.#data({ ...given, dims: shape }, datatype, name, path);
    const bytes = typeof read === 'string' ? new Uint8Array(size) : read.copy();
    const values = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (typeof read === 'string') {
      if (read === 'random') {
        const text = 'random numbers cannot be a shape: write zero_data or input_data_file';
        throw this.#error('INVALID_ARG', fieldPath(path, 'random_data'), text, name);
      }
      values.setInt32(0, 1, true);
    } else {
      const first = wide ? values.getBigInt64(0, true) : values.getInt32(0, true);
      if (Number(first) !== 1) {
        const text = `${given.input_data_file ?? ''}: expected its first value to be 1, the rows of each request, but found ${first}`;
        throw this.#error('INVALID_ARG', fieldPath(path, 'input_data_file'), text, name);
      }
    }
    const data = keepBytes(bytes, `model '${this.#config.name}', warm-up input '${name}'`);
    this.#kept.push(data);
    return { input: position, datatype: datatypeNumber[datatype], shape, data, size };
  }

  async #data(
    given: ModelWarmupInput,
    datatype: Datatype,
    name: string,
    path: string,
  ): Promise<Pick<NativeWarmupInput, 'data' | 'size'>> {
    const elements = given.dims.reduce((product, dim) => product * dim, 1);
    const size = elements * (datatype === 'BYTES' ? prefixBytes : datatypeSize[datatype]);
    // Also where the product of absurd dims is no number.
    if (!(size <= this.#left)) throw this.#tooLarge(size, path, name);
    if (given.input_data_file === undefined) {
      this.#left -= size;
      return { data: given.random_data === undefined ? 'zero' : 'random', size };
    }
    const at = fieldPath(path, 'input_data_file');
    const data = await this.#file(given.input_data_file, datatype, size, name, at);
    const bytes = data.size();
    const fault =
      datatype === 'BYTES'
        ? stringsFault(data.copy(), elements)
        : bytes === size
          ? datatype === 'BOOL'
            ? booleansFault(data.copy())
            : undefined
          : `expected ${size} bytes for ${given.data_type} of dims [${given.dims.join(',')}] but it has ${bytes}`;
    if (fault !== undefined) throw this.#error('INVALID_ARG', at, `${given.input_data_file}: ${fault}`, name);
    this.#left -= bytes;
    return { data, size: bytes };
  }

  /** @param size - What it should have, or at least. */
  async #file(
    file: string,
    datatype: Datatype,
    size: number,
    name: string,
    path: string,
  ): Promise<NativeBytes> {
    const { folder, files } = this.#context;
    // A byte more than is right tells as much as all of them.
    const most = Math.floor(datatype === 'BYTES' ? this.#left : size);
    const inside = normalize(join('warmup', file));
    try {
      const given = files?.get(inside.replaceAll(sep, '/'));
      if (files && !given) throw new Error('it is not among the given files');
      if (given && given.size() > most) throw new TooLargeError(given.size(), most);
      if (given) return given;
      const bytes = keepBytes(
        await readAtMost(join(folder, inside), most),
        `model '${this.#config.name}', warm-up file '${file}'`,
      );
      this.#kept.push(bytes);
      return bytes;
    } catch (error) {
      if (error instanceof TritonError) throw error;
      if (error instanceof TooLargeError) {
        if (datatype === 'BYTES') throw this.#tooLarge(error.size, path, name);
        const text = `${file}: expected ${size} bytes for the sample's dims but it has ${error.size}`;
        throw this.#error('INVALID_ARG', path, text, name, error);
      }
      const text = `warm-up file ${join(folder, inside)} cannot be read: ${whyUnread(error)}`;
      throw this.#error('INTERNAL', path, text, name, error);
    }
  }

  #tooLarge(size: number, path: string, name: string): TritonError {
    const { maxInFlightBytes } = this.#context;
    const { batch_size: requests } = this.#sample;
    return this.#error(
      'INVALID_ARG',
      path,
      `${requests} requests with ${size} bytes of this input, besides the others and ${requestBytes} bytes each, hold more than ` +
        `options.maxInFlightBytes, ${maxInFlightBytes}`,
      name,
    );
  }

  #error(code: TritonErrorCode, path: string, text: string, tensor: string, cause?: unknown): TritonError {
    return fieldError(code, this.#context.source, path, text, {
      model: this.#config.name,
      tensor,
      ...(cause === undefined ? {} : { cause }),
    });
  }
}
