/** Limits what the template of a chat sees. */

import { invalidArgument } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import { scanJson } from '../http/json-scan.js';

/**
 * The most values of a chat: messages, parts of their content, tools and their calls, and all that is in them. Each is
 * copied into the process of templates. A long chat with many tools has some thousands.
 */
const mostValues = 1 << 16;

/** See the head of this file. Each chat has its own. */
export class TemplateValues {
  /** Values of the arguments that were read so far. */
  #parsed = 0;

  /**
   * Reads the arguments of a call. They are JSON in a string, which the scan of the body has not looked into.
   *
   * @throws {@link TritonError} INVALID_ARG for a text that is not JSON, is nested too deep, or has too many values.
   */
  arguments(path: string, text: string): unknown {
    try {
      this.#parsed += scanJson(Buffer.from(text)).parts;
      this.#check(this.#parsed);
      return JSON.parse(text);
    } catch (error) {
      throw invalidArgument(`expected JSON for '${path}': ${thrownText(error)}`);
    }
  }

  /**
   * Checks all values of a chat.
   *
   * @throws {@link TritonError} INVALID_ARG for too many.
   */
  check(values: unknown): void {
    let count = 0;
    const visit = (value: unknown): void => {
      this.#check(++count);
      // The scans have bounded the depth.
      if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) visit(one);
    };
    visit(values);
  }

  #check(count: number): void {
    if (count <= mostValues) return;
    throw invalidArgument(`the messages and tools have more values than the limit of ${mostValues}`);
  }
}
