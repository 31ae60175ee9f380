/**
 * Groups models that failed for one reason, such as a missing runtime, so that messages give the reason once.
 */

/**
 * A message without the model and version that it begins with. Models that failed for one reason then have
 * equal texts.
 *
 * @param model - The model that the message is about.
 */
export function sharedReason(model: string, message: string): string {
  const start = `model '${model}'`;
  return message.startsWith(start)
    ? message.slice(start.length).replace(/^(?:, version \d+)?: /, '')
    : message;
}

/** How many models a line lists. The others are counted. */
const mostTogether = 8;

/** A line for each model, and one line for all models that failed for the same reason. */
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
