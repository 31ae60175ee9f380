/** Collects the faults of a text while it is read. */

import { fieldPath, indexPath, keyPath } from '../schema/paths.js';
import type { Field } from '../schema/fields.js';
import { positionIn } from './positions.js';
import { mostCounted, mostListed, type Problem } from './problems.js';

/** A block that is being read. */
export interface Block {
  /** The type of the block's message; undefined for an entry of a map. */
  readonly message: string | undefined;
  /** The mark that ends it; '' for the whole file. */
  readonly close: string;
  /** The token that begins it. */
  readonly at: number;
  /** The enclosing block, and the field in it whose value this block is. */
  readonly outer: Block | undefined;
  readonly field: Field | undefined;
  /** The block's index in a list, or -1. */
  readonly index: number;
  /** The key of an entry, once it is known. */
  key: string;
}

/** The nesting depth of a block: the number of open blocks, including itself and the file. */
export function depthOf(inside: Block): number {
  let depth = 0;
  for (let one: Block | undefined = inside; one !== undefined; one = one.outer) depth++;
  return depth;
}

/** A fault whose path is not known yet: the key of an entry may come after its value. */
interface Fault {
  readonly inside: Block | undefined;
  /** The field in the block; '' for the block itself. */
  readonly name: string;
  readonly index: number;
  /** The token at which the fault is. */
  readonly at: number;
  readonly text: string;
}

/** Stops reading a text that has too many faults. */
export class EnoughFaults extends Error {}

/** See the head of this file. */
export class Faults {
  readonly #faults: Fault[] = [];

  /**
   * Adds a fault.
   *
   * @param inside - The block that contains the fault; undefined if unknown.
   * @param name - The field in the block; '' for the block itself.
   * @param index - The index in the field's list, or -1.
   * @param at - The token at which the fault is.
   * @param text - Returns the message. Called only if the fault will be listed.
   * @throws {EnoughFaults} At the last fault that is counted.
   */
  add(inside: Block | undefined, name: string, index: number, at: number, text: () => string): void {
    const listed = this.#faults.length < mostListed;
    this.#faults.push({ inside, name, index, at, text: listed ? text() : '' });
    if (this.#faults.length >= mostCounted) throw new EnoughFaults();
  }

  /**
   * The problems, in the order of the text.
   *
   * @param offsetOf - Returns the offset of a token.
   */
  problems(text: string, offsetOf: (token: number) => number): Problem[] {
    return this.#faults.map((fault, index) =>
      index < mostListed
        ? {
            code: 'INVALID_ARG',
            path: pathOfFault(fault),
            line: positionIn(text, offsetOf(fault.at)).line,
            text: fault.text,
          }
        : { code: 'INVALID_ARG', path: '', text: '' },
    );
  }
}

function pathOfFault({ inside, name, index }: Fault): string {
  const path = name === '' ? pathOf(inside) : fieldPath(pathOf(inside), name.slice(0, 100));
  return index < 0 ? path : indexPath(path, index);
}

/** The path of a block. */
export function pathOf(inside: Block | undefined): string {
  if (inside?.field === undefined) return '';
  const { outer, field, index, key, message } = inside;
  // The value of an entry has the entry's path.
  if (outer?.message === undefined) return pathOf(outer);
  const path = fieldPath(pathOf(outer), field.name);
  if (message === undefined) return keyPath(path, key);
  return index < 0 ? path : indexPath(path, index);
}
