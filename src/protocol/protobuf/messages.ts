/** Messages of all calls except inference. protobufjs reads and writes them by the names of their fields. */

import type { Field, Type } from 'protobufjs';
import { Inspection } from './inspection.js';
import { ProtoReader, unreadable } from './reader.js';
import { allTypes, isMessage } from './types.js';
import { thrownText } from '../../thrown-text.js';

/** Fields by name, in Triton's JSON form: enums by name, and integers as numbers, which are inexact beyond 2^53. */
export type Fields = Readonly<Record<string, unknown>>;

const asJson = { longs: Number, enums: String } as const;

/** A message that was read, with the fields that it contained. */
export class Message {
  readonly fields: Fields;

  constructor(fields: Fields) {
    this.fields = fields;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.fields, name);
  }

  text(name: string): string {
    const value = this.fields[name];
    return typeof value === 'string' ? value : '';
  }

  /** The texts of a repeated field. */
  texts(name: string): string[] {
    const list = this.fields[name];
    return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
  }

  flag(name: string): boolean {
    return this.fields[name] === true;
  }

  number(name: string): number {
    const value = this.fields[name];
    return typeof value === 'number' ? value : 0;
  }

  bytes(name: string): Uint8Array {
    const value = this.fields[name];
    return value instanceof Uint8Array ? value : new Uint8Array(0);
  }

  /** The messages of a map. */
  entries(name: string): (readonly [key: string, value: Message])[] {
    const map = this.fields[name];
    if (typeof map !== 'object' || map === null) return [];
    // All values of such a map are messages.
    return Object.entries(map).map(([key, value]) => [key, new Message(value as Fields)] as const);
  }
}

/** Reads and writes the messages of a package. */
export class Messages {
  readonly #package: string;
  readonly #mostFields: number;
  readonly #types: Map<string, Type> = new Map();

  /** @param mostFields - The most fields of a message that is read, nested messages included. */
  constructor(of: string, mostFields: number) {
    this.#package = of;
    this.#mostFields = mostFields;
  }

  /**
   * Reads a message.
   *
   * @throws {@link UnreadableMessage} For bytes that are not such a message, or have too many fields.
   */
  read(name: string, bytes: Buffer): Message {
    return new Message(this.#read(this.#type(name), bytes));
  }

  /**
   * Reads a message, with defaults for absent fields. Absent fields of a oneof stay absent.
   *
   * @throws {@link UnreadableMessage} As {@link read}.
   */
  readWhole(name: string, bytes: Buffer): Fields {
    const type = this.#type(name);
    return wholeOf(type, this.#read(type, bytes));
  }

  /** Writes a message. Members that are not fields are ignored. */
  write(name: string, fields: object): Buffer {
    const type = this.#type(name);
    const { buffer, byteOffset, byteLength } = type.encode(type.fromObject(fields)).finish();
    return Buffer.from(buffer, byteOffset, byteLength);
  }

  #type(name: string): Type {
    let type = this.#types.get(name);
    if (type === undefined) {
      type = allTypes().lookupType(`${this.#package}.${name}`);
      this.#types.set(name, type);
    }
    return type;
  }

  #read(type: Type, bytes: Buffer): Fields {
    new Inspection(this.#mostFields).look(type, new ProtoReader(bytes));
    try {
      return type.toObject(type.decode(bytes), asJson);
    } catch (error) {
      // The inspection checked everything except that texts are UTF-8.
      throw unreadable(thrownText(error));
    }
  }
}

/** A message with all fields, in the order of its schema. */
function wholeOf(type: Type, fields: Fields): Fields {
  const entries = type.fieldsArray.flatMap((field): [string, unknown][] => {
    const value = Object.hasOwn(fields, field.name) ? present(field, fields[field.name]) : absent(field);
    return value === undefined ? [] : [[field.name, value]];
  });
  return Object.fromEntries(entries);
}

/** The value of a field that was read, with defaults in nested messages. */
function present({ map, resolvedType: type }: Field, value: unknown): unknown {
  if (!isMessage(type)) return value;
  if (Array.isArray(value)) return value.map((one: Fields) => wholeOf(type, one));
  if (!map) return wholeOf(type, value as Fields);
  return Object.fromEntries(
    Object.entries(value as Record<string, Fields>).map(([key, one]) => [key, wholeOf(type, one)]),
  );
}

function absent(field: Field): unknown {
  const { resolvedType: type } = field;
  // The library types it as any value.
  const typeDefault: unknown = field.typeDefault;
  if (field.repeated) return [];
  if (field.map) return {};
  if (field.partOf !== null) return undefined;
  if (isMessage(type)) return wholeOf(type, {});
  if (type !== null) return type.valuesById[Number(typeDefault)];
  if (field.bytes) return Buffer.alloc(0);
  return field.long ? 0 : typeDefault;
}
