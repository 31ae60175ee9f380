/**
 * Checks the bytes of a message before protobufjs makes objects of them. A message that does not match its type, or
 * has too many fields, is refused before it costs memory.
 */

import type { Enum, Field, MapField, Type } from 'protobufjs';
import { unreadable, wireType, type ProtoReader } from './reader.js';
import { isMessage } from './types.js';

/** The wire type of each scalar; other types are messages and enums. */
const wires: Readonly<Record<string, number>> = {
  string: wireType.bytes,
  bytes: wireType.bytes,
  float: wireType.fixed32,
  double: wireType.fixed64,
};

/** The ranges of integers of less than 64 bits. Varints always carry 64. */
const ranges: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
};

/** A field to check, or the key or value of a map's entry. */
interface Part {
  readonly name: string;
  readonly type: string;
  readonly resolvedType: Type | Enum | null;
}

function wireOf({ type, resolvedType }: Part): number {
  return isMessage(resolvedType) ? wireType.bytes : (wires[type] ?? wireType.varint);
}

function isMap(field: Field | MapField): field is MapField {
  return field.map;
}

/** See the head of this file. */
export class Inspection {
  readonly #most: number;
  #count = 0;

  /** @param most - The most fields of the message, nested messages and elements of lists included. */
  constructor(most: number) {
    this.#most = most;
  }

  /** @throws {@link UnreadableMessage} For bytes that are not a message of this type, or have too many fields. */
  look(type: Type, reader: ProtoReader): void {
    while (!reader.done) {
      const tag = reader.tag();
      this.#add();
      const field: Field | MapField | undefined = type.fieldsById[tag >>> 3];
      if (field === undefined) reader.skip(tag);
      else if (isMap(field)) this.#entry(field, tag, reader);
      else if (field.repeated) this.#list(field, tag, reader);
      else this.#value(field, tag & 7, reader);
    }
  }

  #add(): void {
    if (++this.#count > this.#most) throw unreadable(`it has more than ${this.#most} fields`);
  }

  #list(field: Field, tag: number, reader: ProtoReader): void {
    const wire = wireOf(field);
    // Numbers may be packed.
    if ((tag & 7) !== wireType.bytes || wire === wireType.bytes) {
      this.#value(field, tag & 7, reader);
      return;
    }
    const elements = reader.message();
    while (!elements.done) {
      this.#add();
      this.#value(field, wire, elements);
    }
  }

  #entry(field: MapField, tag: number, reader: ProtoReader): void {
    checkWire(field, tag & 7, wireType.bytes);
    const entry = reader.message();
    const key = { name: `${field.name}.key`, type: field.keyType, resolvedType: null };
    while (!entry.done) {
      const inner = entry.tag();
      this.#add();
      if (inner >>> 3 === 1) this.#value(key, inner & 7, entry);
      else if (inner >>> 3 === 2) this.#value(field, inner & 7, entry);
      else entry.skip(inner);
    }
  }

  #value(part: Part, wire: number, reader: ProtoReader): void {
    checkWire(part, wire, wireOf(part));
    const { type, resolvedType } = part;
    if (isMessage(resolvedType)) this.look(resolvedType, reader.message());
    else if (wire === wireType.varint) checkRange(part, reader.varint64(type !== 'uint32'));
    else reader.skip(wire);
  }
}

function checkWire({ name }: Part, wire: number, expected: number): void {
  if (wire !== expected) throw unreadable(`field ${name} has the wire type ${wire}`);
}

/** Refuses an integer out of range, which protobufjs would truncate to another value. */
function checkRange({ name, type }: Part, value: number | bigint): void {
  const range = ranges[type];
  if (range === undefined || (value >= range[0] && value <= range[1])) return;
  throw unreadable(`field ${name}: ${value} is out of the range of ${type}`);
}
