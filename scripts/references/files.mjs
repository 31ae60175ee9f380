// References to files and folders that do not exist.
import { posix } from 'node:path';
import { extensionOf, languageOf } from './text.mjs';

/** Extensions that only files of this repository have, where a text names a file. Users' models have the others, too. */
const own = new Set(['h', 'cc', 'ts', 'md']);
/** Extensions that files of the same language name without a folder, when they mean a neighbour. */
const neighbours = new Set(['mjs', 'py']);

/** A path, not within an address, a pattern or a package's name. */
const path = /(?<![\w./@$<*{:%\\-])(?:\.{1,2}\/)*(?:[\w.-]*\w\/)*[\w.-]*\w\/?(?![\w*<{$])/g;

/** Every file and folder of the repository, and every part of its path that names it. */
function endsOf(files) {
  const ends = new Set();
  for (const file of files) {
    const parts = file.split('/');
    for (let last = parts.length; last > 0; last--)
      for (let first = 0; first < last; first++) ends.add(parts.slice(first, last).join('/'));
  }
  return ends;
}

/** The source of a file that the build writes. */
function sourceOf(built) {
  return built.replace(/^dist\//, '').replace(/\.(?:d\.)?[cm]?[jt]s$/, '.ts');
}

/** Finds references to files and folders that do not exist, in the prose of one file. */
export class FileReferences {
  #ends;
  #top;
  #second;
  #foreign = new Set();

  /** The repository's files, each with its parts. */
  constructor(files) {
    const names = [...files.keys()];
    this.#ends = endsOf(names);
    this.#top = new Set(names.filter((name) => name.includes('/')).map((name) => name.split('/')[0]));
    this.#second = new Set(
      names
        .filter((name) => /^(?:src|native)\/[^/]+\//.test(name))
        .map((name) => /** @type {string} */ (name.split('/')[1])),
    );
    for (const [name, { code }] of files)
      if (languageOf(name) === 'c')
        for (const [, header] of code.matchAll(/^#include <([^>]+)>/gm)) this.#foreign.add(header);
  }

  /** The references of a file that lead nowhere, as [place, reference]. */
  stale(file, { prose, code }) {
    const found = [];
    for (const match of prose.matchAll(path)) {
      const [reference] = match;
      const quoted = prose[match.index - 1] === '`' && prose[match.index + reference.length] === '`';
      if (this.#isOurs(file, reference, quoted) && !this.#exists(file, reference))
        // A name that the same file's code writes is a file that a program makes.
        if (!code.includes(`'${reference}'`) && !code.includes(`"${reference}"`))
          found.push([match.index, reference]);
    }
    return found;
  }

  #isOurs(file, reference, quoted) {
    const extension = extensionOf(reference);
    const [first] = reference.split('/');
    if (reference.includes('/') && this.#top.has(first)) return true;
    if (/^dist\/(?:src|test|bench|examples)\/.*\w\.\w/.test(reference)) return true;
    if (own.has(extension))
      return !/^\.|\.d\.ts$/.test(posix.basename(reference)) && !this.#foreign.has(reference);
    if (neighbours.has(extension)) return !reference.includes('/') && extensionOf(file) === extension;
    return quoted && extension === '' && reference.includes('/') && this.#second.has(first);
  }

  #exists(file, reference) {
    const path = posix.normalize(reference).replace(/\/$/, '');
    if (this.#ends.has(path) || this.#ends.has(posix.join(posix.dirname(file), path))) return true;
    return path.startsWith('dist/') && this.#ends.has(sourceOf(path));
  }
}
