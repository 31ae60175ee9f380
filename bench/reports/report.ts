/** Writes results as text. */
import { meanSize } from './histogram.js';
import type { Figure, Verdict } from './figures.js';
import type { ContestantRow, DelayRow, LoadRow, Machine, Part, Results, Setup } from './results.js';
import type { Estimate } from './statistics.js';
import { isMet, limitsTable, limitText, type Measured } from '../limits/limits.js';
import { grouped, significant } from '../../src/perf/plot/numbers.js';
import { table } from './table.js';

const inlineOff = 'tritonts, inline off';

/** The whole report. It ends with the figures that are missed. */
export function report(results: Results, verdicts: readonly Verdict[]): string {
  const parts = [head(results), ...loadTables(results)];
  for (const rows of byLoad(results.delays)) parts.push(delayTable(rows));
  if (results.measured.length > 0) parts.push(limitsTable(results.measured));
  if (results.defaults) parts.push(defaultsTitle(results.defaults), ...loadTables(results.defaults));
  if (results.notes.length > 0) parts.push(results.notes.join('\n'));
  parts.push(conclusion(verdicts, results.measured));
  return `${parts.join('\n\n')}\n`;
}

function head({ machine, setup, library }: Results): string {
  return [
    machineText(machine),
    `ONNX Runtime ${library?.version ?? 'not loaded'}`,
    `${setupText(setup)}; medians ± median deviation`,
  ].join('\n');
}

function setupText({ threads, rounds }: Setup): string {
  const who =
    threads === undefined
      ? "everybody's own threads and spinning, by which no figure of a load is judged"
      : `${threads} thread(s) for each library, asleep while they wait`;
  return `${who}; ${rounds} interleaved round(s)`;
}

function defaultsTitle({ setup }: Part): string {
  const title = "SECOND PART: EVERYBODY'S DEFAULTS";
  return `${title}\n${'='.repeat(title.length)}\n${setupText(setup)}`;
}

/** A table for each model with loads. */
function loadTables({ models, loads }: Part): string[] {
  return models.flatMap(({ model, title, how, windowMs }) => {
    const own = loads.filter((row) => row.model === model);
    if (own.length === 0) return [];
    return [`${model}: ${title}\n${how}; turns of ${windowMs} ms\n\n${loadTable(own)}`];
  });
}

/** The machine of a run, for the head of a report. */
export function machineText({ cpu, cores, memoryGiB, load, platform, node, commit }: Machine): string {
  return `${cpu}, ${cores} core(s), ${memoryGiB} GiB, ${platform}; load before the run ${load.toFixed(2)}
Node ${node}, tritonts at ${commit}`;
}

function loadTable(loads: readonly LoadRow[]): string {
  const both = loads.some(({ contestants }) => contestants.some(({ ratios }) => ratios[inlineOff]));
  const rows = loads.flatMap(({ outstanding, contestants }) =>
    contestants.map((row, i) => [
      i === 0 ? String(outstanding) : '',
      ...contestantCells(row),
      ...ratioCells(row.ratios.tritonts),
      ...(both ? ratioCells(row.ratios[inlineOff]) : []),
    ]),
  );
  return table(
    [
      'outstanding',
      'contestant',
      'requests/s',
      '±',
      'p50 ms',
      'p95 ms',
      'p99 ms',
      'mean batch',
      'ours / this',
      '±',
      ...(both ? ['inline off / this', '±'] : []),
    ],
    rows,
  );
}

function contestantCells({ contestant, requestsPerSecond, latency, batches }: ContestantRow): string[] {
  return [
    contestant,
    grouped(requestsPerSecond.median),
    percent(requestsPerSecond),
    ...(latency ? [latency.p50, latency.p95, latency.p99].map(significant) : ['', '', '']),
    batches && batches.size > 0 ? meanSize(batches).toFixed(1) : '',
  ];
}

function ratioCells(ratio: Estimate | undefined): string[] {
  return ratio ? [significant(ratio.median), significant(ratio.spread)] : ['', ''];
}

/** Groups rows of the same model and number of outstanding requests. */
export function byLoad(rows: readonly DelayRow[]): DelayRow[][] {
  const loads = new Map<string, DelayRow[]>();
  for (const row of rows) {
    const load = `${row.model} ${row.outstanding}`;
    loads.set(load, [...(loads.get(load) ?? []), row]);
  }
  return [...loads.values()];
}

function delayTable(rows: readonly DelayRow[]): string {
  const first = rows[0];
  const title = `How late a timer of 1 ms comes beside ${first?.model ?? ''} with ${first?.outstanding ?? 0} outstanding`;
  return `${title}\n\n${table(
    ['beside', 'p99 ms', '±', 'longest ms', '±'],
    rows.map(({ contestant, p99, longest }) => [
      contestant,
      significant(p99.median),
      significant(p99.spread),
      significant(longest.median),
      significant(longest.spread),
    ]),
  )}`;
}

function conclusion(verdicts: readonly Verdict[], single: readonly Measured[]): string {
  const measured = verdicts.filter((verdict) => verdict.measured !== undefined);
  const limited = single.filter(({ limit }) => limit);
  const missed = [
    ...measured.filter(({ met }) => !met).map(missedCells),
    ...limited.filter((figure) => !isMet(figure)).map(missedSingleCells),
  ];
  const all = measured.length + limited.length;
  const rest = verdicts.length - measured.length;
  const counts = [
    `${all - missed.length} of ${all} measured figures met`,
    ...(rest > 0 ? [`${rest} not measured in this run`] : []),
  ].join(', ');
  if (missed.length === 0) return counts;
  const columns = ['figure', 'outstanding', 'ours', 'against', 'required', 'measured', '±'];
  return `${counts}. Missed:\n\n${table(columns, missed)}`;
}

function missedCells({ figure, measured }: Verdict): string[] {
  return [
    figure.model,
    String(figure.outstanding),
    figure.ours,
    figure.against,
    required(figure),
    significant(measured?.median),
    significant(measured?.spread),
  ];
}

/** The cells of a missed figure that belongs to no load. */
function missedSingleCells(figure: Measured): string[] {
  const { what, unit, value } = figure;
  return [
    what,
    '',
    '',
    '',
    `${limitText(figure)} ${unit}`,
    significant(value.median),
    significant(value.spread),
  ];
}

function required(figure: Figure): string {
  return figure.kind === 'ratio' ? `≥ ${figure.atLeast}` : `≤ ${figure.atMostMs} ms later`;
}

function percent({ median, spread }: Estimate): string {
  return spread === undefined ? '' : `${((100 * spread) / median).toFixed(0)} %`;
}
