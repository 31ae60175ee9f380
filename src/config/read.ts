/**
 * Reads `config.pbtxt`. Imported when a file is not plain (`read-plain.ts`): protobufjs takes longer to load than
 * everything else that `import 'tritonts'` does.
 */

import protobuf from 'protobufjs/light.js';
import textformat from 'protobufjs/ext/textformat.js';
import { decodeConfig } from './decode.js';
import { diagnose } from './diagnose.js';
import { enumNames, fieldsOf, protobufDescriptor, rootMessage, type Field } from './fields.js';
import { fieldPath, indexPath, keyPath } from './paths.js';
import {
  problemsError,
  reportInto,
  throwProblems,
  type ConfigSource,
  type Problem,
  type Report,
} from './problems.js';
import { enumFault, tooLarge } from './scalar-faults.js';
import { textSource } from './text-source.js';
import type { ModelConfigInput } from './types.js';

/** A configuration as it was written: what was left out is absent, and every field's line can be found again. */
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
 * parsed.lineOf('input[0].dims'); // 7
 */
export function readModelConfig(source: {
  readonly file: string;
  readonly text: string | Uint8Array;
}): ParsedConfig {
  const { file } = source;
  const decoded = decodeConfig(source.text);
  if ('problem' in decoded) throw problemsError([decoded.problem], { file, lineOf: () => 0 }, undefined);
  const { text } = decoded;
  const place = textSource({ file, text });

  let message: object;
  try {
    message = textformat.fromText(configType(), text);
  } catch (error) {
    const parserMessage = error instanceof Error ? error.message : String(error);
    throw problemsError(diagnose(text, parserMessage), place, undefined);
  }
  const problems: Problem[] = [];
  const value = fieldsFrom(rootMessage, message, '', reportInto(problems));
  throwProblems(problems, place, undefined);
  return { ...place, value };
}

let type: protobuf.Type | undefined;

/** The message type that protobufjs parses into; made once. */
function configType(): protobuf.Type {
  if (type === undefined) {
    const root = protobuf.Root.fromJSON(protobufDescriptor());
    // Where a type has no constructor protobufjs makes one from source text, which `--disallow-code-generation-from-strings`
    // and the content security policy of many Electron apps forbid.
    const setConstructors = (namespace: protobuf.NamespaceBase): void => {
      for (const nested of namespace.nestedArray) {
        if (nested instanceof protobuf.Type) nested.ctor = class extends protobuf.Message {};
        if (nested instanceof protobuf.Namespace) setConstructors(nested);
      }
    };
    setConstructors(root);
    type = root.lookupType(`inference.${rootMessage}`);
  }
  return type;
}

/** The fields of a parsed message as plain values: enums by name, 64-bit integers as numbers. */
function fieldsFrom(message: string, parsed: object, path: string, report: Report): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const written = new Map<string, unknown>(Object.entries(parsed));
  for (const field of fieldsOf(message).values()) {
    const value = written.get(field.name);
    const at = fieldPath(path, field.name);
    if (Array.isArray(value)) {
      result[field.name] = value.map((one: unknown, index) =>
        valueFrom(field, one, indexPath(at, index), report),
      );
    } else if (field.mapKey !== undefined && typeof value === 'object' && value !== null) {
      const entries = Object.create(null) as Record<string, unknown>;
      for (const [key, one] of Object.entries(value)) {
        entries[key] = valueFrom(field, one, keyPath(at, key), report);
      }
      result[field.name] = entries;
    } else if (value !== undefined) {
      result[field.name] = valueFrom(field, value, at, report);
    }
  }
  return result;
}

function valueFrom(field: Field, value: unknown, path: string, report: Report): unknown {
  if (field.kind === 'enum') {
    return enumNames(field.type)[Number(value)] ?? report(path, enumFault(field.type, String(value)));
  }
  if (typeof value !== 'object' || value === null) return value;
  if (field.kind === 'message') return fieldsFrom(field.type, value, path, report);
  // What is left is a 64-bit integer in the parser's own class.
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : report(path, tooLarge(value));
}
