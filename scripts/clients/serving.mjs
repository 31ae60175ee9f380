// The server for the clients of npm test -- clients: models behind both endpoints.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from '../../dist/src/index.js';
import { serveGrpc } from '../../dist/src/endpoints/grpc/serve.js';
import { serveHttp } from '../../dist/src/endpoints/http/serve.js';
import { serveOpenAI } from '../../dist/src/endpoints/openai/serve.js';
import { counting, embedding, telling } from '../../dist/test/endpoints/openai/harness.js';
import { identity, onnx } from '../../dist/test/support/harness.js';
import { addModel } from '../../dist/test/support/models.js';
import { tellsSequence } from '../../dist/test/support/sequences.js';
import { executing, script } from '../../dist/test/javascript/harness.js';
import { writeRepository } from '../../dist/test/support/repository.js';

const datatypes = 'BOOL INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 FP16 FP32 FP64 BYTES BF16'.split(
  ' ',
);

/** Counts from 0 to its input, with one response for each number. */
const count = {
  config: `
backend: "javascript"
model_transaction_policy { decoupled: true }
input [ { name: "n" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "y" data_type: TYPE_INT32 dims: [ 1 ] } ]
`,
  versions: {
    1: {
      'model.js': `
export default {
  execute: (requests) => requests.map(async function* ({ inputs }) {
    const [n] = inputs.n.data;
    for (let i = 0; i < n; i++) yield { y: Int32Array.of(i) };
  }),
};
`,
    },
  },
};

/** Writes the models, and one model's file by itself. Returns both paths. */
export async function writeModels(folder) {
  const dims = [-1];
  const echoes = datatypes.map((datatype) => [
    `echo_${datatype.toLowerCase()}`,
    identity({
      maxBatchSize: 0,
      batching: false,
      inputs: [{ name: 'x', datatype, dims }],
      outputs: [{ name: 'y', datatype, dims }],
    }),
  ]);
  const repository = await writeRepository(join(folder, 'models'), {
    ...Object.fromEntries(echoes),
    add: onnx(addModel(), { maxBatchSize: 8192 }),
    direct: onnx(addModel(), { maxBatchSize: 64, batching: false, more: 'sequence_batching { direct { } }' }),
    oldest: onnx(addModel(), { maxBatchSize: 64, batching: false, more: 'sequence_batching { oldest { } }' }),
    spare: onnx(),
    slow: identity({ delayMs: 60_000 }),
    count,
    sequence: script(executing(tellsSequence), {
      inputs: [{ name: 'x', dims: [1] }],
      outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
    }),
  });
  const model = join(folder, 'add.onnx');
  writeFileSync(model, addModel());
  return { repository, model };
}

/** Calls `use` with the ports of both endpoints, and closes them afterwards. */
export async function serving(repository, options, use, { clientSharedMemory = false } = {}) {
  const server = await createServer(repository, options);
  const given = { port: 0, headerForwardPattern: /^forwarded-/i, clientSharedMemory };
  const http = await serveHttp(server, given);
  const grpc = await serveGrpc(server, given);
  try {
    await use({ http: http.address.port, grpc: grpc.address.port });
  } finally {
    await http.close({ timeoutMs: 0 });
    await grpc.close({ timeoutMs: 0 });
    await server.close({ timeoutMs: 0 });
  }
}

/** Calls `use` with the port of the front end for OpenAI's clients, whose calls of models need the key 'key'. */
export async function servingOpenAI(folder, use) {
  const models = { counting, embedding, telling };
  const server = await createServer(await writeRepository(join(folder, 'texts'), models));
  const restricted = [{ protocols: ['inference'], header: 'authorization', value: 'Bearer key' }];
  const endpoint = await serveOpenAI(server, { port: 0, restricted });
  try {
    await use(endpoint.address.port);
  } finally {
    await endpoint.close({ timeoutMs: 0 });
    await server.close({ timeoutMs: 0 });
  }
}

/** Runs a program without blocking this process, which has the server. Returns its output, unless stdout is inherited. */
export async function run(file, args, options = {}) {
  const child = spawn(file, args, { stdio: 'inherit', ...options });
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (part) => (text += part));
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${code ?? signal}\n${text}`);
  return text;
}
