/** Checks the sequence of a request. */

import { checkKeys, show } from '../../argument-checks.js';
import { invalidArgument, TritonError } from '../../errors.js';
import { isKeyed } from '../../keyless.js';
import type { RequestSequence } from '../../api/request-sequence.js';
import { mostIdBytes } from '../../dispatch/requests/marks.js';
import type { SequenceMark } from '../../dispatch/types.js';

const mostNumber = 2n ** 64n - 1n;

const keys: readonly (keyof RequestSequence)[] = ['id', 'start', 'end'];

/**
 * Checks a correlation id.
 *
 * @param path - Names it in messages.
 * @returns The id; 0n for 0 and the empty text, which are no id.
 * @throws {@link TritonError} INVALID_ARG for anything that is no id, UNSUPPORTED, as in Triton, for a text that is
 *   too long.
 */
export function checkSequenceId(model: string, path: string, id: unknown): bigint | string {
  if (typeof id === 'string') {
    const bytes = Buffer.byteLength(id);
    // Different texts that are no UTF-16 would become the same UTF-8.
    if (Buffer.from(id).toString() !== id) {
      const text = `model '${model}': expected well-formed text for ${path} but received half of a surrogate pair`;
      throw invalidArgument(text, { model });
    }
    if (bytes <= mostIdBytes) return id === '' ? 0n : id;
    const message = `model '${model}': expected at most ${mostIdBytes} bytes of UTF-8 for ${path} but received ${bytes}`;
    throw new TritonError('UNSUPPORTED', message, { model });
  }
  if (typeof id === 'number' && Number.isSafeInteger(id) && id >= 0) return BigInt(id);
  if (typeof id === 'bigint' && id >= 0n && id <= mostNumber) return id;
  throw invalidArgument(
    `model '${model}': expected an integer from 0 to 2^53 - 1, a bigint from 0 to 2^64 - 1 or a string for ${path} but received ${show(id)}`,
    { model },
  );
}

/**
 * Checks the option `sequence`.
 *
 * @returns Undefined if it has neither an id nor flags.
 * @throws {@link TritonError} As {@link checkSequenceId}; INVALID_ARG for wrong flags and keys.
 */
export function checkSequence(model: string, given: unknown): SequenceMark | undefined {
  if (!isKeyed(given)) {
    throw invalidArgument(
      `model '${model}': expected an object with an id for options.sequence but received ${show(given)}`,
      { model },
    );
  }
  checkKeys(given, keys, `options.sequence of model '${model}'`);
  const sequence = given as Readonly<Partial<Record<keyof RequestSequence, unknown>>>;
  const id = checkSequenceId(model, 'options.sequence.id', sequence.id);
  const start = checkFlag(model, 'start', sequence.start);
  const end = checkFlag(model, 'end', sequence.end);
  return id === 0n && !start && !end ? undefined : { id, start, end };
}

function checkFlag(model: string, name: string, value: unknown): boolean {
  const flag = value ?? false;
  if (typeof flag === 'boolean') return flag;
  throw invalidArgument(
    `model '${model}': expected true or false for options.sequence.${name} but received ${show(flag)}`,
    { model },
  );
}
