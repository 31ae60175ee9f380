/** Receives the elements of nested arrays, row by row. Each tensor has its own sink. */

import { BytesWriter } from './bytes.js';
import type { ElementType, Refuse } from './elements.js';
import type { InputPlan } from './plan.js';
import { refusal } from './shape.js';
import type { TypedArray } from './types.js';
import { copyInto, lengthOf, stable, type ViewKind, type WireArray } from './views.js';

/** Takes rows in row-major order. */
export interface ElementSink {
  /** Appends the first `count` elements of an array. */
  appendRow(row: ArrayLike<unknown>, count: number, refuse: Refuse): void;
  /** Appends a whole typed array. Returns false if its class is not accepted. */
  appendView(view: TypedArray, kind: ViewKind, refuse: Refuse): boolean;
  /** The appended elements, in wire layout. */
  finish(): WireArray;
}

class FixedSink implements ElementSink {
  readonly #elements: ElementType;
  readonly #target: WireArray;
  #at = 0;

  constructor(elements: ElementType, target: WireArray) {
    this.#elements = elements;
    this.#target = target;
  }

  appendRow(row: ArrayLike<unknown>, count: number, refuse: Refuse): void {
    this.#elements.writeRow(this.#target, this.#at, row, count, refuse);
    this.#at += count;
  }

  appendView(view: TypedArray, kind: ViewKind, refuse: Refuse): boolean {
    const row = this.#elements.fromView(stable(view, kind), kind, refuse);
    if (row === undefined) return false;
    copyInto(this.#target, row, this.#at);
    this.#at += lengthOf(row);
    return true;
  }

  finish(): WireArray {
    return this.#target;
  }
}

class BytesSink implements ElementSink {
  readonly #writer: BytesWriter;

  constructor(count: number) {
    this.#writer = new BytesWriter(count);
  }

  appendRow(row: ArrayLike<unknown>, count: number, refuse: Refuse): void {
    for (let i = 0; i < count; i++) {
      const value = row[i];
      if (!this.#writer.append(value)) throw refuse(i, value);
    }
  }

  appendView(): boolean {
    return false;
  }

  finish(): WireArray {
    return this.#writer.finish();
  }
}

/** A sink for `count` elements of an input. */
export function createSink(plan: InputPlan, count: number): ElementSink {
  const { elements } = plan;
  if (elements === undefined) return new BytesSink(count);
  let target: WireArray;
  try {
    target = elements.create(count);
  } catch (cause) {
    throw refusal(plan, `no memory for ${count} elements`, cause);
  }
  return new FixedSink(elements, target);
}
