// References to classes, members and functions that do not exist.
import { languageOf } from './text.mjs';

const declaration =
  /\b(?:class|interface|type|enum|struct|union|namespace|using(?= \w+ =))\s+(\w+(?:::\w+)*)\b(?!\s*;)/g;
const inFile = /`([\w./-]+\.(?:h|cc|ts))`(?:,|:| *\|)\s+`(?:([A-Z]\w*)(?:::|\.))?(#?\w+)(?:\(\))?`/g;

/** Finds references to classes, members and functions that do not exist, in the prose of one file. */
export class NameReferences {
  /** The words of each file's code. */
  #words = new Map();
  #everywhere = new Set();
  /** The files that declare a type, by its name. Tests may name types as they like. */
  #declaring = new Map();

  /** The repository's files, each with its parts. */
  constructor(files) {
    for (const [name, { code }] of files) {
      const words = new Set(code.match(/\w+/g));
      this.#words.set(name, words);
      for (const word of words) this.#everywhere.add(word);
      if (/^test\//.test(name)) continue;
      for (const [, types] of code.matchAll(declaration))
        for (const type of types.split('::')) {
          const declaring = this.#declaring.get(type);
          if (declaring) declaring.push(name);
          else this.#declaring.set(type, [name]);
        }
    }
  }

  /** The references of a file that lead nowhere, as [place, reference]. */
  stale(file, { prose }) {
    const found = [];
    // A member in C++, in backticks or not.
    for (const match of prose.matchAll(/\b([A-Za-z]\w*)::~?([A-Za-z]\w*)/g))
      if (!this.#hasMember(match[1], match[2], 'c')) found.push([match.index, match[0]]);
    // A member in TypeScript, in backticks or of a link. Triton's messages in other messages have capitals.
    for (const match of prose.matchAll(/(?:`|@link\s)([A-Z]\w*)[.#]([a-z]\w*)(?=[`(}\s|])/g))
      if (!this.#hasMember(match[1], match[2], 'script'))
        found.push([match.index, `${match[1]}.${match[2]}`]);
    if (/^(?:src|native|bench|docs\/architecture\.md)/.test(file))
      for (const match of prose.matchAll(/`([A-Z]?[a-z0-9]+(?:[A-Z][a-z0-9]*)+|[A-Z][a-z0-9]+)(?:\(\))?`/g))
        if (!this.#everywhere.has(match[1])) found.push([match.index, match[1]]);
    // The engine knows no other project, so all names in its comments are its own, also in the plural.
    if (file.startsWith('native/engine/'))
      for (const match of prose.matchAll(/(?<![`\w./])[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+\b/g))
        if (!this.#everywhere.has(match[0]) && !this.#everywhere.has(match[0].replace(/s$/, '')))
          found.push([match.index, match[0]]);
    // A file, and behind it a function or type that is in it.
    for (const match of prose.matchAll(inFile)) {
      const [, path, type, member] = match;
      const lacking = [type, member].find(
        (word) => word !== undefined && !this.#inFile(path, word.replace('#', '')),
      );
      if (lacking !== undefined) found.push([match.index + 1, `${lacking} in ${path}`]);
    }
    return found;
  }

  /** Whether a type has a member. What other projects declare is not asked for. */
  #hasMember(type, member, language) {
    const declaring = this.#declaring.get(type)?.filter((name) => languageOf(name) === language) ?? [];
    if (declaring.length === 0) return this.#everywhere.has(type);
    return declaring.some((name) => this.#words.get(name).has(member));
  }

  /** Whether the code of a file has a word. `path` may lack folders in front. */
  #inFile(path, word) {
    const files = [...this.#words.keys()].filter((name) => name === path || name.endsWith(`/${path}`));
    return files.length === 0 || files.some((name) => this.#words.get(name).has(word));
  }
}
