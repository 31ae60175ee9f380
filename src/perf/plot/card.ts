/** A picture of its own: plots on a card with an opaque background, because a dark picture may be shown on a light page. */

import { fixedColours, plotStyle } from './plot-style.js';
import { escape } from './plot.js';

/**
 * The picture as SVG, one file that needs nothing else.
 *
 * @param label - What it shows, for those who cannot see it.
 * @param content - SVG on the card. The classes `title` and `name` are for text in the colour of ink.
 * @param rules - Further rules of the style sheet, with the colours of the palette as variables.
 */
export function card(
  { width, height }: { readonly width: number; readonly height: number },
  label: string,
  content: string,
  rules = '',
): string {
  const sheet = `text { font-family: system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; }
${plotStyle}
.title { fill: var(--ink); font-size: 15px; font-weight: 600; }
.name { fill: var(--ink); font-size: 13px; }
.card { fill: var(--paper); stroke: var(--grid); }
${rules}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(label)}">
<style>
:root { color-scheme: light dark; }
${fixedColours(sheet.trimEnd())}
</style>
<rect class="card" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${content}
</svg>
`;
}
