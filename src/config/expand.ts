/** From the fields that were written to the whole configuration in Triton's JSON shape. */

import { fieldListOf, fieldsOf, rootMessage, type Field } from './fields.js';
import type { ModelConfig, ModelConfigInput } from './types.js';

/**
 * The configuration with every scalar, list and map present, in the order of the schema. Messages that were not written
 * stay absent, and so do members of a oneof. Maps have no prototype, so any key is safe. Everything in it is frozen.
 *
 * @param value - The fields that were written; enums by name. Nothing of it is shared with the result.
 */
export function expandConfig(value: ModelConfigInput): ModelConfig {
  // The schema table decides what expandMessage() returns, and a test holds the table and the types together.
  return expandMessage(rootMessage, value) as unknown as ModelConfig;
}

/**
 * The same of a configuration that {@link expandConfig} made and that was changed since: parts that are frozen are as it
 * made them.
 */
export function expandChanged(config: ModelConfig): ModelConfig {
  const changed: Record<string, unknown> = { ...config };
  let more = '';
  const empty = emptyMessage(rootMessage);
  for (const name in changed) {
    const part = changed[name];
    if (part === undefined) Reflect.deleteProperty(changed, name);
    if (typeof part !== 'object' || part === null) continue;
    if (!Object.isFrozen(part)) {
      const field = fieldsOf(rootMessage).get(name);
      if (field !== undefined) changed[name] = expandValue(field, part);
    }
    if (empty[name] === undefined) more += `${name} `;
  }
  // As above.
  return Object.freeze(ordered(rootMessage, changed, more)) as unknown as ModelConfig;
}

const emptyList: readonly unknown[] = Object.freeze([]);
const emptyMap: object = Object.freeze(Object.create(null) as object);

/** A message that nothing was written of, by its name: to copy it takes a tenth of making it. */
const emptyMessages = new Map<string, Readonly<Record<string, unknown>>>();

function emptyMessage(message: string): Readonly<Record<string, unknown>> {
  const known = emptyMessages.get(message);
  if (known !== undefined) return known;
  const empty: Record<string, unknown> = {};
  for (const { name, repeated, mapKey, initial } of fieldListOf(message)) {
    if (repeated) empty[name] = emptyList;
    else if (mapKey !== undefined) empty[name] = emptyMap;
    else if (initial !== undefined) empty[name] = initial;
  }
  emptyMessages.set(message, empty);
  return empty;
}

function expandMessage(message: string, value: object): Readonly<Record<string, unknown>> {
  const empty = emptyMessage(message);
  const fields = fieldsOf(message);
  const result: Record<string, unknown> = { ...empty };
  let more = '';
  for (const [name, given] of Object.entries(value) as [string, unknown][]) {
    const field = fields.get(name);
    if (field === undefined || given === undefined || given === null) continue;
    result[name] = expandValue(field, given);
    if (empty[name] === undefined) more += `${name} `;
  }
  return Object.freeze(more === '' ? result : ordered(message, result, more));
}

/** An object with the fields of a message in their order, by the message and what it has besides those of an empty one. */
const orders = new Map<string, Readonly<Record<string, unknown>>>();

/** Each way to write some of these may have its own. */
const mostOrders = 1000;

/** The fields of a message in the order of the schema. */
function ordered(
  message: string,
  fields: Readonly<Record<string, unknown>>,
  more: string,
): Record<string, unknown> {
  const key = `${message} ${more}`;
  let order = orders.get(key);
  if (order === undefined) {
    const names = fieldListOf(message).filter(({ name }) => fields[name] !== undefined);
    order = Object.fromEntries(names.map(({ name }) => [name, undefined]));
    if (orders.size >= mostOrders) orders.clear();
    orders.set(key, order);
  }
  return { ...order, ...fields };
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
  return kind === 'message' && typeof one === 'object' && one !== null ? expandMessage(type, one) : one;
}

/**
 * Freezes a value and everything in it.
 *
 * @returns The same value.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
