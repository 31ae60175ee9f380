/** Packages that tests and examples do without where they are not installed. */

/**
 * What a package exports; undefined where it is not installed. The compiler never sees its types, so a checkout
 * compiles without it: say what is used of it in an interface.
 */
export async function optionalPackage(name: string): Promise<unknown> {
  try {
    import.meta.resolve(name);
  } catch {
    return undefined;
  }
  return (await import(name)) as unknown;
}
