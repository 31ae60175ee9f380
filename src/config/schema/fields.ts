/** Fields of the schema, with their types and defaults, derived from the table. */

import { enumTable, messageTable, type FieldRow, type ScalarType } from './table.js';

/** A field of a message. */
export interface Field {
  /** The field's name in Triton, in snake_case. */
  readonly name: string;
  /** Field number. */
  readonly id: number;
  /**
   * Scalar type, or full name of an enum or message within package `inference`. For a map, the type of its
   * values.
   */
  readonly type: string;
  readonly kind: 'scalar' | 'enum' | 'message';
  readonly repeated: boolean;
  /** Type of a map's keys; undefined for a field that is not a map. */
  readonly mapKey: 'string' | 'uint64' | undefined;
  /** Name of the field's oneof, if it is in one. */
  readonly oneof: string | undefined;
  /** The other fields of its oneof. */
  readonly rivals: readonly string[];
  /**
   * The field's value in a whole configuration if it was not written. If undefined, lists and maps are empty,
   * and other fields absent.
   */
  readonly initial: string | number | boolean | undefined;
}

/** The message type of a configuration file. */
export const rootMessage = 'ModelConfig';

function fieldOf(name: string, [id, type, label]: FieldRow, rivals: readonly string[]): Field {
  const kind = type in enumTable ? 'enum' : type in messageTable ? 'message' : 'scalar';
  return {
    name,
    id,
    type,
    kind,
    repeated: label === 'repeated',
    mapKey: label === 'map string' ? 'string' : label === 'map uint64' ? 'uint64' : undefined,
    oneof: oneofOf(label),
    rivals,
    initial: label === undefined && kind !== 'message' ? defaultOf({ kind, type }) : undefined,
  };
}

function oneofOf(label: FieldRow[2]): string | undefined {
  return label?.startsWith('oneof ') === true ? label.slice('oneof '.length) : undefined;
}

const none: readonly string[] = [];

/** The other fields of a field's oneof. */
function rivalsOf(
  name: string,
  label: FieldRow[2],
  rows: readonly (readonly [string, FieldRow])[],
): readonly string[] {
  if (oneofOf(label) === undefined) return none;
  return rows.flatMap(([other, row]) => (other !== name && row[2] === label ? [other] : []));
}

/** Field lists by message, made on first use, because most configurations use few messages. */
const listByMessage = new Map<string, readonly Field[]>();
const fieldsByMessage = new Map<string, ReadonlyMap<string, Field>>();

/**
 * The fields of a message, in Triton's order of declaration.
 *
 * @param message - Full name within package `inference`, such as `ModelInput`.
 */
export function fieldListOf(message: string): readonly Field[] {
  const known = listByMessage.get(message);
  if (known !== undefined) return known;
  const rows = messageTable[message];
  if (rows === undefined) throw new TypeError(`the schema has no message ${message}`);
  const entries = Object.entries(rows);
  const list = entries.map(([name, row]) => fieldOf(name, row, rivalsOf(name, row[2], entries)));
  listByMessage.set(message, list);
  return list;
}

/** The fields of a message by name. */
export function fieldsOf(message: string): ReadonlyMap<string, Field> {
  const known = fieldsByMessage.get(message);
  if (known !== undefined) return known;
  const fields = new Map(fieldListOf(message).map((field) => [field.name, field]));
  fieldsByMessage.set(message, fields);
  return fields;
}

const jsonFieldsByMessage = new Map<string, ReadonlyMap<string, Field>>();

/**
 * The fields of a message by their names in JSON: both Triton's names, and the camelCase names (`maxBatchSize`) that
 * protobuf's own printers write.
 */
export function jsonFieldsOf(message: string): ReadonlyMap<string, Field> {
  const known = jsonFieldsByMessage.get(message);
  if (known !== undefined) return known;
  const fields = new Map(fieldsOf(message));
  for (const field of fieldListOf(message)) fields.set(jsonNameOf(field.name), field);
  jsonFieldsByMessage.set(message, fields);
  return fields;
}

/** The name of a field in JSON, by protobuf's rule. */
function jsonNameOf(name: string): string {
  return name.replaceAll(/_+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

/** The two fields of a map's entry. */
export interface EntryFields {
  readonly key: Field;
  readonly value: Field;
}

const entryFieldsOf = new Map<Field, EntryFields>();

/** The fields of a map's entry, which protobuf treats as a message. */
export function entryFields(map: Field): EntryFields {
  const known = entryFieldsOf.get(map);
  if (known !== undefined) return known;
  const fields = {
    key: fieldOf('key', [1, map.mapKey ?? 'string'], none),
    value: fieldOf('value', [2, map.type], none),
  };
  entryFieldsOf.set(map, fields);
  return fields;
}

/**
 * The names of an enum's values. A value's number is its index.
 *
 * @param type - Full name within package `inference`, such as `ModelInput.Format`.
 */
export function enumNames(type: string): readonly string[] {
  const names = enumTable[type];
  if (names === undefined) throw new TypeError(`the schema has no enum ${type}`);
  return names;
}

/** The value of an absent singular scalar or enum field. */
export function defaultOf(field: Pick<Field, 'kind' | 'type'>): string | number | boolean {
  if (field.kind === 'enum') return enumNames(field.type)[0] ?? '';
  switch (field.type as ScalarType) {
    case 'string':
      return '';
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
    case 'float':
    case 'double':
      return 0;
  }
}

/** The smallest and largest value of an integer type, both included. */
export function integerRange(type: string): { readonly low: bigint; readonly high: bigint } {
  const bits = BigInt(type.slice(-2));
  return type.startsWith('u')
    ? { low: 0n, high: (1n << bits) - 1n }
    : { low: -(1n << (bits - 1n)), high: (1n << (bits - 1n)) - 1n };
}

/** The type of a field's value in messages and tables: `int64 list`, `map of string`, `ModelInput list`. */
export function typeText(field: Field): string {
  if (field.mapKey !== undefined) return `map of ${field.type}`;
  return field.repeated ? `${field.type} list` : field.type;
}

/**
 * Every field path below `ModelConfig`, dotted and without indices (`input.reshape.shape`), parents first.
 */
export function allFieldPaths(): readonly { readonly path: string; readonly field: Field }[] {
  const paths: { path: string; field: Field }[] = [];
  const visit = (message: string, prefix: string): void => {
    for (const field of fieldsOf(message).values()) {
      const path = prefix + field.name;
      paths.push({ path, field });
      if (field.kind === 'message') visit(field.type, `${path}.`);
    }
  };
  visit(rootMessage, '');
  return paths;
}
