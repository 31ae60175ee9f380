/** tritonts: a server with one model, called through its public interface. */
import {
  createServer,
  type AnyTensor,
  type InferenceServer,
  type InferResult,
  type Model,
} from '../../src/index.js';
import { ofStatistics } from '../reports/histogram.js';
import { passAs, takeFrom } from '../measuring/literals.js';
import type { OurName } from '../reports/results.js';
import type { Caller, Threads } from './contestant.js';

const none = new Float32Array();

/** The contestant, with the server and model that the other contestants need. */
export interface Ours extends Caller {
  readonly server: InferenceServer;
  readonly model: Model;
}

/**
 * Serves the model `name` of a repository.
 *
 * @param as - Says whether short batches may run on the JS thread.
 * @param items - Typed arrays, one for each request.
 */
export async function openTritonts(
  as: OurName,
  repository: string | URL,
  name: string,
  tensors: { readonly input: string; readonly output: string },
  items: readonly (Float32Array | BigInt64Array)[],
  threads: Threads,
): Promise<Ours> {
  const server = await createServer(repository, {
    modelControlMode: 'explicit',
    loadModels: [name],
    inline: as === 'tritonts' ? 'auto' : 'off',
    ...(threads === undefined ? {} : { threads }),
  });
  const model = server.model(name);
  const pass = passAs<Float32Array | BigInt64Array>(tensors.input);
  const take = takeFrom<AnyTensor>(tensors.output);
  return {
    kind: 'caller',
    name: as,
    server,
    model,
    infer: (index) => model.infer(pass(items[index % items.length] ?? none)),
    // infer() returned it.
    read: (answer) => take((answer as InferResult).outputs)?.data as Float32Array,
    batches: () => ofStatistics(model.statistics().batch_stats),
    close: () => server.close(),
  };
}
