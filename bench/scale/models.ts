/** A repository of many small models. */
import { writeRepository } from '../../test/support/repository.js';
import { configOf, models } from '../models.js';

const kinds = ['add', 'digits', 'various'] as const;

/**
 * What the models are: y = x + 1 on 16 floats; the perceptron of examples/digits, 38 KB; or that with a configuration that
 * no other model has.
 */
export type Kind = (typeof kinds)[number];

/**
 * The kind of a name.
 *
 * @throws RangeError for others.
 */
export function kindOf(name: string): Kind {
  const kind = kinds.find((known) => known === name);
  if (!kind) throw new RangeError(`no models of kind '${name}'`);
  return kind;
}

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
