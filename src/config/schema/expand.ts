/** Expands the fields that were written to the whole configuration in Triton's JSON shape. */

import { fieldListOf, fieldsOf, rootMessage, type Field } from './fields.js';
import type { ModelConfig, ModelConfigInput } from './types.js';

/**
 * The configuration with every scalar, list and map, in the order of the schema. Messages that were not
 * written stay absent, and so do members of a oneof. Maps have no prototype, so any key is safe. Everything
 * in it is frozen.
 *
 * @param value - The fields that were written, with enums by name. The result shares nothing with it.
 */
export function expandConfig(value: ModelConfigInput): ModelConfig {
  // The schema's table decides what expandMessage() returns. A test compares the table with the types.
  return expandMessage(rootMessage, value) as unknown as ModelConfig;
}

/**
 * Expands a configuration that {@link expandConfig} made and that was changed since. Frozen parts are
 * expanded already.
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

/** Stands for every list that was not written. */
export const emptyList: readonly unknown[] = Object.freeze([]);
/** Stands for every map that was not written. */
export const emptyMap: object = Object.freeze(Object.create(null) as object);

/** A message: values by name of the field. */
type Message = Readonly<Record<string, unknown>>;

/** What all messages of a type have in common. */
interface Shape {
  readonly name: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Fields that are absent if they were not written. */
  readonly optional: readonly string[];
  /**
   * A message without any written field, for each set of optional fields that it may have (one bit each). The
   * optional fields are undefined, in their places. To copy such a message takes a tenth of the time to make
   * one.
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
