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
  readonly path: string;
  /** The line of each member; undefined for an array. */
  readonly members: Map<string, number> | undefined;
  /** The path of the next value. */
  next: string;
  index: number;
  /** Whether the next token is a member's name. */
  wantsName: boolean;
}

const stepMap = /^ensemble_?[sS]cheduling\.step\[\d+\]\.(?:input|output)_?[mM]ap$/;
const anyMap = /(?:^|\.)(?:parameters|properties|(?:input|output)_?[mM]ap|\w*[fF]ilenames|inputs)$/;
const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|\n|[^\s"{}[\],:]+/g;

/** Finds duplicate members in a text that is known to be JSON. */
export function writtenTwice(text: string, most: number): WrittenTwice[] {
  const found: WrittenTwice[] = [];
  const open: Container[] = [];
  let line = 1;
  const begin = (isObject: boolean): void => {
    const path = open.at(-1)?.next ?? '';
    const members = isObject ? new Map<string, number>() : undefined;
    open.push({ path, members, next: isObject ? path : indexPath(path, 0), index: 0, wantsName: isObject });
  };
  for (const [one] of text.matchAll(token)) {
    const inside = open.at(-1);
    if (one === '\n') line++;
    else if (one === '{' || one === '[') begin(one === '{');
    else if (one === '}' || one === ']') open.pop();
    else if (inside === undefined) continue;
    else if (one === ',') {
      if (inside.members === undefined) inside.next = indexPath(inside.path, ++inside.index);
      else inside.wantsName = true;
    } else if (one.startsWith('"') && inside.wantsName && inside.members !== undefined) {
      // The text was parsed before, so the token is a valid string.
      const name = JSON.parse(one) as string;
      inside.wantsName = false;
      const isMap = anyMap.test(inside.path) || !/^\w{1,100}$/.test(name);
      inside.next = isMap ? keyPath(inside.path, name) : fieldPath(inside.path, name);
      const firstLine = inside.members.get(name);
      inside.members.set(name, firstLine ?? line);
      if (firstLine === undefined || found.length >= most) continue;
      found.push({ path: inside.next, isStepTensor: stepMap.test(inside.path), firstLine, line });
    }
  }
  return found;
}
