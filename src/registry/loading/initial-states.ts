/** Reads the files of initial states: the values that the states of a new sequence have. */

import { join, normalize, sep } from 'node:path';
import {
  datatypeOf,
  fieldError,
  fieldPath,
  indexPath,
  keptStates,
  type ConfigSource,
  type ModelConfig,
  type PlacedState,
} from '../../config/index.js';
import type { TritonError, TritonErrorCode } from '../../errors.js';
import { datatypeSize, type Datatype } from '../../tensor/datatype.js';
import { readAtMost, readBeginning, TooLargeError, whyUnread } from '../files/read-file.js';
import { booleansFault, prefixBytes, stringsFault } from '../files/tensor-files.js';
import type { GivenFiles } from '../sources/model-source.js';

/** Bytes of initial states by the name of the state's input. States without a file are absent. */
export type InitialStates = ReadonlyMap<string, Uint8Array>;

/** The model whose files are read. */
export interface InitialStatesContext {
  /** Where the configuration came from. */
  readonly source: ConfigSource;
  /** The model's folder. */
  readonly folder: string;
  /** The model's files by path, in place of the folder's. */
  readonly files: GivenFiles | undefined;
  /** The states of all sequences have at most this many bytes, together with the requests in flight. */
  readonly maxInFlightBytes: number;
}

/**
 * Reads the files of the initial states of a complete, checked configuration. As in Triton, a file may have more bytes
 * than the state, unless it contains strings.
 *
 * @throws {@link TritonError} INVALID_ARG for a file that does not fit its state, or a state that is larger than the
 *   limit, INTERNAL for a file that cannot be read; with the field's place.
 */
export async function readInitialStates(
  config: ModelConfig,
  context: InitialStatesContext,
): Promise<InitialStates> {
  const states = new Map<string, Uint8Array>();
  for (const placed of keptStates(config)) {
    const bytes = await readState(config, context, placed);
    if (bytes) states.set(placed.state.input_name, bytes);
  }
  return states;
}

async function readState(
  config: ModelConfig,
  { source, folder, files, maxInFlightBytes }: InitialStatesContext,
  { index, state }: PlacedState,
): Promise<Uint8Array | undefined> {
  const [initial] = state.initial_state;
  const file = initial?.data_file;
  const datatype = datatypeOf(state.data_type);
  if (initial === undefined || file === undefined || datatype === undefined) return undefined;
  const refused = (code: TritonErrorCode, text: string, cause?: unknown): TritonError => {
    const at = fieldPath(indexPath('sequence_batching.state', index), 'initial_state[0].data_file');
    return fieldError(code, source, at, text, {
      model: config.name,
      tensor: state.input_name,
      ...(cause === undefined ? {} : { cause }),
    });
  };
  const shape = `${state.data_type} of dims [${initial.dims.join(',')}]`;
  const elements = initial.dims.reduce((product, dim) => product * dim, 1);
  const least = elements * (datatype === 'BYTES' ? prefixBytes : datatypeSize[datatype]);
  const tooLarge = (size: number, cause?: unknown): TritonError =>
    refused(
      'INVALID_ARG',
      `${file}: expected at most ${maxInFlightBytes} bytes (options.maxInFlightBytes) for the state of a sequence, but ` +
        `${shape} has ${size}`,
      cause,
    );
  if (least > maxInFlightBytes) throw tooLarge(least);
  const inside = normalize(join('initial_state', file));
  let bytes: Uint8Array;
  try {
    const given = files?.get(inside.replaceAll(sep, '/'));
    if (files && !given) throw new Error('it is not among the given files');
    if (datatype !== 'BYTES') {
      bytes = given?.copy() ?? (await readBeginning(join(folder, inside), least));
    } else {
      if (given && given.size() > maxInFlightBytes) throw new TooLargeError(given.size(), maxInFlightBytes);
      bytes = given?.copy() ?? (await readAtMost(join(folder, inside), maxInFlightBytes));
    }
  } catch (error) {
    if (error instanceof TooLargeError) throw tooLarge(error.size, error);
    const text = `initial state file ${join(folder, inside)} cannot be read: ${whyUnread(error)}`;
    throw refused('INTERNAL', text, error);
  }
  const fault = contentFault(datatype, bytes, elements, least, shape);
  if (fault !== undefined) throw refused('INVALID_ARG', `${file}: ${fault}`);
  return datatype === 'BYTES' ? bytes : bytes.subarray(0, least);
}

/** Says why bytes cannot be a state; undefined: they can. */
function contentFault(
  datatype: Datatype,
  bytes: Uint8Array,
  elements: number,
  least: number,
  shape: string,
): string | undefined {
  if (datatype === 'BYTES') return stringsFault(bytes, elements);
  if (bytes.length < least) return `expected at least ${least} bytes for ${shape} but it has ${bytes.length}`;
  return datatype === 'BOOL' ? booleansFault(bytes.subarray(0, least)) : undefined;
}
