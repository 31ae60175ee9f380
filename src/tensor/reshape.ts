/** Triton's `reshape`: a caller and a model use different shapes for the same elements. */

/** Turns a full shape (with the batch dimension if the model has one) into the other shape. */
export type Reshape = (shape: readonly number[]) => number[];

/**
 * Prepares the conversion from one configured shape to another. Fixed dims are those of `to`. Each -1 of `to`
 * takes the value at the -1 of `from` with the same number. A batch dimension stays in front.
 *
 * @param from - Configured dims without batch; -1 is variable.
 * @param to - The same elements in another shape. It has as many -1 as `from`; the configuration's rules
 *   ensure that.
 * @param batching - Whether full shapes begin with the batch.
 * @returns Undefined if both shapes are the same.
 */
export function compileReshape(
  from: readonly number[],
  to: readonly number[],
  batching: boolean,
): Reshape | undefined {
  if (from.length === to.length && from.every((dim, i) => dim === to[i])) return undefined;
  const first = batching ? 1 : 0;
  const sources = from.flatMap((dim, i) => (dim === -1 ? [i + first] : []));
  let variable = 0;
  const steps = to.map((dim) => (dim === -1 ? { source: sources[variable++] ?? 0 } : { dim }));
  return (shape) => {
    const result = batching ? [shape[0] ?? 0] : [];
    for (const step of steps) result.push('dim' in step ? step.dim : (shape[step.source] ?? 0));
    return result;
  };
}
