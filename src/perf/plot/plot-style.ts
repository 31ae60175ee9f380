/** Style sheets of the plots, for the page and for a picture of its own: in light and in dark. */

/** The colours, as variables of the document. */
export const palette = `:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --pale: #57606a; --grid: #d8dee4; --card: #f6f8fa;
  --ours: #0b57d0; --off: #0b57d0; --direct: #b3261e; --hand: #9a5b00; --piscina: #146c2e; --bare: #57606a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #0d1117; --ink: #e6edf3; --pale: #9198a1; --grid: #2a313c; --card: #151b23;
    --ours: #7cacf8; --off: #7cacf8; --direct: #ff8983; --hand: #f2b04b; --piscina: #6dd58c; --bare: #9198a1; } }`;

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
