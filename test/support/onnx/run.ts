/**
 * The bare JavaScript API of onnxruntime-node: a second opinion on answers, and the rival in the benchmarks.
 * Only the part that is used is typed here, because the package's own types need those of a browser.
 */
import { createRequire } from 'node:module';

/** Element types by the names that onnxruntime-node has for them. */
export type OrtType =
  | 'bool'
  | 'uint8'
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'float16'
  | 'float32'
  | 'float64'
  | 'string';

/** Values of a tensor; float16 as bits. */
export type OrtData =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Float32Array
  | Float64Array
  | string[];

/** A tensor of onnxruntime-node. */
export interface OrtTensor {
  readonly type: OrtType;
  readonly data: OrtData;
  readonly dims: readonly number[];
}

/** A session's description of an input or output. A symbolic dimension is represented by its name. */
export interface OrtMetadata {
  readonly name: string;
  readonly isTensor: boolean;
  readonly type: OrtType;
  readonly shape: readonly (number | string)[];
}

/** Options of a session that tests and benchmarks set. */
export interface OrtSessionOptions {
  readonly intraOpNumThreads?: number;
  readonly interOpNumThreads?: number;
  /** 0 verbose to 4 fatal. */
  readonly logSeverityLevel?: 0 | 1 | 2 | 3 | 4;
  /** Where to write the model as the session has it; with the ending .ort in the runtime's own format. */
  readonly optimizedModelFilePath?: string;
}

/** A loaded model. `run` occupies the calling thread. */
export interface OrtSession {
  readonly inputMetadata: readonly OrtMetadata[];
  readonly outputMetadata: readonly OrtMetadata[];
  run(feeds: Readonly<Record<string, OrtTensor>>): Promise<Partial<Record<string, OrtTensor>>>;
  release(): Promise<void>;
}

/** The part of onnxruntime-node that tests and benchmarks use. */
export interface OnnxRuntime {
  readonly InferenceSession: {
    /** Loads a model from its bytes, or from the path of its file. */
    create(model: string | Uint8Array, options?: OrtSessionOptions): Promise<OrtSession>;
  };
  readonly Tensor: new (
    type: OrtType,
    data: OrtData | readonly number[] | readonly bigint[],
    dims: readonly number[],
  ) => OrtTensor;
}

// The package is CommonJS and creates its named exports at run time, so an import would not find them.
const require = createRequire(import.meta.url);

/** Loads onnxruntime-node, at the first call, so that importing this file costs nothing. */
export function onnxRuntime(): OnnxRuntime {
  return require('onnxruntime-node') as OnnxRuntime;
}

/** One output of {@link runModel}. */
export type Fetched = Pick<OrtTensor, 'data' | 'dims'>;

/** Loads a model from its bytes or path, runs it once on one thread, and lets it go. */
export async function runModel(
  model: string | Uint8Array,
  feeds: Readonly<Record<string, OrtTensor>>,
): Promise<Partial<Record<string, Fetched>>> {
  const options = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4 } as const;
  const session = await onnxRuntime().InferenceSession.create(model, options);
  try {
    const results = await session.run(feeds);
    const outputs: Partial<Record<string, Fetched>> = {};
    for (const [name, output] of Object.entries(results)) {
      // The outputs are copied, because the session's memory may hold the originals.
      if (output !== undefined) outputs[name] = { data: output.data.slice(), dims: [...output.dims] };
    }
    return outputs;
  } finally {
    await session.release();
  }
}
