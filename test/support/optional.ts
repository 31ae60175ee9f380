/** Packages that tests and examples can do without. */

/**
 * The exports of a package; undefined if it is not installed. The compiler does not see its types, so that a checkout
 * compiles without it. Declare the used part in an interface.
 */
export async function optionalPackage(name: string): Promise<unknown> {
  try {
    import.meta.resolve(name);
  } catch {
    return undefined;
  }
  return (await import(name)) as unknown;
}
