/** Serves a repository, makes one request to each model (x is FP32 [16]), and prints the results as JSON. */

import { attachServer, createServer } from '../../../src/index.js';

/** The argument of the program. */
export interface Asked {
  readonly repository: string;
  /** Path of ONNX Runtime's library. */
  readonly library: string;
  /** Path of TensorRT's library (default: the server searches for it). */
  readonly tensorrt?: string;
  /** Other options of TensorRT. */
  readonly tensorrtOptions?: Readonly<Record<string, string | boolean>>;
  readonly instanceKind?: 'cpu';
  readonly minSupportedComputeCapability?: number;
}

/** The output of the program, by model. */
export interface Told {
  /** The devices in the metadata of the server, and of an attached server. */
  readonly devices: readonly (readonly string[])[];
  /** The metrics after all requests. */
  readonly metrics: string;
  readonly models: Readonly<
    Record<
      string,
      {
        readonly state: string;
        readonly reason: string;
        readonly notes: readonly string[];
        readonly instances: readonly {
          readonly name: string;
          readonly kind: string;
          readonly device: number;
        }[];
        /** The output y of one request for each instance, or of one request to an ensemble. */
        readonly answers: readonly unknown[];
      }
    >
  >;
}

const [, , argument = ''] = process.argv;
const { repository, library, tensorrt, tensorrtOptions, instanceKind, minSupportedComputeCapability } =
  JSON.parse(argument) as Asked;
const server = await createServer(repository, {
  exitOnError: false,
  metricsConfig: { intervalMs: 1 },
  instanceKind,
  minSupportedComputeCapability,
  backendConfig: {
    onnxruntime: { library },
    ...(tensorrt !== undefined && { tensorrt: { library: tensorrt, ...tensorrtOptions } }),
  },
});
const models: Record<string, Told['models'][string]> = {};
for (const { name, state = '', reason = '' } of server.index()) {
  if (state !== 'READY') {
    models[name] = { state, reason, notes: [], instances: [], answers: [] };
    continue;
  }
  const model = server.model(name);
  const { instances } = model.runtimeInfo();
  // An ensemble has no instances.
  const results = await Promise.all(
    Array.from({ length: Math.max(1, instances.length) }, (_, i) =>
      model.infer({ x: Float32Array.from({ length: 16 }, () => i) }),
    ),
  );
  const answers = results.map(({ outputs }) => outputs['y']?.toArray());
  models[name] = { state, reason, notes: model.notes, instances, answers };
}
// Wait for the metrics of GPUs, which another thread samples.
while (server.metadata().devices.length > 1 && !server.metrics().includes('nv_gpu_'))
  await new Promise(setImmediate);
const metrics = server.metrics();
const attached = await attachServer(server.handle);
const devices = [server.metadata().devices, attached.metadata().devices];
await attached.close();
await server.close();
console.log(JSON.stringify({ devices, metrics, models } satisfies Told));
