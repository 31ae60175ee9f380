/**
 * The part of ONNX's protobuf messages that test models need, and their encoding.
 *
 * Names and field numbers are those of `onnx.proto`. Fields that no test model sets (doc strings, sparse
 * tensors, training information, local functions) are left out: a reader treats them as absent.
 */
import protobuf from 'protobufjs/light.js';

/** A tensor with its values, as an initializer or an attribute. */
export interface TensorMessage {
  readonly name?: string;
  readonly dims: readonly number[];
  readonly dataType: number;
  /** Little-endian values of every type but strings. */
  readonly rawData?: Uint8Array;
  readonly stringData?: readonly Uint8Array[];
  /** `location`, `offset` and `length` of values in another file. */
  readonly externalData?: readonly { readonly key: string; readonly value: string }[];
  /** 1: the values are in another file. */
  readonly dataLocation?: number;
}

/** One attribute of a node; `type` says which of the other fields is set. */
export interface AttributeMessage {
  readonly name: string;
  readonly type: number;
  readonly f?: number;
  readonly i?: number;
  readonly s?: Uint8Array;
  readonly t?: TensorMessage;
  readonly g?: GraphMessage;
  readonly floats?: readonly number[];
  readonly ints?: readonly number[];
}

/** One operator of a graph. */
export interface NodeMessage {
  readonly name: string;
  readonly opType: string;
  readonly domain: string;
  readonly input: readonly string[];
  readonly output: readonly string[];
  readonly attribute: readonly AttributeMessage[];
}

/** Name, element type and shape of a graph's input or output. */
export interface ValueInfoMessage {
  readonly name: string;
  readonly type: TensorTypeMessage | { readonly sequenceType: { readonly elemType: TensorTypeMessage } };
}

/** The type of a tensor. */
export interface TensorTypeMessage {
  readonly tensorType: {
    readonly elemType: number;
    readonly shape?: {
      readonly dim: readonly ({ readonly dimValue: number } | { readonly dimParam: string })[];
    };
  };
}

/** A graph: a model's, or the body of a Loop or If. */
export interface GraphMessage {
  readonly name: string;
  readonly node: readonly NodeMessage[];
  readonly initializer: readonly TensorMessage[];
  readonly input: readonly ValueInfoMessage[];
  readonly output: readonly ValueInfoMessage[];
}

/** The whole file. */
export interface ModelMessage {
  readonly irVersion: number;
  readonly producerName: string;
  readonly opsetImport: readonly { readonly domain: string; readonly version: number }[];
  readonly graph: GraphMessage;
}

const field = (type: string, id: number): protobuf.IField => ({ type, id });
const repeated = (type: string, id: number): protobuf.IField => ({ rule: 'repeated', type, id });

const root = protobuf.Root.fromJSON({
  nested: {
    ModelProto: {
      fields: {
        irVersion: field('int64', 1),
        producerName: field('string', 2),
        graph: field('GraphProto', 7),
        opsetImport: repeated('OperatorSetIdProto', 8),
      },
    },
    OperatorSetIdProto: { fields: { domain: field('string', 1), version: field('int64', 2) } },
    StringStringEntryProto: { fields: { key: field('string', 1), value: field('string', 2) } },
    GraphProto: {
      fields: {
        node: repeated('NodeProto', 1),
        name: field('string', 2),
        initializer: repeated('TensorProto', 5),
        input: repeated('ValueInfoProto', 11),
        output: repeated('ValueInfoProto', 12),
      },
    },
    NodeProto: {
      fields: {
        input: repeated('string', 1),
        output: repeated('string', 2),
        name: field('string', 3),
        opType: field('string', 4),
        attribute: repeated('AttributeProto', 5),
        domain: field('string', 7),
      },
    },
    AttributeProto: {
      fields: {
        name: field('string', 1),
        f: field('float', 2),
        i: field('int64', 3),
        s: field('bytes', 4),
        t: field('TensorProto', 5),
        g: field('GraphProto', 6),
        floats: repeated('float', 7),
        ints: repeated('int64', 8),
        type: field('int32', 20),
      },
    },
    TensorProto: {
      fields: {
        dims: repeated('int64', 1),
        dataType: field('int32', 2),
        stringData: repeated('bytes', 6),
        name: field('string', 8),
        rawData: field('bytes', 9),
        externalData: repeated('StringStringEntryProto', 13),
        dataLocation: field('int32', 14),
      },
    },
    ValueInfoProto: { fields: { name: field('string', 1), type: field('TypeProto', 2) } },
    TypeProto: {
      fields: { tensorType: field('Tensor', 1), sequenceType: field('Sequence', 4) },
      nested: {
        Tensor: { fields: { elemType: field('int32', 1), shape: field('TensorShapeProto', 2) } },
        Sequence: { fields: { elemType: field('TypeProto', 1) } },
      },
    },
    TensorShapeProto: {
      fields: { dim: repeated('Dimension', 1) },
      nested: { Dimension: { fields: { dimValue: field('int64', 1), dimParam: field('string', 2) } } },
    },
  },
});
const modelType = root.lookupType('ModelProto');

/** The bytes of a model file. */
export function encodeModel(model: ModelMessage): Uint8Array {
  return modelType.encode(model).finish();
}

/** The model in a file, as far as this file knows its fields. */
export function decodeModel(bytes: Uint8Array): ModelMessage {
  // protobufjs makes objects of the types above, which are those of its schema.
  return modelType.decode(bytes) as unknown as ModelMessage;
}
