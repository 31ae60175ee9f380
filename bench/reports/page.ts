/** Writes results as a page with plots, which loads nothing else. */
import type { Verdict } from './figures.js';
import { escape, svg, type Plot } from '../../src/perf/plot/plot.js';
import { palette, plotStyle } from '../../src/perf/plot/plot-style.js';
import { delayPlot, plotsOf } from './plots.js';
import { byLoad, report } from './report.js';
import type { Results } from './results.js';

const style = `
${palette}
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1120px; padding: 24px; }
h1 { font-size: 24px; margin: 0 0 8px; }
h2 { font-size: 19px; margin: 36px 0 4px; }
p { color: var(--pale); margin: 0 0 12px; }
.grid-of-plots { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); }
figure { background: var(--card); display: flex; flex-direction: column; border: 1px solid var(--grid); border-radius: 8px; margin: 0; padding: 12px; }
figcaption { font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; list-style: none; margin: 4px 0; padding: 0; font-size: 13px; }
.legend svg { height: 10px; margin-right: 6px; width: 28px; }
figure > svg { display: block; margin-top: auto; width: 100%; }
${plotStyle}
pre { background: var(--card); border: 1px solid var(--grid); border-radius: 8px; overflow-x: auto; padding: 12px; font-size: 12px; }
`;

function legend({ series }: Plot): string {
  const entries = series.map(
    ({ name, style: entry }) =>
      `<li><svg viewBox="0 0 28 10" aria-hidden="true"><g class="series ${entry}"><path d="M0 5H28"/></g></svg>${escape(name)}</li>`,
  );
  return `<ul class="legend">${entries.join('')}</ul>`;
}

function figure(plot: Plot): string {
  return `<figure><figcaption>${escape(plot.title)}</figcaption>${legend(plot)}${svg(plot)}</figure>`;
}

/** The page. */
export function page(results: Results, verdicts: readonly Verdict[]): string {
  const { machine, setup } = results;
  const sections = results.models.flatMap(({ model, title, how }) => {
    const plots = plotsOf(model, results.loads);
    if (plots.length === 0) return [];
    return [
      `<section><h2>${escape(`${model}: ${title}`)}</h2><p>${escape(how)}</p><div class="grid-of-plots">${plots.map(figure).join('')}</div></section>`,
    ];
  });
  for (const rows of byLoad(results.delays)) {
    const delay = delayPlot(rows);
    if (!delay) continue;
    sections.push(
      `<section><h2>Event loop</h2><p>What everything else in the process waits for: the last round of each, one after the other, drawn over each other. A line rises while a timer that is due waits.</p>${figure(delay)}</section>`,
    );
  }
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>tritonts: benchmark at ${escape(machine.commit)}</title>
<style>${style}</style>
</head>
<body>
<h1>Benchmark of tritonts</h1>
<p>${escape(`${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, commit ${machine.commit}; medians of ${setup.rounds} interleaved rounds; the bars at points reach from the least to the greatest.`)}</p>
${sections.join('\n')}
<section><h2>All numbers</h2><pre tabindex="0">${escape(report(results, verdicts))}</pre></section>
</body>
</html>
`;
}
