/** Views on the schema table: fields of a message, defaults, and the descriptor that protobufjs reads. */

import type { INamespace } from 'protobufjs/light.js';
import { enumTable, messageTable, type FieldRow, type ScalarType } from './schema.js';

/** One field of a message of the schema. */
export interface Field {
  /** Triton's name, snake_case. */
  readonly name: string;
  /** Field number. */
  readonly id: number;
  /** Scalar type, or full name of an enum or message within package `inference`; of a map: its values'. */
  readonly type: string;
  readonly kind: 'scalar' | 'enum' | 'message';
  readonly repeated: boolean;
  /** Type of a map's keys; undefined if the field is no map. */
  readonly mapKey: 'string' | 'uint64' | undefined;
  /** Name of the oneof that the field belongs to. */
  readonly oneof: string | undefined;
  /** What a field that was not written has in a whole configuration; undefined: lists and maps are empty, others absent. */
  readonly initial: string | number | boolean | undefined;
}

/** The message that a configuration file holds. */
export const rootMessage = 'ModelConfig';

function fieldOf(name: string, [id, type, label]: FieldRow): Field {
  const field = {
    name,
    id,
    type,
    kind: type in enumTable ? 'enum' : type in messageTable ? 'message' : 'scalar',
    repeated: label === 'repeated',
    mapKey: label === 'map string' ? 'string' : label === 'map uint64' ? 'uint64' : undefined,
    oneof: label?.startsWith('oneof ') === true ? label.slice('oneof '.length) : undefined,
  } as const;
  return {
    ...field,
    initial: label === undefined && field.kind !== 'message' ? defaultOf(field) : undefined,
  };
}

/** Made once for each message that is asked for: most configurations have few. */
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
  const list = Object.entries(rows).map(([name, row]) => fieldOf(name, row));
  listByMessage.set(message, list);
  return list;
}

/** The same by name. */
export function fieldsOf(message: string): ReadonlyMap<string, Field> {
  const known = fieldsByMessage.get(message);
  if (known !== undefined) return known;
  const fields = new Map(fieldListOf(message).map((field) => [field.name, field]));
  fieldsByMessage.set(message, fields);
  return fields;
}

/**
 * The names of an enum's values; a value's number is its index.
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

/** How a field's value reads in messages and tables: `int64 list`, `map of string`, `ModelInput list`. */
export function typeText(field: Field): string {
  if (field.mapKey !== undefined) return `map of ${field.type}`;
  return field.repeated ? `${field.type} list` : field.type;
}

/** Every field path below `ModelConfig`, dotted and without indices (`input.reshape.shape`), parents before children. */
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

/** Mutable form of the descriptor while it is put together. */
interface Descriptor {
  fields?: Record<string, { type: string; id: number; rule?: string; keyType?: string }>;
  oneofs?: Record<string, { oneof: string[] }>;
  values?: Record<string, number>;
  nested?: Record<string, Descriptor>;
}

/** The schema as the JSON descriptor of `protobufjs/light`, names kept as they are, in package `inference`. */
export function protobufDescriptor(): INamespace {
  const root: Descriptor = { nested: { inference: { nested: {} } } };
  const place = (fullName: string): Descriptor =>
    ['inference', ...fullName.split('.')].reduce<Descriptor>(
      (parent, part) => ((parent.nested ??= {})[part] ??= {}),
      root,
    );
  for (const [name, values] of Object.entries(enumTable)) {
    place(name).values = Object.fromEntries(values.map((value, number) => [value, number]));
  }
  for (const message of Object.keys(messageTable)) {
    const target = place(message);
    target.fields = {};
    for (const field of fieldsOf(message).values()) {
      target.fields[field.name] = {
        id: field.id,
        type: field.kind === 'scalar' ? field.type : `.inference.${field.type}`,
        ...(field.repeated && { rule: 'repeated' }),
        ...(field.mapKey !== undefined && { keyType: field.mapKey }),
      };
      if (field.oneof !== undefined) {
        ((target.oneofs ??= {})[field.oneof] ??= { oneof: [] }).oneof.push(field.name);
      }
    }
  }
  return root;
}
