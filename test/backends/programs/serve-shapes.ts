/**
 * Serves plans with shape tensors: x is FP32 [N,2], s is INT32 with the values [N,width], and each row of y has the
 * first number of x's row, `width` times. Prints the results of callers in the process and over its endpoints as
 * JSON.
 */

import { connectServer } from '../../../src/client/index.js';
import { serveGrpc } from '../../../src/endpoints/grpc/serve.js';
import { serveHttp } from '../../../src/endpoints/http/serve.js';
import { createServer, TritonError, type Inputs } from '../../../src/index.js';

/** The output of the program. */
export interface Shaped {
  /** By model: its state and reason, and for a served model its metadata. */
  readonly models: Readonly<
    Record<
      string,
      {
        readonly state: string;
        readonly reason: string;
        readonly most?: number;
        readonly shapes?: Readonly<Record<string, readonly number[]>>;
        readonly dims?: Readonly<Record<string, readonly number[]>>;
        readonly notes?: readonly string[];
      }
    >
  >;
  /** The outcomes of concurrent requests: y and the rows of the batch, or an error. */
  readonly answers: Readonly<Record<string, readonly unknown[]>>;
}

const [, , repository = '', library = ''] = process.argv;
const server = await createServer(repository, {
  exitOnError: false,
  backendConfig: { tensorrt: { library } },
});
const models: Record<string, Shaped['models'][string]> = {};
for (const { name, state = '', reason = '' } of server.index()) {
  if (state !== 'READY') {
    models[name] = { state, reason };
    continue;
  }
  const { metadata, config, notes } = server.model(name);
  const tensors = [...metadata.inputs, ...metadata.outputs];
  models[name] = {
    state,
    reason,
    most: config.max_batch_size,
    shapes: Object.fromEntries(tensors.map((tensor) => [tensor.name, tensor.shape])),
    dims: Object.fromEntries(
      [...config.input, ...config.output].flatMap(({ name: tensor, dims, is_shape_tensor: is }) =>
        is ? [[tensor, dims]] : [],
      ),
    ),
    notes,
  };
}

const said = (error: unknown): string =>
  error instanceof TritonError ? `${error.code} ${error.tensor ?? ''}: ${error.message}` : String(error);
/** A request whose rows begin with these numbers. */
const of = (firsts: readonly number[], s?: Inputs[string]): Inputs => ({
  x: Float32Array.from(firsts.flatMap((first) => [first, -1])),
  ...(s !== undefined && { s }),
});
const together = (name: string, requests: readonly Inputs[]): Promise<unknown[]> =>
  Promise.all(
    requests.map(async (inputs) => {
      try {
        const { outputs, timings } = await server.model(name).infer(inputs);
        return [outputs['y']?.toArray(), timings.batchSize];
      } catch (error) {
        return said(error);
      }
    }),
  );

const values = (...list: number[]): Int32Array => Int32Array.from(list);
const answers: Record<string, unknown[]> = {
  equal: await together('preferred', [
    of([1], values(1, 3)),
    of([2, 3], [2, 3]),
    of([4], { data: [1, 3], shape: [2] }),
  ]),
  apart: await together('pairs', [of([1], values(1, 3)), of([2], values(1, 2)), of([3], values(1, 2))]),
  wrong: await together('pairs', [
    of([1, 2], values(1, 3)),
    of([1], values(1)),
    of([1], values(1, 3, 4)),
    of([1], { data: [1, 3, 1, 3], shape: [2, 2] }),
    { s: values(1, 3) },
  ]),
  outputs: await together('rows', [of([1]), of([2, 3]), of([4])]),
  given: await together('given', [of([1], values(1, 3)), of([2, 3], values(2, 3)), of([4], values(2, 3))]),
  inside: await together('inside', [of([1]), of([2, 3])]),
};
const http = await serveHttp(server, { port: 0 });
const grpc = await serveGrpc(server, { port: 0 });
for (const [protocol, url] of [
  ['http', `http://127.0.0.1:${http.address.port}`],
  ['grpc', `grpc://127.0.0.1:${grpc.address.port}`],
] as const) {
  const remote = await connectServer(url);
  const model = await remote.model('auto');
  const ask = async (inputs: Inputs): Promise<unknown> => {
    try {
      return (await model.infer(inputs)).outputs['y']?.toArray();
    } catch (error) {
      return said(error);
    }
  };
  answers[protocol] = [await ask(of([5, 6], values(2, 2))), await ask(of([5, 6], values(3, 2)))];
  await remote.close();
}
await http.close();
await grpc.close();
await server.close();
console.log(JSON.stringify({ models, answers } satisfies Shaped));
