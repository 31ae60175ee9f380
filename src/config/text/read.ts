/** Reads `config.pbtxt`: turns its text into the written fields. */

import type { ModelConfigInput } from '../schema/types.js';
import { decodeConfig } from './decode.js';
import { Positions } from './positions.js';
import { problemsError, unplaced, type ConfigSource } from './problems.js';
import { Reader } from './reader.js';

/** A configuration as written. Fields that were left out are absent, and every field's position can be found. */
export interface ParsedConfig extends ConfigSource {
  /** The written fields, including those with their default value (`max_batch_size: 0`). */
  readonly value: ModelConfigInput;
  /** Notes about written parts that have no effect. */
  readonly notes?: readonly string[] | undefined;
}

/**
 * Reads a configuration in protobuf's text format.
 *
 * @param source - `file` is the path, for messages; `text` is the content, at most {@link maxConfigBytes}.
 * @returns The written fields.
 * @throws {@link TritonError} INVALID_ARG for an invalid text. The message lists all faults; message and
 *   location name file, line and field.
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
  return { file, positionOf: place.positionOf, value, notes: reader.notes };
}
