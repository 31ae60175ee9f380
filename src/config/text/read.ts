/** Reads `config.pbtxt`: from its text to the fields that were written. */

import type { ModelConfigInput } from '../schema/types.js';
import { decodeConfig } from './decode.js';
import { Positions } from './positions.js';
import { problemsError, unplaced, type ConfigSource } from './problems.js';
import { Reader } from './reader.js';

/** A configuration as it was written: what was left out is absent, and the place of every field can be found. */
export interface ParsedConfig extends ConfigSource {
  /** The fields that were written, also those written with their default value (`max_batch_size: 0`). */
  readonly value: ModelConfigInput;
}

/**
 * Reads a configuration in protobuf's text format.
 *
 * @param source - `file`: its path, for messages; `text`: its content, at most {@link maxConfigBytes}.
 * @returns The fields that were written.
 * @throws {TritonError} INVALID_ARG if the text is no configuration: message and location name file, line and field; all
 *   faults that were found are listed.
 *
 * @example
 * const parsed = readModelConfig({ file, text: await readFile(file) });
 * parsed.value.max_batch_size; // 8, or undefined if it was not written
 * parsed.positionOf('input[0].dims'); // { line: 7, column: 5 }
 */
export function readModelConfig(source: {
  readonly file: string;
  readonly text: string | Uint8Array;
}): ParsedConfig {
  const { file } = source;
  const decoded = decodeConfig(source.text);
  if ('problem' in decoded) throw problemsError([decoded.problem], unplaced(file), undefined);
  const reader = new Reader(decoded.text, decoded.wellFormed);
  const value = reader.config();
  const positions = new Positions(decoded.text, reader.marks);
  const place: ConfigSource = { file, positionOf: (path) => positions.of(path) };
  const problems = reader.problems();
  if (problems.length > 0) throw problemsError(problems, place, undefined);
  return { file, positionOf: place.positionOf, value };
}
