/** Lists the content of a folder of this machine, for messages about a missing file. */

import { opendir } from 'node:fs/promises';

/** An entry of a folder. */
export interface ListedEntry {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** This many entries show what kind of folder it is. */
const mostListed = 256;

/** How many names a message lists. The others are counted. */
const mostNamed = 5;

/**
 * The visible entries of a folder by name. Of a large folder some of them; of one that cannot be read none.
 */
export async function listFolder(folder: string): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      if (entry.name.startsWith('.')) continue;
      entries.push({ name: entry.name, isDirectory: entry.isDirectory() });
      if (entries.length === mostListed) break;
    }
  } catch {
    // The message does not need them.
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The content of a folder in a message: `is empty`, `holds a.onnx, labels.txt and 3 more`. */
export function contentText(entries: readonly { readonly name: string }[]): string {
  if (entries.length === 0) return 'is empty';
  const names = entries.slice(0, mostNamed).map(({ name }) => name);
  const more = entries.length - names.length;
  return `holds ${names.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}

/** The names of ONNX files among entries. */
export function onnxFiles(entries: readonly ListedEntry[]): string[] {
  return entries.flatMap(({ name, isDirectory }) => (!isDirectory && /\.onnx$/i.test(name) ? [name] : []));
}
