/** The difference of two texts, line by line, in the unified form of `diff -u`. */

/** Lines around a change. */
const context = 3;

type Line = readonly [sign: ' ' | '-' | '+', text: string];

/**
 * The difference; empty for equal texts.
 *
 * @param before - Undefined: there was no file.
 */
export function unifiedDiff(file: string, before: string | undefined, after: string): string {
  const lines = linesOf(splitLines(before ?? ''), splitLines(after));
  const hunks: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    if (lines[i]?.[0] === ' ') continue;
    const start = Math.max(0, i - context);
    let end = i + 1;
    // Changes that are near each other are in one hunk.
    for (let same = 0; end < lines.length && same <= 2 * context; end++)
      same = lines[end]?.[0] === ' ' ? same + 1 : 0;
    const trailing = trailingSame(lines.slice(start, end));
    end -= Math.max(0, trailing - context);
    hunks.push(hunk(lines, start, end));
    i = end - 1;
  }
  if (hunks.length === 0) return '';
  return [`--- ${before === undefined ? '/dev/null' : file}`, `+++ ${file}`, ...hunks].join('\n');
}

function trailingSame(lines: readonly Line[]): number {
  const last = lines.findLastIndex(([sign]) => sign !== ' ');
  return lines.length - 1 - last;
}

function hunk(lines: readonly Line[], start: number, end: number): string {
  const count = (list: readonly Line[], without: '-' | '+'): number =>
    list.filter(([sign]) => sign !== without).length;
  const part = lines.slice(start, end);
  const range = (without: '-' | '+'): string => {
    const size = count(part, without);
    const first = count(lines.slice(0, start), without) + (size === 0 ? 0 : 1);
    return size === 1 ? String(first) : `${first},${size}`;
  };
  return [`@@ -${range('+')} +${range('-')} @@`, ...part.map(([sign, text]) => sign + text)].join('\n');
}

/** A file's last line feed ends its last line. A text without one has a mark, as in `diff`. */
function splitLines(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  else lines[lines.length - 1] = `${lines.at(-1) ?? ''}\n\\ No newline at end of file`;
  return lines;
}

/** Both texts by the longest common subsequence of their lines. */
function linesOf(before: readonly string[], after: readonly string[]): Line[] {
  // The ends are mostly equal, and the table between them is small then.
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail++;
  const same = (line: string): Line => [' ', line];
  return [
    ...before.slice(0, head).map(same),
    ...middleOf(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

function middleOf(before: readonly string[], after: readonly string[]): Line[] {
  const width = after.length + 1;
  const longest = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      longest[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, fresh] = [before[i], after[j]];
    if (old !== undefined && old === fresh) {
      lines.push([' ', old]);
      i++;
      j++;
    } else if (old !== undefined && (fresh === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(['-', old]);
      i++;
    } else {
      lines.push(['+', fresh ?? '']);
      j++;
    }
  }
  return lines;
}
