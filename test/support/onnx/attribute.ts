/** Attributes of a node: JavaScript values to ONNX's attribute message. */
import type { AttributeMessage, GraphMessage, TensorMessage } from './messages.js';

/** A graph that can be the body of a Loop or If. */
export interface Subgraph {
  /** The graph as a message. */
  message(): GraphMessage;
}

/** A number, or numbers, for an attribute that ONNX declares as float; made by {@link float}. */
export interface FloatAttribute {
  readonly float: number | readonly number[];
}

/** One value; plain numbers are INT or INTS. */
export type AttributeValue =
  number | readonly number[] | FloatAttribute | string | { readonly tensor: TensorMessage } | Subgraph;

/** Attributes by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** ONNX's `AttributeProto.AttributeType`. */
const attributeType = { float: 1, int: 2, string: 3, tensor: 4, graph: 5, floats: 6, ints: 7 } as const;

/** Marks numbers as float, because JavaScript does not tell 1 from 1.0. */
export function float(value: number | readonly number[]): FloatAttribute {
  return { float: value };
}

/** The messages of a node's attributes. */
export function attributeMessages(attributes: Attributes): AttributeMessage[] {
  return Object.entries(attributes).map(([name, value]) => attributeMessage(name, value));
}

function attributeMessage(name: string, value: AttributeValue): AttributeMessage {
  if (typeof value === 'number') return { name, type: attributeType.int, i: integer(name, value) };
  if (typeof value === 'string') {
    return { name, type: attributeType.string, s: new TextEncoder().encode(value) };
  }
  if ('float' in value) {
    return typeof value.float === 'number'
      ? { name, type: attributeType.float, f: value.float }
      : { name, type: attributeType.floats, floats: value.float };
  }
  if ('tensor' in value) return { name, type: attributeType.tensor, t: value.tensor };
  if ('message' in value) return { name, type: attributeType.graph, g: value.message() };
  return { name, type: attributeType.ints, ints: value.map((item) => integer(name, item)) };
}

function integer(name: string, value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw new Error(`attribute '${name}': ${value} is no integer; write float(${value})`);
}
