/** Turns the outputs of responses into tensors, from the words and bytes of a page. */

import { outputInRegion } from '../../addon/layout.js';
import type { NativePort } from '../../addon/native/port.js';
import type { MemoryViews } from '../../tensor/memory.js';
import type { TypedArray } from '../../tensor/types.js';
import { allocate } from '../errors/request-errors.js';
import type { DispatchRequest, DispatchTarget, TargetOutput } from '../types.js';

/** The largest offset of an output in a region. An output has at most 4 GiB. */
export const mostInRegion: number = outputInRegion + 1;

/** An output in a response record. */
export interface RecordOutput {
  readonly output: TargetOutput;
  /** Its position among the model's outputs. */
  readonly index: number;
  readonly shape: readonly number[];
  /** Offset in the page of the first response's bytes; `~number` for a large output; see {@link outputInRegion}. */
  readonly offset: number;
  /** Size of the output in each response, in bytes. */
  readonly size: number;
}

/** The position after the records of `count` outputs that begin at `position`. */
export function skipOutputs(words: Int32Array, position: number, count: number): number {
  let end = position;
  for (let i = 0; i < count; i++) end += 4 + (words[end + 3] ?? 0);
  return end;
}

/** Whether any output in the records from `position` to `end` is not in its page. */
export function hasLarge(words: Int32Array, position: number, end: number): boolean {
  for (let at = position; at < end; at += 4 + (words[at + 3] ?? 0)) if ((words[at + 1] ?? 0) < 0) return true;
  return false;
}

/** The outputs in the records from `position` to `end`. */
export function readOutputs(
  words: Int32Array,
  position: number,
  end: number,
  target: DispatchTarget,
): RecordOutput[] {
  const outputs: RecordOutput[] = [];
  for (let at = position; at < end;) {
    const index = (words[at] ?? 0) & 0xffff;
    const output = target.output(index);
    const rank = words[at + 3] ?? 0;
    const shape = output.shape(words, at + 4, rank);
    outputs.push({ output, index, shape, offset: words[at + 1] ?? 0, size: words[at + 2] ?? 0 });
    at += 4 + rank;
  }
  // Backends return outputs in any order; callers get them in the model's order.
  if (outputs.length > 1) outputs.sort((one, other) => one.index - other.index);
  return outputs;
}

/** Copies an output of `size` bytes at `offset` of a page to the caller's array. */
export function cutInto(
  output: TargetOutput,
  shape: readonly number[],
  view: MemoryViews,
  offset: number,
  size: number,
  given: TypedArray,
): unknown {
  const { tensor, memory } = output.into(shape, size, given);
  memory.set(view.Uint8Array.subarray(offset, offset + size));
  return tensor;
}

/** The outputs of one response, some of which have their own memory, or are in regions. */
export function takeOutputs(
  native: NativePort,
  page: number,
  view: MemoryViews,
  outputs: readonly RecordOutput[],
  target: DispatchTarget,
  { ownOutputs, into }: DispatchRequest,
): Record<string, unknown> {
  const values = target.emptyOutputs();
  for (const { output, index, shape, offset, size } of outputs) {
    const given = into?.[index];
    if (offset <= mostInRegion) {
      const byteSize = (offset - outputInRegion) * 2 ** 32 + (size >>> 0);
      // An array that is in the region has the bytes already.
      values[output.name] =
        given === undefined ? output.stored(shape, byteSize) : output.into(shape, byteSize, given).tensor;
    } else if (given === undefined) {
      values[output.name] =
        offset >= 0
          ? output.cut(shape, view, offset, size)
          : output.make(shape, takeLarge(native, page, ~offset, ownOutputs));
    } else if (offset >= 0) {
      values[output.name] = cutInto(output, shape, view, offset, size, given);
    } else {
      const { tensor, memory } = output.into(shape, native.largeBytes(page, ~offset), given);
      native.copyLarge(page, ~offset, memory);
      values[output.name] = tensor;
    }
  }
  return values;
}

function takeLarge(native: NativePort, page: number, number: number, own: boolean): ArrayBuffer {
  const shared = own ? undefined : native.takeLarge(page, number);
  if (shared) return shared;
  const copy = allocate(native.largeBytes(page, number));
  native.copyLarge(page, number, new Uint8Array(copy));
  return copy;
}
