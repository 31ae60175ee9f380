/** Files as server reflection describes them: `google.protobuf.FileDescriptorProto`. */

import { protoFiles, type ProtoFile } from '../../protocol/protobuf/files.js';
import { Codec, type MethodRow, type Row, type Schema } from '../../protocol/protobuf/schema.js';

/** What is needed of descriptor.proto. Enums are numbers here. */
const descriptorSchema: Schema = {
  package: 'google.protobuf',
  enums: {},
  messages: {
    FileDescriptorProto: {
      name: [1, 'string'],
      package: [2, 'string'],
      dependency: [3, 'string', 'repeated'],
      message_type: [4, 'DescriptorProto', 'repeated'],
      enum_type: [5, 'EnumDescriptorProto', 'repeated'],
      service: [6, 'ServiceDescriptorProto', 'repeated'],
      syntax: [12, 'string'],
    },
    DescriptorProto: {
      name: [1, 'string'],
      field: [2, 'FieldDescriptorProto', 'repeated'],
      nested_type: [3, 'DescriptorProto', 'repeated'],
      enum_type: [4, 'EnumDescriptorProto', 'repeated'],
      options: [7, 'MessageOptions'],
      oneof_decl: [8, 'OneofDescriptorProto', 'repeated'],
    },
    MessageOptions: { map_entry: [7, 'bool'] },
    OneofDescriptorProto: { name: [1, 'string'] },
    FieldDescriptorProto: {
      name: [1, 'string'],
      number: [3, 'int32'],
      label: [4, 'int32'],
      type: [5, 'int32'],
      type_name: [6, 'string'],
      oneof_index: [9, 'int32', 'oneof presence'],
      json_name: [10, 'string'],
    },
    EnumDescriptorProto: { name: [1, 'string'], value: [2, 'EnumValueDescriptorProto', 'repeated'] },
    EnumValueDescriptorProto: { name: [1, 'string'], number: [2, 'int32', 'oneof presence'] },
    ServiceDescriptorProto: { name: [1, 'string'], method: [2, 'MethodDescriptorProto', 'repeated'] },
    MethodDescriptorProto: {
      name: [1, 'string'],
      input_type: [2, 'string'],
      output_type: [3, 'string'],
      client_streaming: [5, 'bool'],
      server_streaming: [6, 'bool'],
    },
  },
};

/** The numbers of types in FieldDescriptorProto. */
const types: Readonly<Record<string, number>> = {
  double: 1,
  float: 2,
  int64: 3,
  uint64: 4,
  int32: 5,
  bool: 8,
  string: 9,
  bytes: 12,
  uint32: 13,
};
const messageType = 11;
const enumType = 14;
const optional = 1;
const repeated = 3;

const lastName = (name: string): string => name.slice(name.lastIndexOf('.') + 1);
const isWithin = (name: string, outer: string): boolean =>
  outer === ''
    ? !name.includes('.')
    : name.startsWith(`${outer}.`) && !name.slice(outer.length + 1).includes('.');
/** As protoc names the message of a map's entries. */
const entryName = (field: string): string =>
  `${field.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Entry`;
const jsonName = (field: string): string =>
  field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Describes a file. Its enums may be those of another one of its package, so they are looked up in all. */
class Describer {
  readonly #file: ProtoFile;
  readonly #enums: ReadonlySet<string>;

  constructor(file: ProtoFile) {
    this.#file = file;
    const files = protoFiles.filter((one) => one.package === file.package);
    this.#enums = new Set(files.flatMap(({ enums }) => Object.keys(enums)));
  }

  describe(): object {
    const { name, package: of, dependencies, services } = this.#file;
    return {
      name,
      package: of,
      dependency: dependencies,
      message_type: this.#messages(''),
      enum_type: this.#enumsOf(''),
      service: Object.entries(services).map(([service, methods]) => ({
        name: service,
        method: Object.entries(methods).map(([method, row]) => this.#method(method, row)),
      })),
      syntax: 'proto3',
    };
  }

  #full(type: string): string {
    return `.${this.#file.package}.${type}`;
  }

  #method(name: string, [request, response, streams]: MethodRow): object {
    return {
      name,
      input_type: this.#full(request),
      output_type: this.#full(response),
      client_streaming: streams === 'both',
      server_streaming: streams !== undefined,
    };
  }

  #messages(outer: string): object[] {
    const names = Object.keys(this.#file.messages).filter((name) => isWithin(name, outer));
    return names.map((name) => this.#message(name));
  }

  #message(name: string): object {
    const rows = Object.entries(this.#file.messages[name] ?? {});
    const oneofs = [
      ...new Set(
        rows.flatMap(([, [, , label]]) => (label?.startsWith('oneof ') === true ? [label.slice(6)] : [])),
      ),
    ];
    const maps = rows.filter(([, [, , label]]) => label?.startsWith('map ') === true);
    return {
      name: lastName(name),
      field: rows.map(([field, row]) => this.#field(name, field, row, oneofs)),
      nested_type: [
        ...this.#messages(name),
        ...maps.map(([field, [, type, label]]) => ({
          name: entryName(field),
          field: [
            this.#field('', 'key', [1, label === 'map uint64' ? 'uint64' : 'string'], []),
            this.#field('', 'value', [2, type], []),
          ],
          options: { map_entry: true },
        })),
      ],
      enum_type: this.#enumsOf(name),
      oneof_decl: oneofs.map((one) => ({ name: one })),
    };
  }

  #field(message: string, name: string, [id, type, label]: Row, oneofs: readonly string[]): object {
    const isMap = label?.startsWith('map ') === true;
    const scalar = isMap ? undefined : types[type];
    const named = isMap ? `${message}.${entryName(name)}` : type;
    return {
      name,
      number: id,
      label: isMap || label === 'repeated' ? repeated : optional,
      type: scalar ?? (!isMap && this.#enums.has(type) ? enumType : messageType),
      type_name: scalar === undefined ? this.#full(named) : '',
      oneof_index: label?.startsWith('oneof ') === true ? oneofs.indexOf(label.slice(6)) : undefined,
      json_name: jsonName(name),
    };
  }

  #enumsOf(outer: string): object[] {
    return Object.entries(this.#file.enums)
      .filter(([name]) => isWithin(name, outer))
      .map(([name, values]) => ({
        name: lastName(name),
        value: values.map((value, number) => ({ name: value, number })),
      }));
  }
}

/** A file that was described. */
export interface DescribedFile {
  readonly file: ProtoFile;
  readonly bytes: Buffer;
  /** Full names of what it declares. */
  readonly symbols: ReadonlySet<string>;
}

function symbolsOf({ package: of, messages, enums, services }: ProtoFile): Set<string> {
  const methods = Object.entries(services).flatMap(([service, all]) => [
    service,
    ...Object.keys(all).map((method) => `${service}.${method}`),
  ]);
  const fields = Object.entries(messages).flatMap(([message, all]) => [
    message,
    ...Object.keys(all).map((field) => `${message}.${field}`),
  ]);
  return new Set([...methods, ...fields, ...Object.keys(enums)].map((name) => `${of}.${name}`));
}

/** Describes all files. */
export function describeFiles(): DescribedFile[] {
  const codec = new Codec(descriptorSchema);
  return protoFiles.map((file) => ({
    file,
    bytes: Buffer.from(codec.write('FileDescriptorProto', new Describer(file).describe())),
    symbols: symbolsOf(file),
  }));
}
