/** A repository of many small models. */
import { writeRepository } from '../../test/support/repository.js';
import { configOf, models } from '../measuring/models.js';
import { modelNames, type Kind } from './names.js';

/** Writes `count` models of a kind. */
export async function writeModels(folder: string, count: number, kind: Kind): Promise<void> {
  const model = models.find(({ name }) => name === (kind === 'various' ? 'digits' : kind));
  if (!model?.bytes) throw new RangeError(`no model ${kind}`);
  const bytes = model.bytes();
  const config = configOf(model, 'FP32');
  const of = (name: string, i: number): string => {
    const named = config.replace(/^name: .*$/m, `name: "${name}"`);
    return kind === 'various' ? named.replace(/^max_batch_size: .*$/m, `max_batch_size: ${i + 1}`) : named;
  };
  await writeRepository(
    folder,
    Object.fromEntries(
      modelNames(count, kind).map((name, i) => [name, { config: of(name, i), versions: { '1': bytes } }]),
    ),
  );
}
