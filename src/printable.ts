/** Makes text from outside safe for a terminal: names, paths, and messages that contain them. */

/**
 * Control characters: C0 except line feeds, DEL, C1, and characters that change the direction of writing. A
 * terminal acts on them, and a file's or model's name may contain them.
 */
const control = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Escapes control characters as JavaScript does, `\u001b`. Line feeds stay. JSON and TypeScript stay valid and
 * keep their meaning.
 */
export function printable(text: string): string {
  return text.replaceAll(control, escape);
}

/** Does the same as {@link printable} for text that must be one line, such as a name. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '\\n');
}
