/**
 * Names of the models of a large repository. Separate from `models.ts`, whose models would fill the heap of a
 * measured process.
 */

const kinds = ['add', 'digits', 'various'] as const;

/**
 * The kinds of models: y = x + 1 on 16 floats; the perceptron of examples/digits, 38 KB; and the same with a
 * configuration of its own for each model.
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
