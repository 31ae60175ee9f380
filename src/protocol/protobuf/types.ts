/** Converts the files' tables to types of protobufjs. */

import type { Enum, INamespace, Root, Type } from 'protobufjs';
import { protoFiles, scalarTypes, type MethodRow, type ProtoFile, type Row } from './files.js';
import { protobufjs } from './library.js';

/** The JSON descriptor of a message, enum, service or package, under construction. */
interface Declared {
  edition?: string;
  fields?: Record<string, { type: string; id: number; rule?: string; keyType?: string }>;
  oneofs?: Record<string, { oneof: string[] }>;
  values?: Record<string, number>;
  methods?: Record<string, object>;
  nested?: Record<string, Declared>;
}

const isScalar = (type: string): boolean => scalarTypes.some((scalar) => scalar === type);

function fieldOf(of: string, [id, type, label]: Row): { type: string; id: number } {
  return {
    id,
    type: isScalar(type) ? type : `.${of}.${type}`,
    ...(label === 'repeated' && { rule: 'repeated' }),
    ...(label?.startsWith('map ') === true && { keyType: label.slice('map '.length) }),
  };
}

function methodOf(of: string, [request, response, streams]: MethodRow): object {
  return {
    requestType: `.${of}.${request}`,
    responseType: `.${of}.${response}`,
    ...(streams === 'both' && { requestStream: true }),
    ...(streams !== undefined && { responseStream: true }),
  };
}

/** The descriptor of a dotted name. Missing ones are created. */
function placeOf(root: Declared, name: string): Declared {
  return name
    .split('.')
    .reduce<Declared>((parent, part) => ((parent.nested ??= {})[part] ??= { edition: 'proto3' }), root);
}

function declare({ package: of, messages, enums, services }: ProtoFile, root: Declared): void {
  for (const [name, values] of Object.entries(enums))
    placeOf(root, `${of}.${name}`).values = Object.fromEntries(values.map((value, i) => [value, i]));
  for (const [name, rows] of Object.entries(messages)) {
    const place = placeOf(root, `${of}.${name}`);
    const fields: Declared['fields'] = (place.fields = {});
    for (const [field, row] of Object.entries(rows)) {
      fields[field] = fieldOf(of, row);
      if (row[2]?.startsWith('oneof ') !== true) continue;
      ((place.oneofs ??= {})[row[2].slice('oneof '.length)] ??= { oneof: [] }).oneof.push(field);
    }
  }
  for (const [name, methods] of Object.entries(services))
    placeOf(root, `${of}.${name}`).methods = Object.fromEntries(
      Object.entries(methods).map(([method, row]) => [method, methodOf(of, row)]),
    );
}

/** The files as protobufjs's JSON descriptor. Fields keep their names. */
export function descriptorOf(files: readonly ProtoFile[]): INamespace {
  const root: Declared = {};
  for (const file of files) declare(file, root);
  return root;
}

let root: Root | undefined;

/** The types of all files. protobufjs makes a type's functions when a message of it is first read or written. */
export function allTypes(): Root {
  if (root === undefined) {
    root = protobufjs().Root.fromJSON(descriptorOf(protoFiles));
    root.resolveAll();
  }
  return root;
}

/** Whether a field's type is a message. */
export function isMessage(type: Type | Enum | null): type is Type {
  return type !== null && 'fields' in type;
}
