/** Maps the runtime's many error texts to few reasons. */

type Rule = readonly [pattern: RegExp, reason: (match: RegExpExecArray) => string];

/** The first matching rule counts. */
const rules: readonly Rule[] = [
  [
    /only \*guarantees\* support .* Opset (\d+)/,
    (match) => `opset ${match[1] ?? ''}, which it does not know yet`,
  ],
  [/max supported IR version: (\d+)/, (match) => `a file of an IR version above ${match[1] ?? ''}`],
  [/is not a registered function\/op/, () => 'an operator that it does not know'],
  [/Could not find an implementation for/, () => 'no implementation of an operator for these element types'],
  [
    /Failed to construct locale with name:\s*([\w.-]+)/,
    (match) => `locale ${match[1] ?? ''}, which this machine lacks`,
  ],
  [/Batchwise recurrent operations/, () => 'no recurrent operators with layout 1'],
  [/^Non-zero status code returned while running (\w+)/, (match) => `a run of ${match[1] ?? ''} that fails`],
];

/** A reason short enough to group by; the text itself if no rule matches. */
export function shortReason(text: string): string {
  for (const [pattern, reason] of rules) {
    const match = pattern.exec(text);
    if (match) return reason(match);
  }
  return text;
}
