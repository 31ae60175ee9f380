/**
 * Serves a plan on a GPU and models of the host to clients whose tensors are in memory of GPUs. Prints what they got as
 * JSON. With the fake driver the handle of memory is the path of a file, which is the memory.
 */

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveGrpc } from '../../../src/endpoints/grpc/serve.js';
import { serveHttp } from '../../../src/endpoints/http/serve.js';
import { createServer, TritonError, type GivenModel } from '../../../src/index.js';
import { regionsOf } from '../../../src/server/memory/shared-memory.js';
import { ModelHandle } from '../../../src/server/models/model-handle.js';
import { counter } from '../../endpoints/counter.js';
import {
  floats as bytesOf,
  foreign,
  responses,
  type Fields,
  type Foreign,
} from '../../endpoints/grpc/harness.js';
import { grpcClient, httpClient, type Client } from '../../endpoints/region-clients.js';

/** The output of the program. */
export interface Regions {
  /** By protocol: what each step told. */
  readonly told: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly streamed: readonly unknown[];
  /** What registering in the process told. */
  readonly inProcess: readonly unknown[];
}

const [, , repository = '', folder = '', library = ''] = process.argv;
/** The model 'slow' waits for this file. */
const go = join(folder, 'go');
process.env['TRITONTS_TEST_GO'] = go;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const path = join(folder, 'm');
const handle = Buffer.alloc(64);
handle.write(path);

/** The memory's first floats. */
async function floats(count: number): Promise<readonly number[]> {
  const { buffer, byteOffset } = await readFile(path);
  return [...new Float32Array(buffer.slice(byteOffset, byteOffset + 4 * count))];
}

const fill = (...values: readonly number[]): Promise<void> =>
  writeFile(path, Buffer.from(Float32Array.from(values).buffer), { flag: 'r+' });

/** Whether a model reads and writes the region where it is. */
function direct(name: string): readonly boolean[] {
  const model = server.model(name);
  const { id = 0 } = regionsOf(server)?.find('r') ?? {};
  const range = { region: id, offset: 0, byteSize: 16 };
  return model instanceof ModelHandle ? [model.readsRegion('x', range), model.writesRegion(range)] : [];
}

async function ask(client: Client): Promise<Record<string, unknown>> {
  const told: Record<string, unknown> = {};
  const region = 'r';
  const row = [1, 4];
  const range = { region, offset: 0, byteSize: 16 };
  told['registered'] = await client.cuda.register(region, handle, 1, 64);
  told['twice'] = await client.cuda.register(region, handle, 1, 64);
  told['more'] = await client.cuda.register('s', handle, 1, 65);
  told['elsewhere'] = await client.cuda.register('s', handle, 7, 64);
  told['unknown'] = await client.cuda.register('s', Buffer.alloc(64, 'x'), 1, 64);
  told['short'] = await client.cuda.register('s', Buffer.alloc(63), 1, 64);
  told['status'] = [await client.cuda.status(''), await client.cuda.status(region), await client.status('')];
  told['other kind'] = [await client.status(region), await client.cuda.status('s')];
  // The GPU of the plan is the memory's, so nothing passes by the host. The other models are on the host.
  for (const model of ['plan', 'onnx', 'script', 'chain']) {
    await fill(1, 2, 3, 4, 0, 0, 0, 0);
    const answer = await client.infer({
      ...{ model, shape: row, input: range },
      output: { region, offset: 16, byteSize: 16 },
    });
    const stored = (await floats(8)).slice(4);
    await fill(1, 2, 3, 4, 0, 0, 0, 0);
    const read = await client.infer({ model, shape: row, input: range });
    const small = await client.infer({
      ...{ model, shape: row, input: range },
      output: { region, offset: 16, byteSize: 8 },
    });
    // Over its own input.
    await client.infer({ model, shape: row, input: range, output: range });
    told[model] = { direct: direct(model), answer, stored, read, small, over: await floats(4) };
  }
  // The memory is another GPU's, so the host is between.
  told['other'] = await client.cuda.register('other', handle, 0, 64);
  await fill(1, 2, 3, 4, 0, 0, 0, 0);
  const there = { region: 'other', offset: 0, byteSize: 16 };
  await client.infer({
    ...{ model: 'plan', shape: row, input: there },
    output: { ...there, offset: 16 },
  });
  told['by the host'] = (await floats(8)).slice(4);
  // It is unregistered while the model runs.
  await fill(1, 2, 3, 4, 0, 0, 0, 0);
  const asked = client.infer({
    ...{ model: 'slow', shape: row, input: there },
    output: { ...there, offset: 16 },
  });
  while (!server.explain('slow').batches.some(({ running }) => running)) await turn();
  told['leaving'] = [
    await client.cuda.unregister('other'),
    await client.cuda.status('other'),
    await client.cuda.register('other', handle, 0, 64),
  ];
  await writeFile(go, '');
  told['left'] = [await asked, (await floats(8)).slice(4), await client.cuda.status('')];
  await rm(go);
  told['beyond'] = await client.infer({ model: 'onnx', shape: row, input: { ...range, offset: 64 } });
  told['system'] = await client.unregister(region);
  told['still'] = await client.cuda.status('');
  told['unregistered'] = await client.cuda.unregister(region);
  told['none'] = await client.cuda.status('');
  told['gone'] = await client.infer({ model: 'onnx', shape: row, input: range });
  return told;
}

/** Says which request of its sequence it gets. */
const parts: GivenModel = {
  config: {
    max_batch_size: 1,
    sequence_batching: {},
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
  },
  execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: x })),
};

/** What streams told: the numbers of a sequence's requests in order, and which responses were the last. */
async function streams(client: Foreign): Promise<unknown[]> {
  await fill(1);
  const at = { shared_memory_region: { string_param: 'p' }, shared_memory_byte_size: { int64_param: 4 } };
  const sequence = { sequence_id: { int64_param: 5 } };
  const part = (x: number, more: Fields): Fields => ({
    model_name: 'parts',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1] }],
    raw_input_contents: [bytesOf(x)],
    ...more,
  });
  const ofParts = client.stream();
  const partsTold = responses<Fields>(ofParts);
  ofParts.write({
    model_name: 'parts',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], parameters: at }],
    parameters: { ...sequence, sequence_start: { bool_param: true } },
  });
  ofParts.write(part(2, { parameters: sequence }));
  ofParts.write(part(3, { parameters: { ...sequence, sequence_end: { bool_param: true } } }));
  ofParts.end();
  const ofCounts = client.stream();
  const countsTold = responses<Fields>(ofCounts);
  ofCounts.write({
    model_name: 'c',
    inputs: [{ name: 'n', datatype: 'FP32', shape: [1] }],
    raw_input_contents: [bytesOf(3)],
    outputs: [{ name: 'y', parameters: at }],
  });
  ofCounts.end();
  const numbers = (await partsTold).map((one) => {
    const { infer_response: response, error_message: message } = one as Told;
    const [bytes] = response?.raw_output_contents ?? [];
    return bytes === undefined ? message : bytes.readFloatLE();
  });
  const finals = (await countsTold).map(
    (one) => (one as Told).infer_response?.parameters?.['triton_final_response']?.bool_param,
  );
  return [numbers, finals, await floats(1)];
}

interface Told {
  readonly error_message?: string;
  readonly infer_response?: {
    readonly parameters?: Readonly<Record<string, { readonly bool_param?: boolean }>>;
    readonly raw_output_contents?: readonly Buffer[];
  };
}

const server = await createServer({
  modelRepository: repository,
  models: { parts, c: counter },
  backendConfig: { tensorrt: { library } },
});
await writeFile(path, Buffer.alloc(64));
const told: Record<string, Record<string, unknown>> = {};
const ends: (() => unknown)[] = [];
const context = { after: (end: () => unknown) => void ends.push(end) };
const http = await serveHttp(server, { port: 0, clientSharedMemory: true });
told['http'] = await ask(httpClient(http));
await http.close();
const grpc = await serveGrpc(server, { port: 0, clientSharedMemory: true });
told['grpc'] = await ask(await grpcClient(context, grpc));
await server.sharedMemory.registerCuda('p', { handle, deviceId: 0, byteSize: 64 });
const streamed = await streams(await foreign(context, grpc));
server.sharedMemory.unregister('p');
for (const end of ends) await end();
await grpc.close();

const said = async (work: Promise<void>): Promise<string> => {
  try {
    await work;
    return 'ok';
  } catch (error) {
    return error instanceof TritonError ? `${error.code}: ${error.message}` : String(error);
  }
};
const memory = server.sharedMemory;
const inProcess: unknown[] = [
  await said(memory.registerCuda('p', { handle, deviceId: 0, byteSize: 64 })),
  memory.cudaRegions(),
  memory.regions(),
  await said(memory.registerCuda('q', { handle, deviceId: 0, byteSize: 0 })),
  await said(memory.registerCuda('q', { handle: handle.subarray(1), deviceId: 0, byteSize: 1 })),
  memory.unregister('p'),
  memory.cudaRegions(),
  // Registered while the server closes: either is fine, and nothing is left open.
  ...(await Promise.all([
    said(memory.registerCuda('late', { handle, deviceId: 0, byteSize: 64 })).then((one) =>
      /^ok$|^UNAVAILABLE: /.test(one),
    ),
    server.close().then(() => true),
  ])),
];
console.log(JSON.stringify({ told, streamed, inProcess } satisfies Regions));
