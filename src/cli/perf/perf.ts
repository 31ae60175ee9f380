/** `tritonts perf`: measures how many requests a model answers, and how fast. */

import { readFile } from 'node:fs/promises';
import { invalidArgument, TritonError } from '../../errors.js';
import { choiceOf } from '../../perf/report/columns.js';
import { compareRuns, missingLevels } from '../../perf/report/compare.js';
import { csvOf } from '../../perf/report/csv.js';
import { jsonOf, readRun, type ReadRun } from '../../perf/report/json.js';
import { perfPicture } from '../../perf/report/picture.js';
import { levelText } from '../../perf/measure/level.js';
import { comparisonText, runTable } from '../../perf/report/text.js';
import { runPerf, type PerfRun } from '../../perf/run.js';
import { printable, printableLine } from '../../printable.js';
import { thrownText } from '../../thrown-text.js';
import { flagsText } from '../flags/help.js';
import { parseFlags } from '../flags/parse-flags.js';
import { checkWritable, fail, writeReport } from '../report-files.js';
import { ConsoleProgress } from './console-progress.js';
import { perfFlagGroups, perfFlags } from './flags.js';
import { perfSettings, type PerfFiles, type PerfSettings } from './settings.js';

/** The exit codes; all but the last are perf_analyzer's. */
const codes = { done: 0, unstable: 2, wrongFlags: 3, failed: 99, interrupted: 130, terminated: 143 } as const;

function helpText(): string {
  return `Measures a model: requests a second, latencies, and where the time goes. Does what perf_analyzer does, with those of its flags that apply.

Usage: tritonts perf -m <model> <repository>   in this process
       tritonts perf -m <model> <url>          http://…, https://…, grpc://…, grpcs://…

A value stands behind '=' or as the next word.

${flagsText(perfFlagGroups)}

Ctrl-C ends the measurement with the figures so far; a second one ends it at once.

Exit code: 0; ${codes.unstable}: a level was not stable, and its figures were printed; ${codes.wrongFlags}: a wrong command line; ${codes.interrupted}: Ctrl-C;
${codes.terminated}: SIGTERM; ${codes.failed}: a request or the server failed.`;
}

/**
 * Runs the command.
 *
 * @param args - The arguments after `perf`.
 * @returns The exit code.
 */
export async function perf(args: readonly string[]): Promise<number> {
  let settings: PerfSettings;
  let other: ReadRun | undefined;
  try {
    if (args.length === 0) throw invalidArgument(`perf needs a model and a place\n\n${helpText()}`);
    const values = parseFlags(perfFlags, 'model-repository', args);
    if (values.has('help')) {
      console.log(helpText());
      return codes.done;
    }
    settings = perfSettings(values);
    other = await readOther(settings.files.compare);
    const { json, csv, plot } = settings.files;
    await checkWritable([json, csv, plot]);
  } catch (error) {
    return fail(error, codes.wrongFlags);
  }
  for (const text of settings.ignored) console.error(printableLine(`note: ${text}`));
  const progress = new ConsoleProgress(process.stderr.isTTY, settings.verbose);
  const interrupt = new AbortController();
  let ended: number = codes.interrupted;
  const stop = (signal: NodeJS.Signals): void => {
    progress.clear();
    console.error('ending with the figures so far; Ctrl-C again ends at once');
    if (signal === 'SIGTERM') ended = codes.terminated;
    interrupt.abort();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  try {
    const run = await runPerf(settings.options, progress, interrupt.signal);
    progress.clear();
    const unwritten = await report(run, settings.files, other);
    if (run.failure !== undefined) return fail(run.failure.error, codes.failed);
    if (unwritten !== undefined) return fail(unwritten, codes.failed);
    if (interrupt.signal.aborted) return ended;
    return run.levels.every(({ stable, aboveThreshold }) => stable || aboveThreshold)
      ? codes.done
      : codes.unstable;
  } catch (error) {
    progress.clear();
    if (interrupt.signal.aborted) return fail(error, ended);
    return fail(
      error,
      error instanceof TritonError && error.code === 'INVALID_ARG' ? codes.wrongFlags : codes.failed,
    );
  } finally {
    process.removeListener('SIGINT', stop);
    process.removeListener('SIGTERM', stop);
  }
}

async function readOther(file: string | undefined): Promise<ReadRun | undefined> {
  if (file === undefined) return undefined;
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw invalidArgument(`--compare: ${file} cannot be read: ${thrownText(cause)}`, { cause });
  }
  return readRun(file, text);
}

/** Prints and writes all reports. Returns the error of the first file that could not be written. */
async function report(run: PerfRun, files: PerfFiles, other: ReadRun | undefined): Promise<unknown> {
  const { levels, percentile, streaming } = run;
  const reports: (readonly [file: string | undefined, text: () => string])[] = [
    [files.json, () => jsonOf(run)],
  ];
  if (levels.length === 0) console.error('no request was answered, so there are no figures');
  else {
    console.log(`\n${printable(runTable(run))}`);
    if (other !== undefined) compare(run, other);
    reports.push(
      [files.csv, () => csvOf(levels, choiceOf(levels, percentile, streaming, files.verboseCsv))],
      [files.plot, () => perfPicture(run, other)],
    );
  }
  let unwritten: unknown;
  for (const [file, text] of reports) {
    try {
      if (file !== undefined) await writeReport(file, text());
    } catch (error) {
      unwritten ??= error;
    }
  }
  return unwritten;
}

function compare(run: PerfRun, other: ReadRun): void {
  const comparisons = compareRuns(run, other);
  if (run.model !== other.model)
    console.error(printableLine(`the other run is of model '${other.model}', this one of '${run.model}'`));
  if (other.kind !== undefined && run.kind !== other.kind)
    console.error(printableLine(`the other run is '${other.kind}', this one '${run.kind}'`));
  if (run.batch !== other.batch)
    console.error(`the other run has ${other.batch} rows a request, this one ${run.batch}`);
  if (comparisons.length > 0) console.log(`\n${printable(comparisonText(comparisons))}`);
  for (const level of missingLevels(run, other))
    console.error(`${levelText(level)}: the other run lacks this level`);
}
