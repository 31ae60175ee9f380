/** Writes long answers in JSON in slices of the event loop. */

import { atOnce, inSlices, type Sliced } from '../../slices.js';
import { StoredTensor } from '../../tensor/region-tensor.js';
import { elementCount } from '../../tensor/shape.js';
import type { AnyTensor } from '../../tensor/tensor.js';
import type { InferExchange } from './infer-exchange.js';

/** Answers of more elements are written in slices. */
const mostAtOnce = 4096;
/** Rough memory of an element while it is written: its bytes, and its text. */
const bytesOfElement = 16;

/** The outputs of an answer. */
type Outputs = Readonly<Record<string, AnyTensor>>;

function elementsOf(outputs: Outputs, inJson: (name: string) => boolean): number {
  let elements = 0;
  for (const name in outputs) {
    const tensor: unknown = outputs[name];
    // The elements of a stored one are not written.
    if (inJson(name) && !(tensor instanceof StoredTensor))
      elements += elementCount(outputs[name]?.shape ?? [0]);
  }
  return elements;
}

/** Runs `work` while the client is connected; otherwise ends without a result. */
function* whileOpen<T>(exchange: InferExchange, work: Sliced<T>): Sliced<T | undefined> {
  while (!exchange.gone) {
    const next = work.next();
    if (next.done === true) return next.value;
    yield;
  }
  return undefined;
}

/**
 * Writes an answer.
 *
 * @param inJson - Whether an output is in the JSON, which takes long to write.
 * @param done - Gets the answer; undefined if the client left meanwhile.
 * @param failed - Gets an error that `work` or `done` throws, and UNAVAILABLE if clients read their answers too
 *   slowly.
 */
export function writeAnswer<T>(
  exchange: InferExchange,
  outputs: Outputs,
  inJson: (name: string) => boolean,
  work: Sliced<T>,
  done: (written: T | undefined) => void,
  failed: (error: unknown) => void,
): void {
  const finish = (written: T | undefined): void => {
    try {
      done(written);
    } catch (error) {
      failed(error);
    }
  };
  const elements = elementsOf(outputs, inJson);
  if (elements <= mostAtOnce) {
    let written: T;
    try {
      written = atOnce(work);
    } catch (error) {
      failed(error);
      return;
    }
    finish(written);
    return;
  }
  // An answer that is being written counts as unread by its client.
  const refusal = exchange.refusal();
  if (refusal !== undefined) {
    failed(refusal);
    return;
  }
  const held = elements * bytesOfElement;
  exchange.wrote(held);
  inSlices(
    whileOpen(exchange, work),
    (written) => {
      exchange.left(held);
      finish(written);
    },
    (error) => {
      exchange.left(held);
      failed(error);
    },
  );
}
