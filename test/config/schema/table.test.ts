import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import ts from 'typescript';
import { fieldsOf, type Field } from '../../../src/config/schema/fields.js';
import { enumTable, messageTable } from '../../../src/config/schema/table.js';

const typeFiles = ['types.ts', 'types-tensors.ts', 'types-scheduling.ts', 'types-optimization.ts'];

/** The declarations of the type files: interfaces as `name: type` lines, aliases as their text. */
function declarations(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of typeFiles) {
    const text = readFileSync(new URL(`../../../../src/config/schema/${file}`, import.meta.url), 'utf8');
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022);
    for (const statement of source.statements) {
      if (ts.isInterfaceDeclaration(statement)) {
        const lines = statement.members.map((member) => {
          assert.ok(ts.isPropertySignature(member) && member.type);
          const optional = member.questionToken ? '?' : '';
          return `${member.name.getText(source)}${optional}: ${member.type.getText(source)}`;
        });
        found.set(statement.name.text, lines);
      } else if (ts.isTypeAliasDeclaration(statement)) {
        const names = statement.type
          .getText(source)
          .split(/[|\s]+/)
          .filter((part) => part !== '');
        found.set(statement.name.text, names);
      }
    }
  }
  return found;
}

const typeName = (fullName: string): string => fullName.replaceAll('.', '');

function expectedLine(field: Field): string {
  const scalar = field.type === 'string' ? 'string' : field.type === 'bool' ? 'boolean' : 'number';
  const one = field.kind === 'scalar' ? scalar : typeName(field.type);
  if (field.mapKey !== undefined) return `${field.name}: Readonly<Record<string, ${one}>>`;
  if (field.repeated) return `${field.name}: readonly ${one}[]`;
  const optional = field.kind === 'message' || field.oneof !== undefined;
  return optional ? `${field.name}?: ${one} | undefined` : `${field.name}: ${one}`;
}

test('the TypeScript types have exactly the fields of the schema, with their types', () => {
  const found = declarations();
  for (const [message, rows] of Object.entries(messageTable)) {
    if (Object.keys(rows).length === 0) continue;
    const expected = [...fieldsOf(message).values()].map(expectedLine);
    assert.deepEqual(found.get(typeName(message))?.toSorted(), expected.toSorted(), message);
  }
});

test('the TypeScript types of enums have exactly the values of the schema', () => {
  const found = declarations();
  for (const [type, names] of Object.entries(enumTable)) {
    assert.deepEqual(
      found.get(typeName(type)),
      names.map((name) => `'${name}'`),
      type,
    );
  }
});

test('a field number is used once in a message', () => {
  for (const message of Object.keys(messageTable)) {
    const ids = [...fieldsOf(message).values()].map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, message);
  }
});

test('the schema has every message and enum of Triton', () => {
  assert.equal(Object.keys(messageTable).length, 46);
  assert.equal(Object.keys(enumTable).length, 9);
});
