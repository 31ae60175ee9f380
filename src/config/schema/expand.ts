/** Expands the written fields into the whole configuration in Triton's JSON shape. */

import { fieldListOf, fieldsOf, rootMessage, type Field } from './fields.js';
import type { ModelConfig, ModelConfigInput } from './types.js';

/**
 * Returns the configuration with every scalar, list and map, in the order of the schema. Messages and oneof
 * members that were not written stay absent. Maps have no prototype, so any key is safe. The result is deeply
 * frozen.
 *
 * @param value - The written fields, with enums by name. The result shares no objects with it.
 */
export function expandConfig(value: ModelConfigInput): ModelConfig {
  // The schema's table determines the result of expandMessage(). A test compares the table with the types.
  return expandMessage(rootMessage, value) as unknown as ModelConfig;
}

/**
 * Expands a configuration that {@link expandConfig} made and that was changed since. Frozen parts are already
 * expanded.
 */
export function expandChanged(config: ModelConfig): ModelConfig {
  // A configuration is a value of the root message, and has no other fields.
  const parts = config as unknown as Message;
  const shape = shapeOf(rootMessage);
  const result: Record<string, unknown> = { ...templateFor(shape, parts) };
  for (const name in result) {
    const part = parts[name];
    const field = typeof part === 'object' && !Object.isFrozen(part) ? shape.fields.get(name) : undefined;
    result[name] = field === undefined ? part : expandValue(field, part);
  }
  // The result has the shape of the root message.
  return Object.freeze(result) as unknown as ModelConfig;
}

/** The value of every list that was not written. */
export const emptyList: readonly unknown[] = Object.freeze([]);
/** The value of every map that was not written. */
export const emptyMap: object = Object.freeze(Object.create(null) as object);

/** A message: its values by field name. */
type Message = Readonly<Record<string, unknown>>;

/** The properties that all messages of a type share. */
interface Shape {
  readonly name: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Fields that are absent unless they were written. */
  readonly optional: readonly string[];
  /**
   * Messages without any written field, one for each set of optional fields that a message may have (one bit
   * each). The optional fields are present as undefined, at their positions. Copying such a message takes a
   * tenth of the time of making one.
   */
  readonly templates: Map<number, Message>;
}

const shapes = new Map<string, Shape>();

function shapeOf(name: string): Shape {
  const known = shapes.get(name);
  if (known !== undefined) return known;
  const optional = fieldListOf(name).filter((field) => absentValue(field) === undefined);
  const shape: Shape = {
    name,
    fields: fieldsOf(name),
    optional: optional.map((field) => field.name),
    templates: new Map(),
  };
  shapes.set(name, shape);
  return shape;
}

/** The value of a field that was not written; undefined if it is absent. */
function absentValue({ repeated, mapKey, initial }: Field): unknown {
  return repeated ? emptyList : mapKey !== undefined ? emptyMap : initial;
}

function templateFor({ name, optional, templates }: Shape, value: Message): Message {
  let has = 0;
  for (let i = 0; i < optional.length; i++)
    if ((value[optional[i] ?? ''] ?? undefined) !== undefined) has |= 1 << i;
  const known = templates.get(has);
  if (known !== undefined) return known;
  const template: Record<string, unknown> = {};
  for (const field of fieldListOf(name)) {
    const bit = optional.indexOf(field.name);
    if (bit < 0 || (has & (1 << bit)) !== 0) template[field.name] = absentValue(field);
  }
  templates.set(has, template);
  return template;
}

function expandMessage(name: string, value: Message): Message {
  const shape = shapeOf(name);
  const result: Record<string, unknown> = { ...templateFor(shape, value) };
  for (const key in value) {
    const field = shape.fields.get(key);
    const given = value[key];
    if (field !== undefined && given !== undefined && given !== null) result[key] = expandValue(field, given);
  }
  return Object.freeze(result);
}

function expandValue(field: Field, given: unknown): unknown {
  if (field.repeated) {
    return Array.isArray(given)
      ? Object.freeze(given.map((one: unknown) => expandOne(field, one)))
      : emptyList;
  }
  if (field.mapKey === undefined) return expandOne(field, given);
  const entries = Object.create(null) as Record<string, unknown>;
  // A map is an object.
  for (const [key, one] of Object.entries(given as object)) entries[key] = expandOne(field, one);
  return Object.freeze(entries);
}

function expandOne({ kind, type }: Field, one: unknown): unknown {
  return kind === 'message' && typeof one === 'object' && one !== null
    ? expandMessage(type, one as Message)
    : one;
}

/** Freezes a value and everything in it. Returns the same value. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
