/** What lies in a folder, for messages about something that does not. */

import { opendir } from 'node:fs/promises';

/** An entry of a folder. */
export interface ListedEntry {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** Enough to tell what kind of folder it is. */
const mostListed = 256;

/** Names in a message; the others are counted. */
const mostNamed = 5;

/** The entries of a folder, hidden ones left out, by name: of a large one some of them; none where it cannot be read. */
export async function listFolder(folder: string): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      if (entry.name.startsWith('.')) continue;
      entries.push({ name: entry.name, isDirectory: entry.isDirectory() });
      if (entries.length === mostListed) break;
    }
  } catch {
    // The message does without.
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** What a folder holds, as a message says it: `is empty`, `holds a.onnx, labels.txt and 3 more`. */
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
