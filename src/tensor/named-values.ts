/** Objects that hold tensors by name. */

/**
 * Creates objects without inherited properties, all of one hidden class: `__proto__` is a legal name of a
 * tensor.
 */
export interface NamedValuesConstructor {
  new (): Record<string, unknown>;
}

/** Something with a name, such as an output in a configuration or in a request. */
export interface Named {
  readonly name: string;
}

/** The order of the tensors that a class's objects hold, by the class's prototype. */
const orders = new WeakMap<object, readonly Named[]>();

/**
 * A class for the tensors of one version.
 *
 * @param order - All tensors that its objects may hold, in the configuration's order; see {@link inOrder}.
 */
export function namedValues(order: readonly Named[] = []): NamedValuesConstructor {
  function NamedValues(): void {
    // An empty constructor: only its instances matter.
  }
  const prototype: object = Object.freeze(Object.create(null) as object);
  NamedValues.prototype = prototype;
  if (order.length > 0) orders.set(prototype, order);
  // A function called with `new` creates objects with its prototype. TypeScript knows this only of classes.
  return NamedValues as unknown as NamedValuesConstructor;
}

/**
 * The names of an object's tensors, in the order of the request's list, or else of the configuration. JavaScript
 * itself puts names that look like integers before all others. The list may have names that the object lacks.
 *
 * @param asked - The request's list of outputs, if it had one.
 */
export function inOrder(values: object, asked: readonly Named[] | undefined): readonly Named[] {
  if (asked !== undefined) return asked;
  const prototype: unknown = Object.getPrototypeOf(values);
  const order = typeof prototype === 'object' && prototype !== null ? orders.get(prototype) : undefined;
  return order ?? Object.keys(values).map((name) => ({ name }));
}
