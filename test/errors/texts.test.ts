/**
 * The words of the texts that users read: errors, warnings, log lines and help of src/ and python/. Each text names its
 * subject first, by the noun of the field. The rule can be checked only by words that have broken it before.
 */

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { root } from '../support/project.js';

/** Words that stand in place of a noun or of the usual verb, with what to write. */
const unclear: readonly (readonly [words: RegExp, instead: string])[] = [
  [/\bwhat (cannot|may|must)\b/, 'the noun'],
  [/\b(of no kind|that which|those which|such that may)\b/, 'the noun'],
  [/\b(whoever|whatever|somebody|nobody|anybody)\b/, 'the noun: the client, the server, the model'],
  [/(?<!there )\b(is|are) no (?!longer )[a-z]/, '"is not a"'],
  [/\b(anew|let go|given away)\b/, 'the transition: "is restarted", "is released"'],
  [/\bwhich (its|their) \w+ (has|have) not\b/, '"which does not match"'],
  [/\b(is|are|was|were) (asked for|waited for|said to)\b/, '"requested", "awaited", "has"'],
  [/\bused up\b/, '"exhausted"'],
];

/** A verb at the beginning of a whole message: its subject is missing. */
const withoutSubject =
  /^(is|are|was|were|has|have|had|cannot|could|must|may|might|does|did|will|would|being|having)\b/;

/** The functions that take a whole message, with the position of the message among their arguments. */
const makers: ReadonlyMap<string, number> = new Map([
  ['TritonError', 1],
  ['invalidArgument', 0],
  ['unavailable', 1],
  ['RpcError', 1],
]);

interface Text {
  readonly line: number;
  readonly text: string;
  /** Whether the text begins a message. */
  readonly isWhole: boolean;
}

/** The texts of a TypeScript file that have several words. A placeholder is written as `…`. */
function textsOf(source: string): Text[] {
  const file = ts.createSourceFile('texts.ts', source, ts.ScriptTarget.Latest, true);
  const found: Text[] = [];
  const textOf = (node: ts.Node): string | undefined => {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
    if (!ts.isTemplateExpression(node)) return undefined;
    return node.templateSpans.reduce((text, span) => `${text}…${span.literal.text}`, node.head.text);
  };
  const isWhole = (node: ts.Node): boolean => {
    const { parent } = node;
    if (!ts.isNewExpression(parent) && !ts.isCallExpression(parent)) return false;
    const position = makers.get(parent.expression.getText(file));
    return position !== undefined && parent.arguments?.[position] === node;
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return;
    const text = textOf(node);
    if (text?.includes(' ') === true) {
      const line = file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
      found.push({ line, text, isWhole: isWhole(node) });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** The same of a Python file, without its documentation. */
function pythonTextsOf(source: string): Text[] {
  const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');
  const code = source.replaceAll(/"""[\s\S]*?"""/g, blank).replaceAll(/^\s*#.*$/gm, blank);
  return [...code.matchAll(/"((?:[^"\\\n]|\\.)*)"/g)]
    .map((found) => ({ line: code.slice(0, found.index).split('\n').length, text: found[1] ?? '' }))
    .filter(({ text }) => text.includes(' '))
    .map((one) => ({ ...one, isWhole: false }));
}

/** What is wrong with texts, one line each. */
function faultsOf(place: string, texts: readonly Text[]): string[] {
  return texts.flatMap(({ line, text, isWhole }) => {
    const faults = unclear.filter(([words]) => words.test(text)).map(([, instead]) => `write ${instead}`);
    if (isWhole && withoutSubject.test(text)) faults.push('begin with the subject');
    return faults.map((fault) => `${place}:${line}: ${fault}: ${text}`);
  });
}

async function* filesOf(folder: string, end: string): AsyncGenerator<string> {
  for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.name.endsWith(end)) yield join(entry.parentPath, entry.name);
}

test('texts for users name their subject, and no pronoun stands for it', async () => {
  const faults: string[] = [];
  let seen = 0;
  for (const [folder, end, read] of [
    ['src', '.ts', textsOf],
    ['python', '.py', pythonTextsOf],
  ] as const) {
    for await (const file of filesOf(folder, end)) {
      const texts = read(await readFile(file, 'utf8'));
      seen += texts.length;
      faults.push(...faultsOf(relative(root, file), texts));
    }
  }
  assert.ok(seen > 1000, `only ${seen} texts were found`);
  assert.deepEqual(faults, []);
});

test('a text that breaks the rule is found, with its line', () => {
  const source = [
    "throw new TritonError('INTERNAL', 'has sent a line that is too long');",
    'log.warn(`model ${name}: its process has sent what cannot be: ${reason}`);',
    "const fine = 'is damaged: the file is cut off';",
  ].join('\n');
  assert.deepEqual(
    faultsOf('f.ts', textsOf(source)).map((fault) => fault.split(': ', 2).join(': ')),
    ['f.ts:1: begin with the subject', 'f.ts:2: write the noun'],
  );
  const python = 'raise E("a capsule that nobody has taken")\n"""What nobody may read."""\n';
  assert.deepEqual(
    faultsOf('f.py', pythonTextsOf(python)).map((fault) => fault.slice(0, 7)),
    ['f.py:1:'],
  );
});
