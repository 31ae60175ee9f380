/** Messages as tables: reads and writes them by the names of their fields. */

import { ProtoReader, unreadable, wireType } from './reader.js';
import { ProtoWriter } from './writer.js';

/** The scalar types of the tables. */
export const scalarTypes = [
  'double',
  'float',
  'int64',
  'uint64',
  'int32',
  'bool',
  'string',
  'bytes',
  'uint32',
] as const;

/** See {@link scalarTypes}. */
export type Scalar = (typeof scalarTypes)[number];

/**
 * A field: its number, its type (a scalar, an enum or a message of the same schema), and what it is if it is not singular.
 */
export type Row = readonly [
  id: number,
  type: string,
  label?: 'repeated' | 'map string' | 'map uint64' | `oneof ${string}`,
];

/** Messages by their name, and their fields in the order of their numbers or not. */
export type MessageTable = Readonly<Record<string, Readonly<Record<string, Row>>>>;

/** A method: the messages that it takes and returns, and which of them come as streams. */
export type MethodRow = readonly [request: string, response: string, streams?: 'response' | 'both'];

/** What a package declares. */
export interface Schema {
  readonly package: string;
  readonly messages: MessageTable;
  /** A value's number is its index. */
  readonly enums: Readonly<Record<string, readonly string[]>>;
}

/** What a field is. */
interface Field {
  readonly name: string;
  readonly id: number;
  readonly type: string;
  readonly scalar: Scalar | undefined;
  readonly values: readonly string[] | undefined;
  readonly repeated: boolean;
  readonly mapKey: Scalar | undefined;
  readonly inOneof: boolean;
}

/** A scalar, or a message as {@link Codec.read} returns it. */
export type Single = string | number | bigint | boolean | Buffer | Message;

/** A message that was read. Fields that were not written have their defaults. */
export class Message {
  readonly #values: Map<string, Single | Single[] | Map<string, Single>> = new Map();

  /** @internal */
  set(name: string, value: Single): void {
    this.#values.set(name, value);
  }

  /** @internal */
  push(name: string, value: Single): void {
    const list = this.#values.get(name);
    if (Array.isArray(list)) list.push(value);
    else this.#values.set(name, [value]);
  }

  /** @internal */
  put(name: string, key: string, value: Single): void {
    const map = this.#values.get(name);
    if (map instanceof Map) map.set(key, value);
    else this.#values.set(name, new Map([[key, value]]));
  }

  /** A field as it was read: a list or a map where it is one. */
  value(name: string): Single | readonly Single[] | ReadonlyMap<string, Single> | undefined {
    return this.#values.get(name);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** The names of what was written, of a message with a oneof for example. */
  names(): IterableIterator<string> {
    return this.#values.keys();
  }

  text(name: string): string {
    const value = this.#values.get(name);
    return typeof value === 'string' ? value : '';
  }

  flag(name: string): boolean {
    return this.#values.get(name) === true;
  }

  number(name: string): number | bigint {
    const value = this.#values.get(name);
    return typeof value === 'number' || typeof value === 'bigint' ? value : 0;
  }

  bytes(name: string): Buffer {
    const value = this.#values.get(name);
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
  }

  /** The messages of a map. */
  entries(name: string): ReadonlyMap<string, Message> {
    const found = new Map<string, Message>();
    const map = this.#values.get(name);
    if (map instanceof Map)
      for (const [key, value] of map) if (value instanceof Message) found.set(key, value);
    return found;
  }
}

/** The most fields of a message, those of messages in it included: each is an object, however few bytes it has. */
const mostFields = 4 << 20;

/** Reads and writes the messages of a schema. */
export class Codec {
  readonly schema: Schema;
  readonly #byId: Map<string, ReadonlyMap<number, Field>> = new Map();
  readonly #writer: ProtoWriter = new ProtoWriter();
  /** Fields of the message that is read. */
  #parts = 0;

  constructor(schema: Schema) {
    this.schema = schema;
  }

  /**
   * Reads a message.
   *
   * @throws {@link UnreadableMessage} For bytes that are none.
   */
  read(type: string, bytes: Buffer): Message {
    this.#parts = 0;
    return this.#read(type, new ProtoReader(bytes));
  }

  /** Writes a message: an object, or a Map for a map, whose members have the names of fields. Others are left out. */
  write(type: string, value: object): Buffer {
    try {
      this.#write(this.#writer, type, value);
    } catch (error) {
      this.#writer.drop();
      throw error;
    }
    return this.#writer.take();
  }

  #fields(type: string): ReadonlyMap<number, Field> {
    let fields = this.#byId.get(type);
    if (fields === undefined) {
      fields = new Map(
        Object.entries(this.schema.messages[type] ?? {}).map(([name, row]) => [
          row[0],
          this.#field(name, row),
        ]),
      );
      this.#byId.set(type, fields);
    }
    return fields;
  }

  #field(name: string, [id, type, label]: Row): Field {
    return {
      name,
      id,
      type,
      scalar: scalarTypes.find((scalar) => scalar === type),
      values: this.schema.enums[type],
      repeated: label === 'repeated',
      mapKey: label === 'map string' ? 'string' : label === 'map uint64' ? 'uint64' : undefined,
      inOneof: label?.startsWith('oneof ') === true,
    };
  }

  #read(type: string, reader: ProtoReader): Message {
    const fields = this.#fields(type);
    const message = new Message();
    while (!reader.done) {
      const tag = reader.tag();
      const field = fields.get(tag >>> 3);
      if (field === undefined) reader.skip(tag);
      else if (field.mapKey !== undefined) this.#readEntry(field, tag, reader, message);
      else if (field.repeated) this.#readList(field, tag, reader, message);
      else message.set(field.name, this.#readOne(field, tag, reader));
    }
    return message;
  }

  #readList(field: Field, tag: number, reader: ProtoReader, message: Message): void {
    // Numbers may be packed.
    if ((tag & 7) === wireType.bytes && wireOf(field) !== wireType.bytes) {
      const part = reader.message();
      while (!part.done) message.push(field.name, this.#readOne(field, wireOf(field), part));
    } else message.push(field.name, this.#readOne(field, tag, reader));
  }

  #readEntry(field: Field, tag: number, reader: ProtoReader, message: Message): void {
    if ((tag & 7) !== wireType.bytes) throw wrongWire(field, tag);
    const entry = reader.message();
    let key = '';
    let value: Single = field.scalar === 'string' ? '' : new Message();
    while (!entry.done) {
      const inner = entry.tag();
      if (inner >>> 3 === 1 && field.mapKey === 'string' && (inner & 7) === wireType.bytes)
        key = entry.text();
      else if (inner >>> 3 === 1 && (inner & 7) === wireType.varint) key = String(entry.varint64(false));
      else if (inner >>> 3 === 2) value = this.#readOne(field, inner, entry);
      else entry.skip(inner);
    }
    message.put(field.name, key, value);
  }

  #readOne(field: Field, tag: number, reader: ProtoReader): Single {
    if ((tag & 7) !== wireOf(field)) throw wrongWire(field, tag);
    if (++this.#parts > mostFields) throw unreadable(`it has more than ${mostFields} fields`);
    if (field.values !== undefined) return reader.varint32() | 0;
    switch (field.scalar) {
      case 'string':
        return reader.text();
      case 'bytes':
        return reader.view();
      case 'bool':
        return reader.bool();
      case 'int32':
        return within(field, reader.varint64(true), -(2 ** 31), 2 ** 31 - 1);
      case 'uint32':
        return within(field, reader.varint64(false), 0, 2 ** 32 - 1);
      case 'int64':
        return reader.varint64(true);
      case 'uint64':
        return reader.varint64(false);
      case 'float':
        return reader.float();
      case 'double':
        return reader.double();
      case undefined:
        return this.#read(field.type, reader.message());
    }
  }

  #write(writer: ProtoWriter, type: string, value: object): void {
    const given = value as Readonly<Record<string, unknown>>; // Its members are looked at one by one.
    for (const field of this.#fields(type).values()) {
      const one = given[field.name];
      if (one === undefined || one === null) continue;
      if (field.mapKey !== undefined) this.#writeMap(writer, field, one);
      else if (!field.repeated) this.#writeOne(writer, field, one, field.inOneof);
      else if (Array.isArray(one)) this.#writeList(writer, field, one);
    }
  }

  #writeList(writer: ProtoWriter, field: Field, list: readonly unknown[]): void {
    if (list.length === 0) return;
    if (wireOf(field) === wireType.bytes) {
      for (const one of list) this.#writeOne(writer, field, one, true);
      return;
    }
    writer.tag(field.id, wireType.bytes);
    const from = writer.open();
    for (const one of list) this.#writeValue(writer, field, one);
    writer.close(from);
  }

  #writeMap(writer: ProtoWriter, field: Field, map: unknown): void {
    const entries =
      map instanceof Map ? [...(map as ReadonlyMap<string, unknown>)] : Object.entries(map as object);
    for (const [key, value] of entries) {
      writer.tag(field.id, wireType.bytes);
      const from = writer.open();
      writer.tag(1, field.mapKey === 'string' ? wireType.bytes : wireType.varint);
      if (field.mapKey === 'string') writer.text(key);
      else writer.integer(BigInt(key));
      this.#writeOne(writer, { ...field, id: 2 }, value, true);
      writer.close(from);
    }
  }

  /** @param always - Whether it is written although it is the default. */
  #writeOne(writer: ProtoWriter, field: Field, value: unknown, always: boolean): void {
    if (!always && isDefault(field, value)) return;
    writer.tag(field.id, wireOf(field));
    this.#writeValue(writer, field, value);
  }

  #writeValue(writer: ProtoWriter, field: Field, value: unknown): void {
    const { scalar, values, type } = field;
    if (values !== undefined)
      writer.varint(typeof value === 'string' ? numberOf(values, value, type) : Number(value));
    else if (scalar === undefined) {
      const from = writer.open();
      this.#write(writer, type, value as object);
      writer.close(from);
    } else if (typeof value === 'string' && scalar === 'string') writer.text(value);
    else if (value instanceof Uint8Array && scalar === 'bytes') writer.view(value);
    else if (typeof value === 'boolean' && scalar === 'bool') writer.varint(value ? 1 : 0);
    else if (typeof value === 'number' && scalar === 'double') writer.double(value);
    else if (typeof value === 'number' && scalar === 'float') writer.float(value);
    else if (typeof value === 'number' || typeof value === 'bigint') writer.integer(value);
    else throw new TypeError(`field ${field.name} of type ${type} cannot be ${typeof value}`);
  }
}

function numberOf(values: readonly string[], name: string, type: string): number {
  const number = values.indexOf(name);
  if (number < 0) throw new TypeError(`the enum ${type} has no value ${name}`);
  return number;
}

/** In proto3 it is not written then. */
function isDefault({ values, scalar }: Field, value: unknown): boolean {
  if (values !== undefined) return value === values[0] || value === 0;
  if (scalar === undefined) return false;
  if (value instanceof Uint8Array) return value.length === 0;
  return value === '' || value === false || value === 0 || value === 0n;
}

function wireOf({ scalar, values }: Field): number {
  if (values !== undefined) return wireType.varint;
  if (scalar === undefined || scalar === 'string' || scalar === 'bytes') return wireType.bytes;
  if (scalar === 'double') return wireType.fixed64;
  return scalar === 'float' ? wireType.fixed32 : wireType.varint;
}

/** An integer that its field can hold: one that is cut would be another one. */
function within({ name, type }: Field, value: number | bigint, least: number, most: number): number {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw unreadable(`field ${name}: ${value} is out of the range of ${type}`);
}

function wrongWire({ name }: Field, tag: number): Error {
  return unreadable(`field ${name} has the wire type ${tag & 7}`);
}
