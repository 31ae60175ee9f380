/** Modules that are imported at first use. */

/**
 * Returns a function that imports a module once. A second `import()` would look for the file again, which takes
 * a millisecond or two.
 *
 * @param load - `() => import('./module.js')`, written literally so that bundlers see the file.
 */
export function lazy<T>(load: () => Promise<T>): () => Promise<T> {
  let imported: Promise<T> | undefined;
  return () => {
    imported ??= load().catch((error: unknown) => {
      imported = undefined;
      throw error;
    });
    return imported;
  };
}
