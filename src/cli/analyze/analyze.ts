/** `tritonts analyze`: searches the configuration of a model that serves an objective best. */

import { analyze as runAnalysis } from '../../analyze/analyze.js';
import { invalidArgument, TritonError } from '../../errors.js';
import { flagsText } from '../flags/help.js';
import { parseFlags } from '../flags/parse-flags.js';
import { checkWritable, fail } from '../report-files.js';
import { ConsoleProgress } from './console-progress.js';
import { analyzeFlagGroups, analyzeFlags } from './flags.js';
import { reportAnalysis } from './report.js';
import { analyzeSettings, type AnalyzeSettings } from './settings.js';

/** The exit codes, as those of perf. */
const codes = { done: 0, wrongFlags: 3, failed: 99, interrupted: 130, terminated: 143 } as const;

function helpText(): string {
  return `Searches instances, threads, batch sizes, queue delay and inline runs of a model, and prints the change of its config.pbtxt.
It does what Triton's Model Analyzer does, in this process.

Usage: tritonts analyze <the model's folder>
       tritonts analyze -m <model> <repository>

A value stands behind '=' or as the next word.

${flagsText(analyzeFlagGroups)}

Ctrl-C ends the search with what it has found; a second one ends it at once.

Exit code: 0, also if nothing is to change; ${codes.wrongFlags}: a wrong command line, nothing to search,
or too short a budget; ${codes.interrupted}: Ctrl-C;
${codes.terminated}: SIGTERM; ${codes.failed}: the model cannot be loaded or measured, or a file not written.`;
}

/**
 * Runs the command.
 *
 * @param args - The arguments after `analyze`.
 * @returns The exit code.
 */
export async function analyze(args: readonly string[]): Promise<number> {
  let settings: AnalyzeSettings;
  try {
    if (args.length === 0) throw invalidArgument(`analyze needs a model's folder\n\n${helpText()}`);
    const values = parseFlags(analyzeFlags, 'model-repository', args);
    if (values.has('help')) {
      console.log(helpText());
      return codes.done;
    }
    settings = analyzeSettings(values);
    await checkWritable([settings.json, settings.plot]);
  } catch (error) {
    return fail(error, codes.wrongFlags);
  }
  const { options } = settings;
  const progress = new ConsoleProgress(process.stderr.isTTY, options, settings.write);
  const interrupt = new AbortController();
  let ended: number = codes.interrupted;
  const stop = (signal: NodeJS.Signals): void => {
    progress.clear();
    console.error('ending with what was found so far; Ctrl-C again ends at once');
    if (signal === 'SIGTERM') ended = codes.terminated;
    interrupt.abort();
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  try {
    const analysis = await runAnalysis(options, progress, interrupt.signal);
    progress.clear();
    const unwritten = await reportAnalysis(analysis, settings);
    if (unwritten !== undefined) return fail(unwritten, codes.failed);
    return interrupt.signal.aborted ? ended : codes.done;
  } catch (error) {
    progress.clear();
    if (interrupt.signal.aborted) return ended;
    const isWrong = error instanceof TritonError && error.code === 'INVALID_ARG';
    return fail(error, isWrong ? codes.wrongFlags : codes.failed);
  } finally {
    process.removeListener('SIGINT', stop);
    process.removeListener('SIGTERM', stop);
  }
}
