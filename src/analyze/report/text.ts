/** An analysis as text. */

import { significant } from '../../perf/plot/numbers.js';
import type { Analysis } from '../analyze.js';
import { compareScores, scoreOf, type Figures, type Objective, type Score } from '../search/objective.js';
import { isOpen, leastGain } from '../search/verdict.js';
import type { Phase, SearchProgress, SearchResult, Tried, Verdict } from '../search/world.js';
import type { LeftOut } from '../space/axes.js';
import { candidateText, changedIn, type Space } from '../space/space.js';
import type { Limits } from '../trial/trials.js';
import { unifiedDiff } from './diff.js';

/** How many candidates the table has. */
const mostRows = 10;
/** How many failed candidates are listed. */
const mostFailures = 8;

/** What is searched, and what is not. */
export function spaceText({ axes, cores }: Space, left: readonly LeftOut[]): string {
  const models = new Set([...axes, ...left].map(({ model }) => model));
  const of = (model: string): string => (models.size > 1 ? `${model}: ` : '');
  const searched = axes.map(
    ({ model, setting, values, present }) =>
      `  ${of(model)}${setting.padEnd(15)} ${values.map((value, i) => (i === present ? `[${value}]` : String(value))).join(' ')}`,
  );
  const others = left.map(({ model, settings, why }) => `  ${of(model)}${settings.join(', ')}: ${why}`);
  return [
    `searched, with present values in brackets, on ${cores} ${cores === 1 ? 'core' : 'cores'}:`,
    ...searched,
    ...(others.length === 0 ? [] : ['not searched:', ...others]),
  ].join('\n');
}

const phases: Readonly<Record<Phase, string>> = {
  present: 'the present configuration',
  grid: 'the grid',
  steps: 'steps around the best',
  simpler: 'changes taken back',
  rounds: 'rounds in turn',
};

/** A part of the search in words. */
export function phaseText(phase: Phase): string {
  return phases[phase];
}

/** How far the search is, as one line. */
export function progressText(
  space: Space,
  objective: Objective,
  { phase, best, measurements, elapsedMs, budgetMs }: SearchProgress,
): string {
  const time = `${Math.round(elapsedMs / 1000)} of ${Math.round(budgetMs / 1000)} s`;
  const found =
    best === undefined
      ? ''
      : `; the best so far: ${figureText(objective, best.score)}, ${candidateText(space, best.candidate)}`;
  return `${time}, ${phases[phase]}, ${measurements} measurements${found}`;
}

/** The figure that a score stands for. */
function figureText({ goal }: Objective, { meets, value }: Score): string {
  if (!meets) return 'beyond the limits';
  if (goal === 'latency') return `${significant(1 / value)} ms`;
  if (goal === 'memory') return `${significant(1 / value / 2 ** 20)} MiB`;
  return `${significant(value)} infer/s`;
}

/** The level that a candidate is judged by, or its best one. */
function levelOf(
  objective: Objective,
  figures: Figures,
  present: Figures | undefined,
): Figures['levels'][number] {
  const { level } = scoreOf(objective, figures, present);
  const best = figures.levels.reduce((most, one) => (one.throughput > most.throughput ? one : most));
  return (level === undefined ? undefined : figures.levels[level]) ?? best;
}

/** The figures of both at the same levels: those that they are judged by. */
function judgedText(objective: Objective, { present, best }: Verdict): readonly [string[], string[]] {
  const all = present.figures.levels.map((_, i) => i);
  const own = [present, best].map(({ figures }) =>
    figures.levels.indexOf(levelOf(objective, figures, present.figures)),
  );
  const levels = objective.goal === 'latency' ? all : all.filter((i) => own.includes(i));
  const lines = ({ figures, score }: Verdict['best']): string[] => {
    const memory =
      figures.memoryBytes === undefined ? [] : [`${significant(figures.memoryBytes / 2 ** 20)} MiB`];
    const mean =
      objective.goal === 'latency' && levels.length > 1 && score.meets
        ? [`${objective.latency} of all levels, as their geometric mean: ${significant(1 / score.value)} ms`]
        : [];
    return [...levels.flatMap((i) => levelText(figures.levels[i])), ...mean, ...memory];
  };
  return [lines(present), lines(best)];
}

/** A candidate that is far beyond a limit has fewer levels. */
function levelText(level: Figures['levels'][number] | undefined): readonly string[] {
  if (level === undefined) return [];
  const { concurrency, throughput, latencyMs } = level;
  return [
    `${significant(throughput)} infer/s with ${concurrency} at once, mean ${significant(latencyMs.mean)} ms, p99 ${significant(latencyMs.p99)} ms`,
  ];
}

/** The whole report. */
export function analysisText(analysis: Analysis, objective: Objective): string {
  const { space, result } = analysis;
  const { verdict, best } = result;
  const parts = [tableText(analysis, objective)];
  const failed = result.tried.filter(({ failure }) => failure !== undefined);
  if (failed.length > 0) {
    const shown = failed
      .slice(0, mostFailures)
      .map(({ candidate, failure }) => `  ${candidateText(space, candidate)}: ${oneLine(failure ?? '')}`);
    const more = failed.length > mostFailures ? [`  and ${failed.length - mostFailures} more`] : [];
    parts.push(['failed:', ...shown, ...more].join('\n'));
  }
  if (verdict === undefined) {
    parts.push(unjudgedText(space, result));
    return parts.join('\n\n');
  }
  const [before, after] = judgedText(objective, verdict);
  const block = (name: string, lines: readonly string[]): readonly string[] =>
    lines.map((line, i) => (i === 0 ? name : '').padEnd(9) + line);
  parts.push(
    [
      ...block('present', before),
      ...limitLines(analysis.presentLimits),
      ...block('best', [...after, candidateText(space, best)]),
      ...limitLines(analysis.bestLimits),
    ].join('\n'),
    verdictText(result.proposed, verdict),
  );
  if (result.proposed) {
    parts.push(...cautions(analysis));
    parts.push(
      analysis.files
        .map(({ file, before: text, after: changed }) => diffText(file, text, changed))
        .join('\n'),
    );
  }
  return parts.join('\n\n');
}

function limitLines(limits: readonly Limits[]): readonly string[] {
  return limits.map(({ model, limit, summary }) =>
    limits.length > 1
      ? `         limit of ${model}: ${limit}. ${summary}`
      : `         limit: ${limit}. ${summary}`,
  );
}

/** Why there is no comparison. */
function unjudgedText(space: Space, { tried, best, stopped }: SearchResult): string {
  if (!tried.slice(1).some(({ figures }) => figures !== undefined))
    return stopped
      ? 'The search was ended before another candidate was measured.'
      : 'No other candidate has figures, so there is nothing to propose.';
  const ended = stopped ? 'The search was ended' : 'The budget was over';
  return `${ended} before candidates were compared in turn. The best so far: ${candidateText(space, best)}.`;
}

const advice = 'give more --budget, or a quieter machine';

function verdictText(proposed: boolean, { rounds, present, best, ratio, limit }: Verdict): string {
  const percent = (share: number): string => `${share >= 0 ? '+' : ''}${significant(100 * share)} %`;
  const measured = ({ change, interval }: Verdict['ratio']): string => {
    const [least, most] = interval ?? [];
    const ends =
      least === undefined || most === undefined
        ? ', of unknown precision,'
        : ` (from ${percent(least)} to ${percent(most)})`;
    return `${percent(change)}${ends} in ${rounds} ${rounds === 1 ? 'round' : 'rounds'} in turn`;
  };
  if (!present.score.meets) {
    if (!best.score.meets) return 'No candidate meets the limits; nothing is proposed.';
    const what = limit === undefined ? '' : ` What is limited differs by ${measured(limit.change)}.`;
    return proposed
      ? `The present configuration is beyond the limits, and the best one meets them.${what}`
      : `Not decided whether only the best one meets the limits: ${advice}.${what}`;
  }
  const told = measured(ratio);
  if (proposed) return `The best one is better by more than chance: ${told}.`;
  if (!best.score.meets) return 'No other candidate meets the limits. The present configuration can stay.';
  if (isOpen(ratio)) return `Not decided whether the best one is better: ${told}; ${advice}.`;
  return `The best one is not better by ${100 * leastGain} % or more: ${told}. The present configuration can stay.`;
}

/** Carriage returns would be shown at the end of each line. */
function diffText(file: string, before: string | undefined, after: string): string {
  const plain = (text: string): string => text.replaceAll('\r\n', '\n');
  const diff = unifiedDiff(file, before === undefined ? undefined : plain(before), plain(after));
  return after.includes('\r\n') ? `${diff}\n(Lines of this file end with CR LF.)` : diff;
}

/** Failures are lists; errors of models may have several lines. */
function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').trim();
}

/** What users of the model would notice. */
function cautions({ space, result }: Analysis): readonly string[] {
  return changedIn(space, result.best).flatMap(({ axis, value }) => {
    const { model, setting, values, present, unbatchedRows } = axis;
    const before = values[present] === 'unbatched' ? unbatchedRows : values[present];
    if (
      setting === 'max_batch_size' &&
      typeof before === 'number' &&
      typeof value === 'number' &&
      value < before
    )
      return [
        `Caution: model '${model}' will refuse requests of more than ${value} rows; now it takes ${before}.`,
      ];
    if (setting === 'inline' && typeof value === 'number' && value > 50)
      return [`Caution: batches of model '${model}' may hold up the program's event loop for ${value} µs.`];
    return [];
  });
}

function tableText({ space, result }: Analysis, objective: Objective): string {
  const present = result.tried[0]?.figures;
  const measured = result.tried.filter(
    (one): one is Tried & { readonly figures: Figures } => one.figures !== undefined,
  );
  const ranked = measured
    .map((one, i) => ({ one, score: scoreOf(objective, one.figures, i === 0 ? undefined : present) }))
    .sort((a, b) => compareScores(a.score, b.score));
  const shown = ranked.slice(0, mostRows);
  const own = ranked.find(({ one }) => one === measured[0]);
  if (own !== undefined && !shown.includes(own)) shown.push(own);
  const hasMemory = present?.memoryBytes !== undefined;
  const head = ['at once', 'infer/s', 'mean ms', 'p99 ms', ...(hasMemory ? ['MiB'] : []), 'candidate'];
  const rows = shown.map(({ one, score }) => {
    const { concurrency, throughput, latencyMs } = levelOf(objective, one.figures, present);
    const memory = hasMemory ? [significant((one.figures.memoryBytes ?? 0) / 2 ** 20)] : [];
    const beyond = score.meets ? '' : ' (beyond the limits)';
    return [
      String(concurrency),
      significant(throughput),
      significant(latencyMs.mean),
      significant(latencyMs.p99),
      ...memory,
      candidateText(space, one.candidate) + beyond,
    ];
  });
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, i) => (i === cells.length - 1 ? cell : cell.padStart(widths[i] ?? 0))).join('  ');
  const title = `${measured.length} candidates; the best ones, by the means of their measurements:`;
  return [title, line(head), ...rows.map(line)].join('\n');
}
