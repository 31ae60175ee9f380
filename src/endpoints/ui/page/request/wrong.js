// What is wrong in a field.

/** The content of a field cannot be sent. Its message begins with what was expected. */
export class Wrong extends Error {}

/** A text as it is told, cut to a length that can be read. */
export const told = (text) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
