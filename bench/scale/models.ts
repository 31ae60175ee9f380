/** A repository of many small models. */
import { writeRepository } from '../../test/support/repository.js';
import { configOf, models } from '../models.js';

/** What the models are: y = x + 1 on 16 floats, or the perceptron of examples/digits, 38 KB. */
export type Kind = 'add' | 'digits';

/** Name of the i-th model of a kind. */
export function modelName(i: number, kind: Kind = 'add'): string {
  return `${kind}${String(i).padStart(4, '0')}`;
}

/** Names of the first `count` models of a kind. */
export function modelNames(count: number, kind: Kind = 'add'): string[] {
  return Array.from({ length: count }, (_, i) => modelName(i, kind));
}

/** Writes `count` models of a kind. */
export async function writeModels(folder: string, count: number, kind: Kind): Promise<void> {
  const model = models.find(({ name }) => name === kind);
  if (!model?.bytes) throw new RangeError(`no model ${kind}`);
  const bytes = model.bytes();
  // Each takes the name of its folder.
  const config = configOf(model, 'FP32').replace(/^name: .*$/m, '');
  await writeRepository(
    folder,
    Object.fromEntries(modelNames(count, kind).map((name) => [name, { config, versions: { '1': bytes } }])),
  );
}
