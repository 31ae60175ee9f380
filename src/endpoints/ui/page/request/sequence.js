// The controls of a sequence.

import { labelled, make } from '../dom.js';
import { guarded } from './guarded.js';
import { told, Wrong } from './wrong.js';

const mostId = 2n ** 64n - 1n;

/** An id as JSON: digits are a number, other text is text. */
function idOf(text) {
  const what = `a whole number from 1 to ${mostId}, or a text, for the id`;
  if (text === '') throw new Wrong(`expected ${what}`);
  if (!/^\d+$/.test(text)) return JSON.stringify(text);
  const id = BigInt(text);
  if (id < 1n || id > mostId) throw new Wrong(`expected ${what} but received ${told(text)}`);
  return String(id);
}

/**
 * Makes the controls of a sequence.
 *
 * @returns `read` gives parameters as names and JSON; undefined after it has said what is wrong. `answered` prepares the next request.
 */
export function sequenceField() {
  const id = make('input', { value: '1', autocomplete: 'off', spellcheck: false });
  const start = make('input', { type: 'checkbox', checked: true });
  const end = make('input', { type: 'checkbox' });
  const { element, attempt } = guarded(
    'Sequence',
    labelled('Id of the sequence', id),
    labelled('Start the sequence', start),
    labelled('End the sequence', end),
  );
  return {
    element,
    read: () =>
      attempt(() => [
        ['sequence_id', idOf(id.value.trim())],
        ['sequence_start', String(start.checked)],
        ['sequence_end', String(end.checked)],
      ]),
    answered() {
      start.checked = end.checked;
      end.checked = false;
    },
  };
}
