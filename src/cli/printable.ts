/** Text of others (names, paths, messages with either in them) as a terminal may have it. */

/**
 * Control characters: C0 but for the line's end, DEL, C1, and those that turn the direction of writing. A terminal acts on
 * them; a file's name or a model's may hold them.
 */
const control = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Text with control characters as JavaScript writes them, `\u001b`; lines stay lines. What is JSON, or TypeScript, before is
 * that after, with the same meaning.
 */
export function printable(text: string): string {
  return text.replaceAll(control, escape);
}

/** {@link printable} of what must be one line, such as a name. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '\\n');
}
