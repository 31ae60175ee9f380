/** Finds what a request reads from regions of shared memory, and writes to them. */

import type { DispatchRequest } from '../../dispatch/types.js';
import type { EncodedInputs } from '../../tensor/encoded.js';
import { anyMapped, rangeOf } from '../../tensor/region-arrays.js';
import type { RegionRange } from '../../tensor/region-tensor.js';

/** Ranges by position; undefined where a tensor is in no region. */
export type Ranges = (RegionRange | undefined)[];

/** Where inputs are in regions of a server: those that say so, and callers' arrays. */
function sourcesOf(encoded: EncodedInputs, server: object): Ranges | undefined {
  const { ranges, data, shapes } = encoded;
  const mapped = anyMapped();
  if (ranges === undefined && !mapped) return undefined;
  encoded.ranges = undefined;
  let sources: Ranges | undefined;
  for (let input = 0; input < data.length; input++) {
    const array = data[input];
    const shape = shapes[input];
    if (shape === undefined) continue;
    // An input with an array has no range: that is of a request that a getter of this one's inputs has made.
    let range = array === undefined ? ranges?.[input] : undefined;
    if (array !== undefined && mapped) {
      range = rangeOf(array, server);
      if (range !== undefined) encoded.setElsewhere(input, shape);
    }
    if (range !== undefined) (sources ??= [])[input] = range;
  }
  return sources;
}

/**
 * A request with the regions that it uses: the same object if it uses none.
 *
 * @param encoded - Its inputs. Those in regions lose their data here, and no longer name their ranges.
 * @param server - The connection to the server that the regions are registered with.
 * @param targets - Where its outputs go, if some go to regions.
 */
export function inRegions(
  request: DispatchRequest,
  encoded: EncodedInputs,
  server: object,
  targets?: Ranges,
): DispatchRequest {
  // Most requests of most programs.
  if (targets === undefined && encoded.ranges === undefined && !anyMapped()) return request;
  const sources = sourcesOf(encoded, server);
  if (sources === undefined && targets === undefined) return request;
  return { ...request, regions: { sources: sources ?? [], targets: targets ?? [] } };
}
