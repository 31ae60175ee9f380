/** Copies of the inputs of requests that wait for their model to be loaded: the caller may change its own meanwhile. */

import type { EngineConnection } from '../../dispatch/engine-connection.js';
import type { Inputs } from '../../tensor/inputs.js';
import { anyMapped, rangeOf } from '../../tensor/region-arrays.js';
import { RegionTensor, StoredTensor } from '../../tensor/region-tensor.js';

/** Inputs that belong to nobody else. */
export interface KeptInputs {
  readonly inputs: Inputs;
  /** The size of what was copied. */
  readonly bytes: number;
}

/** The most levels of nested arrays and objects; deeper ones are refused later, by the model. */
const mostLevels = 40;
/** What a tensor may have. */
const tensorMembers = ['data', 'shape', 'dims', 'datatype', 'type', 'location'];
/** The method of all typed arrays. `Buffer` has one of the same name that copies nothing. */
// eslint-disable-next-line @typescript-eslint/unbound-method -- called with an array
const { slice } = Uint8Array.prototype;
/** What an element of an array that is no typed array counts. */
const elementBytes = 8;

/**
 * Copies inputs. What no model takes stays as it is, and is refused when the model is loaded.
 *
 * @param connection - Arrays in its regions are not copied: requests read these in place.
 * @throws What the caller's getters throw.
 */
export function keepInputs(inputs: Inputs, connection: EngineConnection): KeptInputs {
  let bytes = 0;
  const copy = (value: unknown, level: number): unknown => {
    if (typeof value === 'string') {
      bytes += value.length;
      return value;
    }
    if (typeof value !== 'object' || value === null || level > mostLevels) {
      bytes += elementBytes;
      return value;
    }
    if (ArrayBuffer.isView(value)) {
      if (value instanceof DataView) return value;
      // All other views are typed arrays.
      const array = value as Uint8Array;
      if (anyMapped() && rangeOf(array, connection) !== undefined) return array;
      bytes += array.byteLength;
      // One that was detached has no elements either, and the model refuses it.
      return array.length === 0 ? array : slice.call(array);
    }
    if (Array.isArray(value)) return value.map((one: unknown) => copy(one, level + 1));
    // They name memory of the server, which is read in place.
    if (value instanceof RegionTensor || value instanceof StoredTensor) return value;
    const prototype: unknown = Object.getPrototypeOf(value);
    if (level > 0 && prototype !== Object.prototype && prototype !== null) {
      // An output, or a tensor of ONNX Runtime: its members are accessors of its class.
      const members = tensorMembers.filter((key) => key in value);
      // No tensor, such as a Map: the model refuses it.
      if (members.length === 0) return value;
      // Each key was found in it.
      const read = value as Readonly<Record<string, unknown>>;
      return Object.fromEntries(members.map((key) => [key, copy(read[key], level + 1)]));
    }
    const members = Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, copy(one, level + 1)]),
    );
    // At the top it may be of a class of the caller, with accessors for inputs.
    if (prototype === Object.prototype || prototype === null) return members;
    const named = Object.create(prototype as object, Object.getOwnPropertyDescriptors(members)) as unknown;
    return named;
  };
  // The copy has the same keys, with members of the same kinds.
  return { inputs: copy(inputs, 0) as Inputs, bytes };
}
