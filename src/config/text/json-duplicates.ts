/** Finds members that a JSON text has twice. `JSON.parse` keeps the last one without an error. */

import { fieldPath, indexPath, keyPath } from '../schema/paths.js';

/** A member that is written a second time. */
export interface WrittenTwice {
  /** The member's path in the configuration. */
  readonly path: string;
  /** Whether it is an entry of a tensor map in an ensemble's step. */
  readonly isStepTensor: boolean;
  readonly firstLine: number;
  readonly line: number;
}

/** An object or array that is open at the current position. */
interface Container {
  /** The line of each member; undefined for an array. */
  readonly members: Map<string, number> | undefined;
  /** Whether it is an object whose members are the keys of a map. */
  readonly isMap: boolean;
  /** The name of the current member, and whether it is the key of a map. */
  name: string;
  isKey: boolean;
  /** The index of the current element of an array. */
  index: number;
  /** Whether the next token is a member's name. */
  wantsName: boolean;
}

/** The maximum nesting depth, as in the text form. */
export const deepest = 100;

const stepMap = /^ensemble_?[sS]cheduling\.step\[\d+\]\.(?:input|output)_?[mM]ap$/;
const mapName = /^(?:parameters|properties|(?:input|output)_?[mM]ap|\w*[fF]ilenames|inputs)$/;
const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|\n|[^\s"{}[\],:]+/g;

/** The path of the current value of the innermost of these containers. */
function pathOf(open: readonly Container[]): string {
  return open.reduce((path, { members, isKey, name, index }) => {
    if (members === undefined) return indexPath(path, index);
    return isKey ? keyPath(path, name) : fieldPath(path, name);
  }, '');
}

/**
 * Finds duplicate members in a text that is known to be JSON.
 *
 * @returns Undefined if the text is nested deeper than 100 levels.
 */
export function writtenTwice(text: string, most: number): WrittenTwice[] | undefined {
  const found: WrittenTwice[] = [];
  const open: Container[] = [];
  let line = 1;
  const begin = (isObject: boolean): void => {
    const inside = open.at(-1);
    const isMap = inside?.members !== undefined && !inside.isKey && mapName.test(inside.name);
    const members = isObject ? new Map<string, number>() : undefined;
    open.push({ members, isMap, name: '', isKey: false, index: 0, wantsName: isObject });
  };
  for (const [one] of text.matchAll(token)) {
    const inside = open.at(-1);
    if (one === '\n') line++;
    else if (one === '{' || one === '[') {
      if (open.length >= deepest) return undefined;
      begin(one === '{');
    } else if (one === '}' || one === ']') open.pop();
    else if (inside === undefined) continue;
    else if (one === ',') {
      if (inside.members === undefined) inside.index++;
      else inside.wantsName = true;
    } else if (one.startsWith('"') && inside.wantsName && inside.members !== undefined) {
      // The text was parsed before, so the token is a valid string.
      const name = JSON.parse(one) as string;
      inside.wantsName = false;
      inside.name = name;
      inside.isKey = inside.isMap || !/^\w{1,100}$/.test(name);
      const firstLine = inside.members.get(name);
      inside.members.set(name, firstLine ?? line);
      if (firstLine === undefined || found.length >= most) continue;
      // A path is joined only here: to join that of each member would take quadratic time.
      const isStepTensor = stepMap.test(pathOf(open.slice(0, -1)));
      found.push({ path: pathOf(open), isStepTensor, firstLine, line });
    }
  }
  return found;
}
