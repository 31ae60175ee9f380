/** Messages that were read, as plain objects in Triton's JSON shape: names of fields and of values of enums, numbers. */

import { scalarTypes, type Codec, type Message, type Row, type Single } from './schema.js';

/** The default of a type that is no message. */
function defaultOf(codec: Codec, type: string): unknown {
  const values = codec.schema.enums[type];
  if (values !== undefined) return values[0];
  if (type === 'string') return '';
  if (type === 'bool') return false;
  return type === 'bytes' ? Buffer.alloc(0) : 0;
}

function isMessage(codec: Codec, type: string): boolean {
  return codec.schema.enums[type] === undefined && !scalarTypes.some((scalar) => scalar === type);
}

type Value = Single | readonly Single[] | ReadonlyMap<string, Single>;

/** `Array.isArray` and `instanceof Map` do not know lists and maps that cannot be changed. */
function isList(value: Value): value is readonly Single[] {
  return Array.isArray(value);
}

function isMap(value: Value): value is ReadonlyMap<string, Single> {
  return value instanceof Map;
}

/**
 * A message as an object. Integers are numbers, which those beyond 2^53 are not exactly.
 *
 * @param whole - Whether fields that were not written are there, with their defaults; those of a oneof never are.
 */
export function plainOf(
  codec: Codec,
  type: string,
  message: Message,
  whole: boolean,
): Record<string, unknown> {
  const single = (of: string, value: Single): unknown => {
    if (typeof value === 'bigint') return Number(value);
    if (typeof value === 'number') return codec.schema.enums[of]?.[value] ?? value;
    if (typeof value !== 'object' || Buffer.isBuffer(value)) return value;
    return plainOf(codec, of, value, whole);
  };
  const absent = (of: string, label: Row[2]): unknown => {
    if (label === 'repeated') return [];
    if (label?.startsWith('map ') === true) return {};
    if (label !== undefined) return undefined;
    return isMessage(codec, of)
      ? plainOf(codec, of, codec.read(of, Buffer.alloc(0)), true)
      : defaultOf(codec, of);
  };
  const entries = Object.entries(codec.schema.messages[type] ?? {}).flatMap(
    ([name, [, of, label]]): [string, unknown][] => {
      const value = message.value(name);
      if (value === undefined) {
        const initial = whole ? absent(of, label) : undefined;
        return initial === undefined ? [] : [[name, initial]];
      }
      if (isList(value)) return [[name, value.map((one) => single(of, one))]];
      if (!isMap(value)) return [[name, single(of, value)]];
      return [[name, Object.fromEntries([...value].map(([entry, one]) => [entry, single(of, one)]))]];
    },
  );
  return Object.fromEntries(entries);
}
