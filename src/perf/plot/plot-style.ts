/** Style sheets of the plots, for the page and for a picture of its own: in light and in dark. */

const light = {
  paper: '#fff',
  ink: '#1b1f24',
  pale: '#57606a',
  grid: '#d8dee4',
  card: '#f6f8fa',
  ours: '#0b57d0',
  off: '#0b57d0',
  direct: '#b3261e',
  hand: '#9a5b00',
  piscina: '#146c2e',
  bare: '#57606a',
} as const;

type Colours = Readonly<Record<keyof typeof light, string>>;

const dark: Colours = {
  paper: '#0d1117',
  ink: '#e6edf3',
  pale: '#9198a1',
  grid: '#2a313c',
  card: '#151b23',
  ours: '#7cacf8',
  off: '#7cacf8',
  direct: '#ff8983',
  hand: '#f2b04b',
  piscina: '#6dd58c',
  bare: '#9198a1',
};

function variables(colours: Colours): string {
  return Object.entries(colours)
    .map(([name, colour]) => `--${name}: ${colour};`)
    .join(' ');
}

/** The colours, as variables of the document. */
export const palette: string = `:root { color-scheme: light dark; ${variables(light)} }
@media (prefers-color-scheme: dark) { :root { ${variables(dark)} } }`;

/**
 * Rules with the colours in the places of their variables: light ones, and then dark ones in a media query. Viewers of
 * SVG that are no browsers, such as librsvg and Inkscape, know neither variables nor media queries, and would draw all in black.
 *
 * @param rules - Rules without nesting. Colours are `var(--name)` of {@link palette}.
 */
export function fixedColours(rules: string): string {
  const dim = [...rules.matchAll(/([^{}]+)\{([^{}]*)\}/g)].flatMap(([, selector = '', body = '']) => {
    const coloured = body.split(';').filter((one) => one.includes('var('));
    return coloured.length === 0 ? [] : [`  ${selector.trim()} {${coloured.join(';')}; }`];
  });
  return `${filled(rules, light)}
@media (prefers-color-scheme: dark) {
${filled(dim.join('\n'), dark)}
}`;
}

function filled(rules: string, colours: Colours): string {
  const known: ReadonlyMap<string, string> = new Map(Object.entries(colours));
  return rules.replace(/var\(--([a-z]+)\)/g, (_, name: string) => {
    const colour = known.get(name);
    if (colour === undefined) throw new RangeError(`the palette has no colour '${name}'`);
    return colour;
  });
}

/** Axes, words and lines of a plot. */
export const plotStyle = `text { fill: var(--pale); font-size: 12px; }
.label { fill: var(--ink); font-size: 13px; }
.grid { stroke: var(--grid); }
.axis, .mark { stroke: var(--pale); }
.series { color: var(--bare); }
.series path { fill: none; stroke: currentColor; stroke-linejoin: round; stroke-width: 2; }
.series line { stroke: currentColor; opacity: 0.5; }
.series circle { fill: currentColor; }
.ours { color: var(--ours); } .ours path { stroke-width: 3; }
.off { color: var(--off); } .off path { stroke-dasharray: 7 4; }
.direct { color: var(--direct); } .direct path { stroke-dasharray: 2 3; }
.hand { color: var(--hand); } .hand path { stroke-dasharray: 10 3 2 3; }
.piscina { color: var(--piscina); } .piscina path { stroke-dasharray: 4 2; }
.bare { color: var(--bare); } .bare path { stroke-width: 1.5; }`;
