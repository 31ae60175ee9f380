/**
 * Says what is wrong with a text that the parser refused. The parser stops at the first fault and knows neither column
 * nor, for values, line; this looks at the whole text again, against the schema, and collects every fault it finds.
 */

import { allFieldPaths, fieldsOf, rootMessage, typeText, type Field } from './fields.js';
import { keyOf } from './locate.js';
import { fieldPath, indexPath, keyPath } from './paths.js';
import type { Problem } from './problems.js';
import { scalarFault, shownValue } from './scalar-faults.js';
import { scan, type ScannedField, type ScannedValue } from './scan.js';
import { didYouMean, suggest } from './suggest.js';

/** Enough to mend in one go; the rest is found the next time. */
const mostProblems = 20;

/**
 * The faults of a text that is no configuration, in the order of the text as far as possible.
 *
 * @param text - The file, without a byte order mark.
 * @param parserMessage - What the parser said; used where nothing else is found.
 */
export function diagnose(text: string, parserMessage: string): Problem[] {
  const { fields, fault } = scan(text);
  const problems: Problem[] = [];
  checkFields(rootMessage, '', fields, problems);
  if (fault !== undefined) problems.push({ code: 'INVALID_ARG', path: '', ...fault });
  if (problems.length > 0) return problems;
  const line = Number(/ \(line (\d+)\)$/.exec(parserMessage)?.[1] ?? 0);
  const said = parserMessage.replace(/ \(line \d+\)$/, '').slice(0, 300);
  return [{ code: 'INVALID_ARG', path: '', line, text: said }];
}

function checkFields(
  message: string,
  parent: string,
  written: readonly ScannedField[],
  problems: Problem[],
): void {
  const known = fieldsOf(message);
  const values = new Map<string, number>();
  const members = new Map<string, ScannedField>();
  for (const one of written) {
    if (problems.length >= mostProblems) return;
    const path = fieldPath(parent, one.name.slice(0, 100));
    const add = (text: string, line = one.line, at = path): void => {
      problems.push({ code: 'INVALID_ARG', path: at, line, text });
    };
    const field = known.get(one.name);
    if (field === undefined) {
      add(unknownField(one.name, message));
      continue;
    }
    if (!field.repeated && field.mapKey === undefined) {
      const other = members.get(field.oneof ?? field.name);
      if (other?.name === one.name) add(`written twice (first on line ${other.line}); it takes one value`);
      else if (other) add(`only one of ${other.name} (line ${other.line}) and ${one.name} can be set`);
      else members.set(field.oneof ?? field.name, one);
      if (one.list) add(`takes one ${field.type}, not a list`);
    }
    if (field.kind !== 'message' && field.mapKey === undefined && !one.colon)
      add('a colon is missing after the name');
    for (const value of one.values) {
      const index = values.get(one.name) ?? 0;
      values.set(one.name, index + 1);
      checkValue(field, field.repeated ? indexPath(path, index) : path, value, problems);
    }
  }
}

function checkValue(field: Field, path: string, value: ScannedValue, problems: Problem[]): void {
  const add = (text: string): void => {
    if (problems.length < mostProblems) problems.push({ code: 'INVALID_ARG', path, line: value.line, text });
  };
  if (field.mapKey !== undefined) {
    if (value.fields === undefined) add(`expected { key: … value … } but found ${shownValue(value)}`);
    else checkEntry(field, keyPath(path, keyOf(value)), value.fields, problems);
  } else if (field.kind === 'message') {
    if (value.fields === undefined) add(`expected a block { … } but found ${shownValue(value)}`);
    else checkFields(field.type, path, value.fields, problems);
  } else if (value.fields !== undefined) {
    add(`expected ${typeText({ ...field, repeated: false })} but found a block { … }`);
  } else {
    const fault = scalarFault(field, value);
    if (fault !== undefined) add(fault);
  }
}

/** Checks an entry of a map as the message with a key and a value that it is. */
function checkEntry(field: Field, path: string, written: readonly ScannedField[], problems: Problem[]): void {
  const key: Field = {
    ...field,
    name: 'key',
    kind: 'scalar',
    type: field.mapKey ?? 'string',
    mapKey: undefined,
  };
  const value: Field = { ...field, name: 'value', mapKey: undefined };
  for (const one of written) {
    if (problems.length >= mostProblems) return;
    const part = one.name === 'key' ? key : one.name === 'value' ? value : undefined;
    if (part === undefined) {
      const text = `unknown field ${one.name}: an entry has a key and a value${didYouMean(one.name, ['key', 'value'])}`;
      problems.push({ code: 'INVALID_ARG', path, line: one.line, text });
      continue;
    }
    if (part.kind !== 'message' && !one.colon) {
      problems.push({
        code: 'INVALID_ARG',
        path,
        line: one.line,
        text: `a colon is missing after ${one.name}`,
      });
    }
    for (const written of one.values) checkValue(part, path, written, problems);
  }
}

/** Where an unknown name belongs, if it is known elsewhere or nearly known here. */
export function unknownField(written: string, message: string): string {
  const name = written.slice(0, 100);
  const here = message === rootMessage ? 'a model configuration' : message;
  const near = suggest(name, fieldsOf(message).keys());
  if (near !== undefined) return `unknown field ${name} (did you mean ${near}?)`;
  return `unknown field ${name}: ${here} has no such field${home(name, message)}`;
}

/** Where a field that is misplaced belongs: the nearest to the top of the places that have it. */
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
