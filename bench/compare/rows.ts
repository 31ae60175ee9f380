/** The rows of `npm run bench -- compare`: a model each, with its requests and the door that they come through. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chain, ensemble, onnx } from '../../test/support/harness.js';
import type { RepositoryModel } from '../../test/support/repository.js';
import { endpointLoads } from '../endpoints/endpoint-server.js';
import { grpcLoads } from '../endpoints/grpc-server.js';
import { configOf, models, type Items } from '../measuring/models.js';
import { requiredLoads } from '../reports/figures.js';

/** The inputs of a request, by name. */
export type RowInputs = Readonly<Record<string, Items['values'][number]>>;

/** A row that a commit's process asks by itself, with `infer`. */
interface ProcessRow {
  readonly door: 'process';
  /** Requests, which are sent in turn. */
  readonly requests: () => readonly RowInputs[];
  readonly output: string;
  /** Whether an answer takes so little time that timing each one would matter. */
  readonly fast: boolean;
  readonly outstanding: readonly number[];
}

/** A row that a client of another process asks over the network. */
interface WireRow {
  readonly door: 'http' | 'grpc';
  /** The number of requests that the client has outstanding. */
  readonly outstanding: readonly [number];
}

/** A row. */
export type CompareRow = (ProcessRow | WireRow) & {
  /** The repository; every model of it is loaded. */
  readonly repository: () => Readonly<Record<string, RepositoryModel>>;
  /** The model that is asked. */
  readonly model: string;
};

/** The Python of the environment that `npm test -- python` creates. */
const madePython = fileURLToPath(new URL('../../../.venv-python/bin/python', import.meta.url));

/** The Python of the row of Python models; undefined for any other row, and if nothing has made it. */
export function pythonOf(row: string): string | undefined {
  return row === 'python' && existsSync(madePython) ? madePython : undefined;
}

const width = 16;
const count = 64;

/** Requests with the same inputs' names and different values. */
function floats(...names: string[]): RowInputs[] {
  return Array.from({ length: count }, (_, i) =>
    Object.fromEntries(names.map((name, place) => [name, new Float32Array(width).fill(i + place)])),
  );
}

function configText(backend: string, inputs: readonly string[], outputs: readonly string[]): string {
  const tensor = (name: string): string => `{ name: "${name}" data_type: TYPE_FP32 dims: [ ${width} ] }`;
  return `backend: "${backend}" max_batch_size: 512 dynamic_batching { }
input [ ${inputs.map(tensor).join(', ')} ]
output [ ${outputs.map(tensor).join(', ')} ]
instance_group [ { kind: KIND_CPU count: 1 } ]`;
}

/** A row of a model of the benchmark. */
function benchRow(name: string): CompareRow {
  const model = models.find((each) => each.name === name);
  if (!model) throw new RangeError(`no model ${name}`);
  const { input, output } = model;
  return {
    door: 'process',
    model: name,
    repository: () => ({
      [name]: {
        config: configOf(model, model.items().datatype),
        versions: { '1': model.bytes ? { 'model.onnx': model.bytes() } : {} },
      },
    }),
    requests: () => model.items().values.map((values) => ({ [input.name]: values })),
    output: output.name,
    fast: model.fast,
    outstanding: requiredLoads(name),
  };
}

/** What the rows of tiny models of one kind have in common. */
const tiny = {
  door: 'process',
  model: 'm',
  requests: () => floats('x'),
  output: 'y',
  fast: true,
  outstanding: [64],
} as const;

/** All rows, in the order of the table. */
export const compareRows: Readonly<Record<string, CompareRow>> = {
  add: benchRow('add'),
  identity: benchRow('identity'),
  two: {
    ...tiny,
    repository: () => ({
      m: { config: configText('identity', ['x', 'z'], ['y', 'u']), versions: { '1': {} } },
    }),
    requests: () => floats('x', 'z'),
    outstanding: [64, 512],
  },
  mlp: benchRow('mlp'),
  javascript: {
    ...tiny,
    repository: () => ({
      m: {
        config: configText('javascript', ['x'], ['y']),
        versions: {
          '1': {
            'model.mjs': `export default {
  execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: x.data.map((value) => value + 1) })),
};`,
          },
        },
      },
    }),
  },
  ensemble: {
    ...tiny,
    model: 'e',
    repository: () => ({ a: onnx(), b: onnx(), c: onnx(), e: ensemble(chain(['a', 'b', 'c'])) }),
  },
  python: {
    ...tiny,
    repository: () => ({
      m: {
        config: configText('python', ['x'], ['y']),
        versions: {
          '1': {
            'model.py': `import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        inputs = (pb_utils.get_input_tensor_by_name(request, "x").as_numpy() for request in requests)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("y", x + 1)]) for x in inputs]
`,
          },
        },
      },
    }),
  },
  http: {
    door: 'http',
    model: 'tiny',
    repository: () => ({ tiny: onnx() }),
    outstanding: [endpointLoads['tiny']?.atOnce ?? 0],
  },
  grpc: {
    door: 'grpc',
    model: 'tiny',
    repository: () => ({ tiny: onnx() }),
    outstanding: [(grpcLoads['tiny']?.connections ?? 0) * (grpcLoads['tiny']?.streams ?? 0)],
  },
};
