/**
 * Paths of fields in a configuration, as in error locations: `input[0].dims[1]`,
 * `parameters["execute_delay_ms"].string_value`.
 */

/** One step of a path: a field, an element of a list, or an entry of a map. */
export type PathStep =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'key'; readonly key: string };

/** The path of a field of the message at `parent`; an empty `parent` is the configuration itself. */
export function fieldPath(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`;
}

/** The path of an element of the list at `list`. */
export function indexPath(list: string, index: number): string {
  return `${list}[${index}]`;
}

/** The path of an entry of the map at `map`. A key that is too long for a message is cut. */
export function keyPath(map: string, key: string): string {
  return `${map}[${JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}…` : key)}]`;
}

/** Splits a path into its steps: the inverse of the functions above. */
export function pathSteps(path: string): PathStep[] {
  const steps: PathStep[] = [];
  for (const [part, name, index] of path.matchAll(/\.?(\w+)|\[(\d+)\]|\["(?:[^"\\]|\\.)*"\]/g)) {
    if (name !== undefined) steps.push({ kind: 'field', name });
    else if (index !== undefined) steps.push({ kind: 'index', index: Number(index) });
    else steps.push({ kind: 'key', key: String(JSON.parse(part.slice(1, -1))) });
  }
  return steps;
}

/** A path without indices and keys, as in the class table: `input.dims`. */
export function schemaPath(path: string): string {
  // Called for every field of every model, and most paths have no index.
  return path.includes('[') ? path.replace(/\[(?:\d+|"(?:[^"\\]|\\.)*")\]/g, '') : path;
}
