/** From the fields that were written to the whole configuration in Triton's JSON shape. */

import { defaultOf, fieldsOf, rootMessage, type Field } from './fields.js';
import type { ModelConfig, ModelConfigInput } from './types.js';

/**
 * The configuration with every scalar, list and map present, in the order of the schema. Messages that were not written
 * stay absent, and so do members of a oneof. Maps have no prototype, so any key is safe.
 *
 * @param value - The fields that were written; enums by name. Nothing of it is shared with the result.
 */
export function expandConfig(value: ModelConfigInput): ModelConfig {
  // The schema table decides what expandMessage() returns, and a test holds the table and the types together.
  return expandMessage(rootMessage, value) as unknown as ModelConfig;
}

function expandMessage(message: string, value: object): Record<string, unknown> {
  // A message's fields are the object's own.
  const written = value as Readonly<Record<string, unknown>>;
  const result: Record<string, unknown> = {};
  for (const field of fieldsOf(message).values()) {
    const given = Object.hasOwn(written, field.name) ? (written[field.name] ?? undefined) : undefined;
    if (field.repeated) {
      result[field.name] = Array.isArray(given) ? given.map((one: unknown) => expandOne(field, one)) : [];
    } else if (field.mapKey !== undefined) {
      const entries = Object.create(null) as Record<string, unknown>;
      for (const [key, one] of Object.entries(given ?? {})) entries[key] = expandOne(field, one);
      result[field.name] = entries;
    } else if (given !== undefined) {
      result[field.name] = expandOne(field, given);
    } else if (field.kind !== 'message' && field.oneof === undefined) {
      result[field.name] = defaultOf(field);
    }
  }
  return result;
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
