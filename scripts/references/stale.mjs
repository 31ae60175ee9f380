import { FileReferences } from './files.mjs';
import { NameReferences } from './names.mjs';
import { languageOf, lineOf, partsOf } from './text.mjs';

/**
 * What the comments and pages of a repository name and it does not have, one line a reference.
 *
 * `files` are all its files, by path, each with a function that reads its text.
 */
export function staleReferences(files) {
  const parts = new Map();
  for (const [file, read] of files)
    parts.set(file, languageOf(file) ? partsOf(file, read()) : { prose: '', code: '' });
  const kinds = [new FileReferences(parts), new NameReferences(parts)];
  const faults = [];
  for (const [file, its] of parts)
    for (const kind of kinds)
      for (const [place, reference] of kind.stale(file, its))
        faults.push(`${file}:${lineOf(its.prose, place)}: ${reference} does not exist`);
  return faults;
}
