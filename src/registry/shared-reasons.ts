/** Reasons that several models failed for, told once: a runtime that is not installed, a library that cannot be opened. */

/**
 * A message without the model and version that it begins with, so that models which failed for one reason have one text.
 *
 * @param model - Whose message it is.
 */
export function sharedReason(model: string, message: string): string {
  const start = `model '${model}'`;
  return message.startsWith(start)
    ? message.slice(start.length).replace(/^(?:, version \d+)?: /, '')
    : message;
}

/** Models in one line; the others are counted. */
const mostTogether = 8;

/** A line for each model; of those that failed for one reason, one in all. */
export function reasonsText(
  failures: readonly { readonly model?: string | undefined; readonly message: string }[],
): string {
  const byReason = new Map<string, { readonly message: string; readonly models: string[] }>();
  for (const { model = '', message } of failures) {
    const reason = sharedReason(model, message);
    const known = byReason.get(reason);
    if (known) known.models.push(model);
    else byReason.set(reason, { message, models: [model] });
  }
  return [...byReason]
    .map(([reason, { message, models }]) => {
      const more = models.length - mostTogether;
      const names = models.slice(0, mostTogether).join(', ');
      return `  ${names}${more > 0 ? ` and ${more} more` : ''}: ${models.length === 1 ? message : reason}`;
    })
    .join('\n');
}
