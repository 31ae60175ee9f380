/** Objects that hold tensors by name. */

/**
 * Creates objects without inherited properties, all of one hidden class: `__proto__` is a legal name of a
 * tensor.
 */
export interface NamedValuesConstructor {
  new (): Record<string, unknown>;
}

/** A class for the tensors of one version. */
export function namedValues(): NamedValuesConstructor {
  function NamedValues(): void {
    // Only its instances matter.
  }
  NamedValues.prototype = Object.freeze(Object.create(null) as object);
  // A function called with `new` creates objects with its prototype. TypeScript knows this only of classes.
  return NamedValues as unknown as NamedValuesConstructor;
}
