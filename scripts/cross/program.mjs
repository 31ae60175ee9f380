// A user's program, run on each platform with the packages that npm installs there. Prints one line for what works.
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker, isMainThread } from 'node:worker_threads';
import { createServer, TritonError } from 'tritonts';

const io = `max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 4 }
output { name: "y" data_type: TYPE_FP32 dims: 4 }
`;
const models = join(process.cwd(), 'made');
const write = (path, text) => {
  mkdirSync(join(models, path, '..'), { recursive: true });
  writeFileSync(join(models, path), text);
};
write('plus/config.pbtxt', `backend: "javascript"\n${io}dynamic_batching { }`);
write(
  'plus/1/model.js',
  'export default { execute: (requests) => requests.map(({ inputs }) => ({ y: inputs.x.data.map((v) => v + 1) })) };',
);
write('same/config.pbtxt', `backend: "identity"\n${io.replace('"y"', '"x"')}`);
mkdirSync(join(models, 'same', '1'), { recursive: true });
write(
  'both/config.pbtxt',
  `platform: "ensemble"
${io}ensemble_scheduling {
  step { model_name: "same" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "x" value: "between" } }
  step { model_name: "plus" model_version: -1 input_map { key: "x" value: "between" } output_map { key: "y" value: "y" } }
}`,
);
mkdirSync(join(models, 'both', '1'), { recursive: true });

const row = () => ({ x: { data: Float32Array.of(1, 2, 3, 4), shape: [1, 4] } });

async function use(server, name, output = 'y') {
  const all = await Promise.all(Array.from({ length: 50 }, () => server.infer(name, row())));
  for (const { outputs } of all)
    if (outputs[output].data.length !== 4) throw new Error(`${name}: ${outputs[output].data}`);
  return all.at(-1).outputs[output].data.join(' ');
}

/** What a promise is fulfilled or rejected with. */
async function settled(promise) {
  try {
    return await promise;
  } catch (error) {
    return error;
  }
}

const server = await createServer(models);
if (isMainThread) {
  const { platform, arch, version } = process;
  console.log('node', platform, arch, version);
  console.log('identity', await use(server, 'same', 'x'));
  console.log('javascript', await use(server, 'plus'));
  console.log('ensemble', await use(server, 'both'));
  const error = await settled(server.infer('plus', {}));
  console.log('error', error instanceof TritonError, error.code);
  const worker = new Worker(new URL(import.meta.url));
  const [code] = await once(worker, 'exit');
  console.log('worker', code);
} else await use(server, 'both');
await server.close();

if (isMainThread) {
  const digits = await settled(
    createServer(join(process.cwd(), 'node_modules', 'tritonts', 'examples', 'digits', 'models')),
  );
  if (digits instanceof Error) console.log('onnx', digits.code, digits.message.replaceAll('\n', ' '));
  else {
    const { outputs } = await digits.infer('digits', { image: new Float32Array(64) });
    console.log('onnx', outputs.scores.shape.join('x'));
    // The process must end by itself.
    await digits.close();
  }
}
