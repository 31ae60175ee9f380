/** A repository of many small models. */
import { addModel } from '../../test/support/models.js';
import { writeRepository } from '../../test/support/repository.js';

/** Name of the i-th model. */
export function modelName(i: number): string {
  return `m${String(i).padStart(4, '0')}`;
}

/** Names of the first `count` models. */
export function modelNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => modelName(i));
}

const config = `backend: "onnxruntime"
max_batch_size: 512
input [ { name: "x", data_type: TYPE_FP32, dims: [ 16 ] } ]
output [ { name: "y", data_type: TYPE_FP32, dims: [ 16 ] } ]
dynamic_batching { }
instance_group [ { kind: KIND_CPU, count: 1 } ]
`;

/** Writes `count` models, y = x + 1. */
export async function writeModels(folder: string, count: number): Promise<void> {
  const bytes = addModel();
  await writeRepository(
    folder,
    Object.fromEntries(modelNames(count).map((name) => [name, { config, versions: { '1': bytes } }])),
  );
}
