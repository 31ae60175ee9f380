/** The flags in a command's help, and in the documents. Both are generated from the table of flags. */

import type { Flag, FlagGroup } from './flag.js';

/** A flag with the placeholder of its value. */
function usage({ name, letter, kind }: Flag): string {
  const flag = letter === undefined ? `--${name}` : `-${letter}, --${name}`;
  switch (kind.type) {
    case 'switch':
      return flag;
    case 'boolean':
      return `${flag}=true|false`;
    case 'integer':
      return `${flag}=<n>`;
    case 'choice':
      return `${flag}=${kind.of.join('|')}`;
    case 'number':
    case 'text':
      return `${flag}=<${kind.shows}>`;
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

/** The flags in a command's help. */
export function flagsText(groups: readonly FlagGroup[]): string {
  return groups.map(({ title, flags }) => `${title}:\n${flags.map(row).join('\n')}`).join('\n\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

/** The table for the documents, in Markdown. */
export function tableOf(groups: readonly FlagGroup[]): string {
  const rows = (flags: readonly Flag[]): string =>
    flags.map((flag) => `| \`${cell(usage(flag))}\` | ${cell(meaning(flag))} |`).join('\n');
  return groups
    .map(({ title, flags }) => `### ${title}\n\n| flag | what |\n| --- | --- |\n${rows(flags)}`)
    .join('\n\n');
}
