// Lists of elements as text.

import { told, Wrong } from './wrong.js';

/**
 * The elements of a list, which may be nested: the values of JSON, and NaN and Infinity.
 *
 * @throws {Wrong} For brackets or commas that are not those of a list.
 */
export function elementsOf(text) {
  const found = [];
  let depth = 0;
  /** What came before: nothing or an open bracket, a comma, an element or a closed list. */
  let last = 'begin';
  for (const [sign] of text.matchAll(/[[\],]|[^\s[\],]+/g)) {
    if (sign === ',' || sign === ']') {
      if (last === 'comma' || (last === 'begin' && sign === ','))
        throw new Wrong(`expected an element before '${sign}', behind ${found.length} elements`);
      if (sign === ']' && --depth < 0) throw new Wrong("expected a '[' for each ']'");
      last = sign === ',' ? 'comma' : 'element';
    } else {
      if (last === 'element')
        throw new Wrong(`expected a comma before ${told(sign)}, behind ${found.length} elements`);
      if (sign === '[') depth++;
      else found.push(sign);
      last = sign === '[' ? 'begin' : 'element';
    }
  }
  if (depth > 0) throw new Wrong("expected a ']' for each '['");
  if (last === 'comma') throw new Wrong('expected an element behind the last comma');
  return found;
}
