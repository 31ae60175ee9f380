/** The text of what was thrown. Any value can be thrown, and some have no text: `Object.create(null)`, say. */
export function thrownText(thrown: unknown): string {
  try {
    return thrown instanceof Error ? String(thrown.message) : String(thrown);
  } catch {
    return 'an unreadable value was thrown';
  }
}
