/**
 * Reads the outline of an ONNX file that its runtime has refused: whether the file is whole, and which files have its
 * weights. Weights are skipped, so that little is read of a large file.
 */

/** Content that can be read in parts. */
export interface Content {
  readonly size: number;
  /** At most `length` bytes from an offset on. */
  readonly read: (offset: number, length: number) => Promise<Uint8Array>;
}

/** Weights that are in a file beside the model's. */
export interface ExternalWeights {
  readonly tensor: string;
  /** The path, relative to the model's file. */
  readonly location: string;
  /** How many bytes the file has at least. */
  readonly end: number;
}

/** What can be told of a file. */
export interface OnnxOutline {
  /** How many bytes the file had before it was cut; undefined if it is whole. */
  readonly wholeSize: number | undefined;
  readonly hasGraph: boolean;
  readonly weights: readonly ExternalWeights[];
}

/** A field of a protobuf message. */
interface Field {
  readonly number: number;
  /** Where its bytes are; of a number, where it ends. */
  readonly start: number;
  readonly end: number;
  readonly value: number;
}

/** A field that ends behind the content. */
class Cut extends Error {
  readonly wholeSize: number;

  constructor(wholeSize: number) {
    super('the content is cut');
    this.wholeSize = wholeSize;
  }
}

/** Content that is no such message. */
class Foreign extends Error {}

const windowBytes = 4096;
/** More fields are not looked at. Large graphs have fewer tensors. */
const mostFields = 1_000_000;

// The numbers of the fields, as in onnx.proto.
const irVersion = 1;
const graphOfModel = 7;
const initializerOfGraph = 5;
const nameOfTensor = 8;
const externalData = 13;

class Reader {
  readonly #content: Content;
  #window: Uint8Array = new Uint8Array(0);
  #offset = 0;
  #fields = 0;

  constructor(content: Content) {
    this.#content = content;
  }

  async byte(at: number): Promise<number> {
    const known = this.#window[at - this.#offset];
    if (known !== undefined) return known;
    this.#window = await this.#content.read(at, windowBytes);
    this.#offset = at;
    const [first] = this.#window;
    if (first === undefined) throw new Cut(at + 1);
    return first;
  }

  async text(start: number, end: number): Promise<string> {
    return Buffer.from(await this.#content.read(start, Math.min(end - start, windowBytes))).toString('utf8');
  }

  async varint(at: number): Promise<{ readonly value: number; readonly end: number }> {
    let value = 0;
    for (let i = 0; i < 10; i++) {
      const byte = await this.byte(at + i);
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return { value, end: at + i + 1 };
    }
    throw new Foreign();
  }

  /** The fields of a message. */
  async *fields(start: number, end: number): AsyncGenerator<Field> {
    for (let at = start; at < end;) {
      if (this.#fields++ > mostFields) throw new Foreign();
      const tag = await this.varint(at);
      const number = Math.floor(tag.value / 8);
      const kind = tag.value % 8;
      if (number === 0) throw new Foreign();
      if (kind === 1 || kind === 5) {
        at = tag.end + (kind === 1 ? 8 : 4);
        yield { number, start: tag.end, end: at, value: 0 };
        continue;
      }
      const first = await this.varint(tag.end);
      if (kind === 0) yield { number, start: tag.end, end: (at = first.end), value: first.value };
      else if (kind === 2) {
        at = first.end + first.value;
        // Of the outermost message, the one that ends last says how long the file was.
        if (at > this.#content.size) throw new Cut(at);
        yield { number, start: first.end, end: at, value: first.value };
      } else throw new Foreign();
    }
  }
}

/** The outline; undefined for content that is no ONNX model. */
export async function outlineOf(content: Content): Promise<OnnxOutline | undefined> {
  const reader = new Reader(content);
  const weights: ExternalWeights[] = [];
  let hasGraph = false;
  try {
    // Every writer begins with the version of the format.
    if ((await reader.byte(0)) !== irVersion * 8) return undefined;
    for await (const field of reader.fields(0, content.size)) {
      if (field.number !== graphOfModel) continue;
      hasGraph = true;
      for await (const part of reader.fields(field.start, field.end)) {
        if (part.number !== initializerOfGraph) continue;
        const found = await weightsOf(reader, part);
        if (found) weights.push(found);
      }
    }
  } catch (error) {
    if (error instanceof Cut) return { wholeSize: error.wholeSize, hasGraph, weights };
    if (error instanceof Foreign) return undefined;
    throw error;
  }
  return { wholeSize: undefined, hasGraph, weights };
}

async function weightsOf(reader: Reader, tensor: Field): Promise<ExternalWeights | undefined> {
  const entries = new Map<string, string>();
  let name = '';
  for await (const field of reader.fields(tensor.start, tensor.end)) {
    if (field.number === nameOfTensor) name = await reader.text(field.start, field.end);
    if (field.number !== externalData) continue;
    const pair = ['', ''];
    for await (const part of reader.fields(field.start, field.end)) {
      if (part.number === 1 || part.number === 2)
        pair[part.number - 1] = await reader.text(part.start, part.end);
    }
    entries.set(pair[0] ?? '', pair[1] ?? '');
  }
  const location = entries.get('location');
  if (location === undefined) return undefined;
  return {
    tensor: name,
    location,
    end: Number(entries.get('offset') ?? 0) + Number(entries.get('length') ?? 0),
  };
}
