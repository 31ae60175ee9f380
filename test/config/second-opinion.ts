/** Reads configurations with protobufjs's own reader of the text format: a second opinion for the fuzzer. */

import protobuf from 'protobufjs/light.js';
import textformat from 'protobufjs/ext/textformat.js';
import { enumNames, fieldsOf, rootMessage, type Field } from '../../src/config/schema/fields.js';
import { protoFiles } from '../../src/protocol/protobuf/files.js';
import { descriptorOf } from '../../src/protocol/protobuf/types.js';

/**
 * Reads a text with protobufjs.
 *
 * @returns The fields that were written, as `readModelConfig` returns them; undefined if the text is
 *   refused.
 */
export function secondOpinion(text: string): object | undefined {
  let message: object;
  try {
    message = textformat.fromText(configType(), text);
  } catch {
    return undefined;
  }
  return fieldsFrom(rootMessage, message);
}

let type: protobuf.Type | undefined;

/** The message type that protobufjs parses into; made once. */
function configType(): protobuf.Type {
  if (type === undefined) {
    const root = protobuf.Root.fromJSON(descriptorOf(protoFiles));
    // The constructors of protobufjs give every message empty lists, but fields that were not written must be
    // absent.
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
function fieldsFrom(message: string, parsed: object): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const written = new Map<string, unknown>(Object.entries(parsed));
  for (const field of fieldsOf(message).values()) {
    const value = written.get(field.name);
    if (Array.isArray(value)) {
      result[field.name] = value.map((one: unknown) => valueFrom(field, one));
    } else if (field.mapKey !== undefined && typeof value === 'object' && value !== null) {
      const entries = Object.create(null) as Record<string, unknown>;
      for (const [key, one] of Object.entries(value)) entries[key] = valueFrom(field, one);
      result[field.name] = entries;
    } else if (value !== undefined) {
      result[field.name] = valueFrom(field, value);
    }
  }
  return result;
}

/** A plain value; undefined for an enum's number without a name. */
function valueFrom(field: Field, value: unknown): unknown {
  if (field.kind === 'enum') return enumNames(field.type)[Number(value)];
  if (typeof value !== 'object' || value === null) return value;
  // Any other object is a 64-bit integer in the parser's own class.
  return field.kind === 'message' ? fieldsFrom(field.type, value) : Number(value);
}
