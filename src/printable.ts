/** Makes foreign text safe for a terminal: names, paths, and messages that contain them. */

/**
 * Control characters: C0 except for line feeds, DEL, C1, and those that change the direction of writing. A
 * terminal acts on them, and the name of a file or model may contain them.
 */
const control = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Text whose control characters are escaped as in JavaScript, `\u001b`. Lines stay lines. JSON and TypeScript
 * stay valid and keep their meaning.
 */
export function printable(text: string): string {
  return text.replaceAll(control, escape);
}

/** {@link printable} for text that must be one line, such as a name. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '\\n');
}
