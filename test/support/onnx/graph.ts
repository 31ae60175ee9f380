/** A small ONNX writer for test and benchmark models: describe a graph call by call, then take its bytes. */
import type { Datatype } from '../../../src/tensor/datatype.js';
import { attributeMessages, type Attributes, type Subgraph } from './attribute.js';
import { encodeModel, type GraphMessage, type TensorMessage } from './messages.js';
import type { NodeMessage, ValueInfoMessage } from './messages.js';
import { elementType, tensorMessage, type TensorValues } from './tensor.js';

/** A dimension: its size, or the name of a symbolic one. */
export type Dim = number | string;

/** A model whose larger initializers lie in a file of their own. */
export interface ExternalModel {
  /** The bytes of the .onnx file. */
  readonly model: Uint8Array;
  /** The bytes of the data file that must lie next to it. */
  readonly data: Uint8Array;
}

/**
 * Opset 17 is the first with LayerNormalization. ONNX Runtime 1.17, the oldest that is supported, knows up to
 * 20.
 */
const opsetVersion = 17;
const irVersion = 8;
/** Where a value starts in an external data file. */
const externalAlignment = 64;

/**
 * A graph under construction. Nodes must be added in an order in which every input exists before it is used.
 *
 * @example
 * const bytes = graph('add')
 *   .input('x', 'FP32', ['N', 16])
 *   .initializer('one', 'FP32', [1], [1])
 *   .node('Add', ['x', 'one'], ['y'])
 *   .output('y', 'FP32', ['N', 16])
 *   .encode();
 */
export class Graph implements Subgraph {
  readonly #name: string;
  readonly #inputs: ValueInfoMessage[] = [];
  readonly #outputs: ValueInfoMessage[] = [];
  readonly #initializers: TensorMessage[] = [];
  readonly #nodes: NodeMessage[] = [];
  readonly #domains: Set<string> = new Set();
  #opset = opsetVersion;

  /** @param name - Name of the graph, seen only in a runtime's messages. */
  constructor(name: string) {
    this.#name = name;
  }

  /**
   * Adds an input. If it has the name of an initializer, it is optional, with the initializer as its default.
   * Without dims not even its rank is known.
   */
  input(name: string, datatype: Datatype, dims?: readonly Dim[]): this {
    this.#inputs.push(valueInfo(name, datatype, dims));
    return this;
  }

  /** Adds an output, which a node, or an initializer, must produce under this name. */
  output(name: string, datatype: Datatype, dims?: readonly Dim[]): this {
    this.#outputs.push(valueInfo(name, datatype, dims));
    return this;
  }

  /** Adds an output that is a sequence of tensors of any shape. */
  sequenceOutput(name: string, datatype: Datatype): this {
    const elemType = { tensorType: { elemType: elementType[datatype] } };
    this.#outputs.push({ name, type: { sequenceType: { elemType } } });
    return this;
  }

  /** Adds a constant: weights, shapes, axes. */
  initializer(name: string, datatype: Datatype, dims: readonly number[], values: TensorValues): this {
    this.#initializers.push(tensorMessage(name, datatype, dims, values));
    return this;
  }

  /**
   * Adds an operator.
   * @param inputs - Names in the operator's order; an empty name leaves an optional input out.
   * @param attributes - See {@link Attributes}.
   */
  node(
    operator: string,
    inputs: readonly string[],
    outputs: readonly string[],
    attributes: Attributes = {},
  ): this {
    this.#nodes.push({
      name: `${operator}_${this.#nodes.length}`,
      opType: operator,
      domain: '',
      input: inputs,
      output: outputs,
      attribute: attributeMessages(attributes),
    });
    return this;
  }

  /** Adds an operator that is not ONNX's own: one of a library, in that library's domain. */
  customNode(domain: string, operator: string, inputs: readonly string[], outputs: readonly string[]): this {
    this.#domains.add(domain);
    this.#nodes.push({
      name: `${operator}_${this.#nodes.length}`,
      opType: operator,
      domain,
      input: inputs,
      output: outputs,
      attribute: [],
    });
    return this;
  }

  /** Sets the version of ONNX's operators that the model asks for; default 17. */
  opset(version: number): this {
    this.#opset = version;
    return this;
  }

  /** The graph as a message, for use as the body of a Loop or If. */
  message(): GraphMessage {
    return {
      name: this.#name,
      node: this.#nodes,
      initializer: this.#initializers,
      input: this.#inputs,
      output: this.#outputs,
    };
  }

  /** The bytes of a model file with this graph. */
  encode(): Uint8Array {
    return this.#encode(this.#initializers);
  }

  /**
   * The model with its larger initializers in a data file.
   * @param location - Name under which the data file will lie next to the model file.
   * @param minimumBytes - Initializers from this size on go to the data file; default 1,024.
   */
  encodeExternal(location: string, minimumBytes = 1024): ExternalModel {
    const chunks: Uint8Array[] = [];
    let end = 0;
    const initializers = this.#initializers.map((tensor): TensorMessage => {
      const { rawData, ...head } = tensor;
      if (rawData === undefined || rawData.byteLength < minimumBytes) return tensor;
      const padding = (externalAlignment - (end % externalAlignment)) % externalAlignment;
      const offset = end + padding;
      chunks.push(new Uint8Array(padding), rawData);
      end = offset + rawData.byteLength;
      const externalData = [
        { key: 'location', value: location },
        { key: 'offset', value: String(offset) },
        { key: 'length', value: String(rawData.byteLength) },
      ];
      return { ...head, externalData, dataLocation: 1 };
    });
    return { model: this.#encode(initializers), data: Buffer.concat(chunks) };
  }

  #encode(initializer: readonly TensorMessage[]): Uint8Array {
    return encodeModel({
      irVersion,
      producerName: 'tritonts-test',
      opsetImport: [
        { domain: '', version: this.#opset },
        ...[...this.#domains].map((domain) => ({ domain, version: 1 })),
      ],
      graph: { ...this.message(), initializer },
    });
  }
}

/** Starts a graph; see {@link Graph}. */
export function graph(name: string): Graph {
  return new Graph(name);
}

function valueInfo(name: string, datatype: Datatype, dims: readonly Dim[] | undefined): ValueInfoMessage {
  const elemType = elementType[datatype];
  if (dims === undefined) return { name, type: { tensorType: { elemType } } };
  const dim = dims.map((size) => (typeof size === 'number' ? { dimValue: size } : { dimParam: size }));
  return { name, type: { tensorType: { elemType, shape: { dim } } } };
}
