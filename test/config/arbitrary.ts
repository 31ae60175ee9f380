/** Random configurations: any value for any field of the schema. */

import fc from '../support/fast-check.js';
import { enumNames, fieldsOf, rootMessage, type Field } from '../../src/config/schema/fields.js';
import type { ModelConfigInput } from '../../src/config/schema/types.js';

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);

/** Any configuration that the schema allows, sensible or not. */
export const anyConfig: fc.Arbitrary<ModelConfigInput> = anyMessage(rootMessage);

function anyMessage(message: string): fc.Arbitrary<Record<string, unknown>> {
  const fields = [...fieldsOf(message).values()];
  const oneofs = new Set(fields.flatMap(({ oneof }) => (oneof === undefined ? [] : [oneof])));
  const plain = Object.fromEntries(
    fields
      .filter(({ oneof }) => oneof === undefined)
      .map((field) => [field.name, fc.option(anyField(field), { nil: undefined, freq: 2 })]),
  );
  const choices = [...oneofs].map((oneof) =>
    fc.oneof(
      fc.constant({}),
      ...fields
        .filter((field) => field.oneof === oneof)
        .map((field) => anyField(field).map((value) => ({ [field.name]: value }))),
    ),
  );
  return fc
    .tuple(fc.record(plain), ...choices)
    .map(
      (parts: object[]) =>
        Object.fromEntries(parts.flatMap((part) => Object.entries(part))) as Record<string, unknown>,
    );
}

function anyField(field: Field): fc.Arbitrary<unknown> {
  const one = field.kind === 'message' ? anyMessage(field.type) : anyScalar(field);
  if (field.repeated) return fc.array(one, { maxLength: 3 });
  if (field.mapKey === undefined) return one;
  const key =
    field.mapKey === 'string'
      ? fc.oneof(anyText, fc.constantFrom('__proto__', 'constructor', 'toString'))
      : fc.maxSafeNat().map(String);
  return fc.array(fc.tuple(key, one), { maxLength: 3 }).map((entries) => Object.fromEntries(entries));
}

function anyScalar(field: Field): fc.Arbitrary<unknown> {
  if (field.kind === 'enum') return fc.constantFrom(...enumNames(field.type));
  switch (field.type) {
    case 'string':
      return anyText;
    case 'bool':
      return fc.boolean();
    case 'float':
    case 'double':
      return fc.double();
    case 'int32':
      return fc.integer();
    case 'uint32':
      return fc.nat(0xffffffff);
    case 'uint64':
      return fc.maxSafeNat();
    default:
      return fc.maxSafeInteger();
  }
}
