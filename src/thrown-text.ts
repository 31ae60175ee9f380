/** The text of what was thrown. Any value can be thrown, and some have no text: `Object.create(null)`, say. */
export function thrownText(thrown: unknown): string {
  try {
    // Any value may also be the message of an error.
    const text: unknown = thrown instanceof Error ? thrown.message : thrown;
    return String(text);
  } catch {
    return 'an unreadable value was thrown';
  }
}
