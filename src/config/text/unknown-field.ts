/** Messages about unknown fields. */

import { allFieldPaths, fieldsOf, rootMessage } from '../schema/fields.js';
import { suggest } from '../../suggest.js';

/**
 * The message about an unknown name. It says where the field belongs if it exists elsewhere, or which similar
 * name exists here.
 */
export function unknownField(written: string, message: string): string {
  const name = written.slice(0, 100);
  const here = message === rootMessage ? 'a model configuration' : message;
  const near = suggest(name, fieldsOf(message).keys());
  if (near !== undefined) return `unknown field ${name} (did you mean ${near}?)`;
  return `unknown field ${name}: ${here} has no such field${home(name, message)}`;
}

/** Where a misplaced field belongs. If several messages have it, the one nearest to the root is named. */
function home(name: string, message: string): string {
  if (message !== rootMessage && fieldsOf(rootMessage).has(name)) {
    return ' (it belongs at the top level; is a } missing before it?)';
  }
  const depth = (path: string): number => path.split('.').length;
  const [nearest] = allFieldPaths()
    .filter(({ path }) => path.endsWith(`.${name}`))
    .sort((a, b) => depth(a.path) - depth(b.path));
  return nearest === undefined ? '' : ` (it belongs in ${nearest.path.slice(0, -name.length - 1)})`;
}
