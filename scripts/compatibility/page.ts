/** Prints `docs/compatibility.md` from the class table, so that the page always agrees with the code. */

import { differences } from './differences.js';
import { allFieldPaths, typeText } from '../../src/config/schema/fields.js';
import { table as backends } from '../../src/backends/table.generated.js';
import { acceleratorLists } from '../../src/config/support/accelerator-support.js';
import { commonParameters, type ParameterSupport } from '../../src/config/support/parameter-support.js';
import { supportOf } from '../../src/config/support/field-support.js';
import type { Support, SupportClass } from '../../src/config/support/support.js';

const classWords: Readonly<Record<SupportClass, string>> = {
  acted: 'acted on',
  hint: 'hint',
  refused: '**refused**',
};

/** The backends whose models get unequal shapes as one tensor. */
const raggedBackends = backends.flatMap(({ name, rules }) => (rules?.ragged === 'joined' ? [name] : []));

const introduction = `# Compatibility with Triton

<!-- Printed by scripts/write-compatibility.mjs from src/config; do not edit. -->

Triton's model repositories are served unchanged, with the exceptions on this page. Every field of
\`config.pbtxt\` is in one of three classes:

- **acted on**: the field has its effect;
- **hint**: the field is accepted without an effect, and \`model.notes\` says so; results are the same without it;
- **refused**: the load fails with UNSUPPORTED and the field's path and line, because the model would behave differently.

A field that is absent or has its default value is never refused.
`;

/** The text of `docs/compatibility.md`. */
export function compatibilityPage(): string {
  return [
    introduction,
    '## Fields of a configuration\n',
    table(['field', 'type', 'class', 'meaning or reason'], fieldRows()),
    '## Values of `parameters`\n',
    'A key that is not listed is accepted, as in Triton, and noted in `model.notes`.\n',
    table(['backend', 'key', 'class', 'meaning or reason'], parameterRows()),
    '## Execution accelerators\n',
    'Parameters that are not listed are passed to the runtime, which refuses the ones that it does not know.\n',
    table(['backend', 'accelerator', 'class', 'meaning or reason'], acceleratorRows()),
    '## Intended differences from Triton\n',
    table(
      ['Triton', 'here'],
      differences.map(({ triton, here }) => [triton, here]),
    ),
  ].join('\n');
}

function fieldRows(): string[][] {
  return allFieldPaths().flatMap(({ path, field }) => {
    const { row, support } = supportOf(path);
    const text = row === path ? support.text : `as \`${row}\``;
    return [
      [`\`${path}\``, typeText(field), classWords[support.class], text + neutralText(support)],
      ...(row === path ? onCpuRows(support, [`\`${path}\` without a GPU instance`, '']) : []),
      ...withoutLevelsRows(support, path),
      ...(row === path ? othersRows(support, path) : []),
      ...(row === path ? raggedRows(support, path) : []),
      ...Object.entries(support.values ?? {}).map(([value, one]) => [
        `\`${path}\`: \`${value}\``,
        '',
        classWords[one.class],
        one.text,
      ]),
    ];
  });
}

/** A row for a field's support if no instance is on a GPU. */
function onCpuRows({ onCpu }: Support, cells: readonly string[]): string[][] {
  return onCpu === undefined ? [] : [[...cells, classWords[onCpu.class], onCpu.text]];
}

/** A row for a field's support without priority levels. */
function withoutLevelsRows({ withoutLevels }: Support, path: string): string[][] {
  if (withoutLevels === undefined) return [];
  const { class: kind, text } = withoutLevels;
  return [[`\`${path}\` without \`priority_levels\``, '', classWords[kind], text]];
}

/** A row for a field's support with backends other than the one that it is for. */
function othersRows({ only }: Support, path: string): string[][] {
  if (only === undefined) return [];
  return [[`\`${path}\` with another backend`, '', classWords[only.others.class], only.others.text]];
}

/** Rows for the support of a field about unequal shapes with other backends. */
function raggedRows({ ragged }: Support, path: string): string[][] {
  if (ragged === undefined) return [];
  const row = (backends: string, { class: kind, text }: Support): string[] => [
    `\`${path}\` with ${backends}`,
    '',
    classWords[kind],
    text,
  ];
  const { apart, none } = ragged;
  return [
    ...(apart.class === 'acted' ? [] : [row('models in JavaScript or Python', apart)]),
    row(`backends other than ${raggedBackends.join(', ')}, javascript and python`, none),
  ];
}

function neutralText(support: Support): string {
  return support.harmless === undefined ? '' : ' (a value that holds anyway may be written)';
}

function parameterRows(): string[][] {
  const rows = (backend: string, parameters: Readonly<Record<string, ParameterSupport>>): string[][] =>
    Object.entries(parameters).flatMap(([key, support]) => [
      [backend, `\`${key}\``, classWords[support.class], support.text + allowedText(support)],
      ...onCpuRows(support, [backend, `\`${key}\` without a GPU instance`]),
    ]);
  return [
    ...rows('any', commonParameters),
    ...backends.flatMap(({ name, rules }) => rows(name, rules?.parameters ?? {})),
  ];
}

function allowedText({ neutral }: ParameterSupport): string {
  const allowed = neutral.filter((value) => value !== '').map((value) => `\`${value}\``);
  return allowed.length > 0 ? `; ${allowed.join(', ')} may be written` : '';
}

function acceleratorRows(): string[][] {
  return backends.flatMap(({ name: backend, rules }) =>
    acceleratorLists.flatMap((list) =>
      Object.entries(rules?.accelerators?.[list] ?? {}).flatMap(([name, support]) => [
        [backend, `\`${list}\` \`${name}\``, classWords[support.class], support.text],
        ...onCpuRows(support, [backend, `\`${list}\` \`${name}\` without a GPU instance`]),
        ...Object.entries(support.parameters).map(([key, parameter]) => [
          backend,
          `\`${name}\`: \`${key}\``,
          classWords[parameter.class],
          parameter.text + allowedText(parameter),
        ]),
      ]),
    ),
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line), ''].join('\n');
}
