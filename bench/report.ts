/** Results as text. */
import { meanSize } from './histogram.js';
import type { Figure, Verdict } from './figures.js';
import type { ContestantRow, DelayRow, LoadRow, Machine, Results } from './results.js';
import type { Estimate } from './statistics.js';
import { isMet, limitsText } from './limits.js';
import { grouped, significant } from './numbers.js';
import { table } from './table.js';

const inlineOff = 'tritonts, inline off';

/** The whole report; ends with the figures that are missed. */
export function report(results: Results, verdicts: readonly Verdict[]): string {
  const parts = [head(results)];
  for (const { model, title, how } of results.models) {
    const loads = results.loads.filter((row) => row.model === model);
    if (loads.length > 0) parts.push(`${model}: ${title}\n${how}\n\n${loadTable(loads)}`);
  }
  for (const rows of byLoad(results.delays)) parts.push(delayTable(rows));
  if (results.measured.length > 0) parts.push(limitsText(results.measured));
  if (results.notes.length > 0) parts.push(results.notes.join('\n'));
  parts.push(conclusion(verdicts));
  const missed = results.measured.filter((figure) => !isMet(figure));
  if (missed.length > 0) parts.push(`Missed as well: ${missed.map(({ what }) => what).join('; ')}`);
  return `${parts.join('\n\n')}\n`;
}

function head({ machine, setup, library }: Results): string {
  const threads =
    setup.threads === undefined
      ? "everybody's own threads and spinning"
      : `${setup.threads} thread(s) for everybody, asleep while they wait`;
  return [
    machineText(machine),
    `ONNX Runtime ${library?.version ?? 'not loaded'}`,
    `${threads}; ${setup.rounds} interleaved rounds of ${setup.windowMs} ms; medians ± median deviation`,
  ].join('\n');
}

/** What a run was measured on, for the head of a report. */
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

/** Rows of the same model and requests outstanding together. */
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

function conclusion(verdicts: readonly Verdict[]): string {
  const measured = verdicts.filter((verdict) => verdict.measured !== undefined);
  const missed = measured.filter(({ met }) => !met);
  const rest = verdicts.length - measured.length;
  const counts = [
    `${measured.length - missed.length} of ${measured.length} measured figures met`,
    ...(rest > 0 ? [`${rest} not measured in this run`] : []),
  ].join(', ');
  if (missed.length === 0) return counts;
  return `${counts}. Missed:\n\n${table(
    ['model', 'outstanding', 'ours', 'against', 'required', 'measured', '±'],
    missed.map(({ figure, measured: value }) => [
      figure.model,
      String(figure.outstanding),
      figure.ours,
      figure.against,
      required(figure),
      value ? significant(value.median) : '',
      value ? significant(value.spread) : '',
    ]),
  )}`;
}

function required(figure: Figure): string {
  return figure.kind === 'ratio' ? `≥ ${figure.atLeast}` : `≤ ${figure.atMostMs} ms later`;
}

function percent({ median, spread }: Estimate): string {
  return `${((100 * spread) / median).toFixed(0)} %`;
}
