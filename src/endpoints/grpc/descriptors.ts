/** Describes proto files for server reflection, as `google.protobuf.FileDescriptorProto`. */

import type { Type } from 'protobufjs';
import type * as Extension from 'protobufjs/ext/descriptor.js';
import { protoFiles, type ProtoFile } from '../../protocol/protobuf/files.js';
import { requireBeside } from '../../protocol/protobuf/library.js';
import { allTypes } from '../../protocol/protobuf/types.js';

const camelCase = (name: string): string =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
/** The name that protoc gives to the message of a map's entries. */
const entryName = (field: string): string =>
  `${field.slice(0, 1).toUpperCase()}${camelCase(field.slice(1))}Entry`;

/** A file that was described. */
export interface DescribedFile {
  readonly file: ProtoFile;
  readonly bytes: Buffer;
  /** Full names of the file's declarations. */
  readonly symbols: ReadonlySet<string>;
}

function isType(one: object): one is Type {
  return 'fieldsArray' in one;
}

/**
 * Gives a description the names that protoc gives. protobufjs writes the shortest type names that resolve, and
 * names a map's entries after the field alone. Clients in Go and C++ accept neither.
 */
function nameAsProtoc(type: Type, described: Extension.IDescriptorProto): void {
  const { field: fields = [], nestedType: nested = [] } = described;
  // Entries of maps come first, in the order of their fields.
  let entries = 0;
  type.fieldsArray.forEach(({ name, map, resolvedType }, i) => {
    const field = fields[i];
    if (field === undefined) return;
    field.jsonName = camelCase(name);
    let named: Extension.IFieldDescriptorProto | undefined = field;
    if (map) {
      const entry = nested[entries++];
      if (entry === undefined) return;
      entry.name = entryName(name);
      for (const part of entry.field ?? []) part.jsonName = camelCase(part.name ?? '');
      field.typeName = `${type.fullName}.${entry.name}`;
      named = entry.field?.[1];
    }
    if (named !== undefined && resolvedType !== null) named.typeName = resolvedType.fullName;
  });
  type.nestedArray.filter(isType).forEach((inner, i) => {
    const one = nested[entries + i];
    if (one !== undefined) nameAsProtoc(inner, one);
  });
}

function describe({ name, package: of, dependencies, messages, enums, services }: ProtoFile): object {
  const types = allTypes();
  const outer = (names: object): string[] =>
    Object.keys(names)
      .filter((one) => !one.includes('.'))
      .map((one) => `${of}.${one}`);
  return {
    name,
    package: of,
    dependency: dependencies,
    messageType: outer(messages).map((one) => {
      const type = types.lookupType(one);
      const described = type.toDescriptor('proto3');
      nameAsProtoc(type, described);
      return described;
    }),
    enumType: outer(enums).map((one) => types.lookupEnum(one).toDescriptor()),
    service: outer(services).map((one) => types.lookupService(one).toDescriptor()),
    syntax: 'proto3',
  };
}

function symbolsOf({ package: of, messages, enums, services }: ProtoFile): Set<string> {
  const withMembers = (all: Readonly<Record<string, object>>): string[] =>
    Object.entries(all).flatMap(([name, members]) => [
      name,
      ...Object.keys(members).map((member) => `${name}.${member}`),
    ]);
  const names = [...withMembers(services), ...withMembers(messages), ...Object.keys(enums)];
  return new Set(names.map((name) => `${of}.${name}`));
}

/** Describes all files. */
export function describeFiles(): DescribedFile[] {
  // This module adds `toDescriptor` to protobufjs's types, and has the types of descriptor.proto.
  const { FileDescriptorProto: type } = requireBeside('protobufjs/ext/descriptor.js') as typeof Extension;
  return protoFiles.map((file) => ({
    file,
    bytes: Buffer.from(type.encode(type.fromObject(describe(file))).finish()),
    symbols: symbolsOf(file),
  }));
}
