/** Runs cases through a server: models are loaded without a config.pbtxt, and each gets one request. */
import { join } from 'node:path';
import { createServer, TritonError, type InferenceServer } from '../../src/index.js';
import { differences, type NamedValues } from './compare.js';
import type { Case } from './outcome.js';
import { readTensors, type NamedTensor, type TensorValue } from './tensor-file.js';

/** Why a case did not pass: it did not load, an error came, or other outputs than expected. */
export type Failure =
  | { readonly step: 'load' | 'infer'; readonly reason: string }
  | { readonly step: 'compare'; readonly reason: string; readonly outputs: NamedValues };

/** How many models are loaded at once. */
const chunkSize = 128;

/** Triton has no tensors without dimensions: to a client they are [1]. */
function asTriton<T extends TensorValue>(tensor: T): T {
  return tensor.shape.length === 0 ? { ...tensor, shape: [1] } : tensor;
}

/** The tensors of a file in a case's folder, as a client of Triton sees them. */
export async function caseTensors(folder: string, file: string): Promise<NamedTensor[]> {
  return (await readTensors(join(folder, file))).map(asTriton);
}

/** Tensors by name. */
export function byName(tensors: readonly NamedTensor[]): NamedValues {
  return Object.fromEntries(tensors.map((tensor) => [tensor.name, tensor]));
}

async function serve(server: InferenceServer, repository: string, one: Case): Promise<Failure | undefined> {
  const status = server.index().find(({ name }) => name === one.name);
  if (status?.state !== 'READY') return { step: 'load', reason: status?.reason ?? 'not in the index' };
  const folder = join(repository, one.name);
  const inputs = await caseTensors(folder, 'inputs.bin');
  const expected = await caseTensors(folder, 'outputs.bin');
  try {
    const { outputs } = await server.infer(one.name, byName(inputs));
    const reason = differences(expected, outputs, one);
    return reason === undefined ? undefined : { step: 'compare', reason, outputs };
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    return { step: 'infer', reason: `${error.code}: ${error.message}` };
  }
}

/**
 * Runs the cases of one repository through `createServer`, some models at a time.
 *
 * @returns One entry for each case, in their order; undefined for a pass.
 */
export async function serveCases(
  repository: string,
  cases: readonly Case[],
): Promise<(Failure | undefined)[]> {
  const failures: (Failure | undefined)[] = [];
  for (let begin = 0; begin < cases.length; begin += chunkSize) {
    const chunk = cases.slice(begin, begin + chunkSize);
    const server = await createServer(repository, {
      modelControlMode: 'explicit',
      loadModels: chunk.map(({ name }) => name),
      exitOnError: false,
      // Completion then takes whole shapes as dims, even for models that could be batched.
      backendConfig: { onnxruntime: { 'default-max-batch-size': 0 } },
    });
    failures.push(...(await Promise.all(chunk.map((one) => serve(server, repository, one)))));
    await server.close();
  }
  return failures;
}
