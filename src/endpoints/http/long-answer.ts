/** Answers in JSON of many elements: they are written in slices of the event loop. */

import { atOnce, inSlices, type Sliced } from '../../slices.js';
import { elementCount } from '../../tensor/shape.js';
import type { AnyTensor } from '../../tensor/tensor.js';
import type { Exchange } from './exchange.js';

/** Answers of more elements are written in slices. */
const mostAtOnce = 4096;
/** What an element takes while it is written, roughly: its bytes, and its text. */
const bytesOfElement = 16;

/** What an answer is made of. */
type Outputs = Readonly<Record<string, AnyTensor>>;

function elementsOf(outputs: Outputs, inJson: (name: string) => boolean): number {
  let elements = 0;
  for (const name in outputs) if (inJson(name)) elements += elementCount(outputs[name]?.shape ?? [0]);
  return elements;
}

/** Goes on as long as somebody would hear the answer; then it ends without a result. */
function* whileOpen<T>(exchange: Exchange, work: Sliced<T>): Sliced<T | undefined> {
  while (!exchange.client.gone && !exchange.response.destroyed) {
    const next = work.next();
    if (next.done === true) return next.value;
    yield;
  }
  return undefined;
}

/**
 * Writes an answer.
 *
 * @param inJson - Which outputs are in the JSON, so that they take long.
 * @param done - Gets it; undefined where the client has gone meanwhile.
 * @param failed - Gets what `work` or `done` has thrown, and UNAVAILABLE where clients read too little of their answers.
 */
export function writeAnswer<T>(
  exchange: Exchange,
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
  // While it is written, it counts as what its client has not read.
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
