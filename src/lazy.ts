/** Modules that are imported at first use. */

/**
 * Imports a module once. A second `import()` would look for its file again, which takes a millisecond or two.
 *
 * @param load - `() => import('./module.js')`, written out so that bundlers see the file.
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
