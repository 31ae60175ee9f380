/** Results of models that have parameters besides outputs. */

import { encodeParameter } from '../../addon/parameter-words.js';
import type { ParameterizedResult } from '../../api/model-request.js';
import { isKeyed } from '../../keyless.js';
import { describe, quote } from '../../tensor/describe.js';

/** Bytes of the parameters of a response at most; also in `native/engine/request/response_parameters.h`. */
const mostBytes: number = 64 << 10;

/** A result that stands for outputs and parameters. */
export class WithParameters implements ParameterizedResult {
  readonly outputs: object;
  /** The parameters as words. */
  readonly words: Int32Array;

  /** @throws A TypeError that says which parameter is wrong. */
  constructor(model: string, outputs: object, parameters: unknown) {
    this.outputs = outputs;
    this.words = wordsOf(model, parameters);
  }
}

function wordsOf(model: string, parameters: unknown): Int32Array {
  if (!isKeyed(parameters)) {
    const what = 'an object of strings, numbers and booleans';
    throw new TypeError(
      `model ${quote(model)}: expected ${what} as parameters but got ${describe(parameters)}`,
    );
  }
  const encoded: Int32Array[] = [];
  let size = 0;
  for (const [name, value] of Object.entries(parameters) as [string, unknown][]) {
    if (value === undefined) continue;
    if (name.includes('\0')) {
      throw new TypeError(
        `model ${quote(model)}: expected names of parameters without a zero character but got ${quote(name)}`,
      );
    }
    const words = encodeParameter(name, value);
    if (words === undefined) {
      const what = 'a string, a number, a boolean or a bigint of 64 bits';
      throw new TypeError(
        `model ${quote(model)}: expected ${what} for the parameter ${quote(name)} but got ${describe(value)}`,
      );
    }
    encoded.push(words);
    size += words.length;
  }
  if (4 * size > mostBytes) {
    throw new TypeError(
      `model ${quote(model)}: expected at most ${mostBytes} bytes for the parameters of a response but got ${4 * size}`,
    );
  }
  const all = new Int32Array(size);
  let at = 0;
  for (const words of encoded) {
    all.set(words, at);
    at += words.length;
  }
  return all;
}
