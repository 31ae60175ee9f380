/** The help of `tritonts serve`, and its table in the documents. Both are generated from the table of flags. */

import type { Flag } from './flag.js';
import { flagGroups } from './flags.js';

/** A flag with the placeholder of its value. */
function usage({ name, kind }: Flag): string {
  switch (kind.type) {
    case 'switch':
      return `--${name}`;
    case 'boolean':
      return `--${name}=true|false`;
    case 'integer':
      return `--${name}=<n>`;
    case 'choice':
      return `--${name}=${kind.of.join('|')}`;
    case 'text':
      return `--${name}=<${kind.shows}>`;
  }
}

/** The description of a flag. */
function meaning({ effect, otherwise, repeated, text }: Flag): string {
  switch (effect) {
    case 'used':
      return `${text}${otherwise === undefined ? '' : ` (default ${otherwise})`}${repeated ? '; may be repeated' : ''}`;
    case 'hint':
      return `no effect: ${text}`;
    case 'only':
      return `only ${otherwise ?? ''}: ${text}`;
    case 'refused':
      return `refused: ${text}`;
  }
}

const column = 30;
const width = 100;

/** Wraps text into lines that start at the column. */
function wrapped(text: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && column + line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join(`\n${' '.repeat(column)}`);
}

function row(flag: Flag): string {
  const left = `  ${usage(flag)}`;
  const gap = left.length < column - 1 ? ' '.repeat(column - left.length) : `\n${' '.repeat(column)}`;
  return `${left}${gap}${wrapped(meaning(flag))}`;
}

/** The text that `--help` prints. */
export function helpText(): string {
  const groups = flagGroups.map(({ title, flags }) => `${title}:\n${flags.map(row).join('\n')}`);
  return `Serves model repositories over the network, in place of tritonserver.

Usage: tritonts serve --model-repository=<folder> [flags]

A value stands behind '=' or as the next word.

${groups.join('\n\n')}

It runs until SIGTERM or SIGINT; then it refuses new requests and lets those under way end.

Exit code: 0 after such a signal, 1 when it could not start or a request under way had to be abandoned, 2 for a wrong
command line.`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

/** The table for the documents, in Markdown. */
export function flagTable(): string {
  const rows = (flags: readonly Flag[]): string =>
    flags.map((flag) => `| \`${cell(usage(flag))}\` | ${cell(meaning(flag))} |`).join('\n');
  return flagGroups
    .map(({ title, flags }) => `### ${title}\n\n| flag | what |\n| --- | --- |\n${rows(flags)}`)
    .join('\n\n');
}
