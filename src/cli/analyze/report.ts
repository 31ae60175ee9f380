/** Prints an analysis, and writes its files. */

import type { Analysis } from '../../analyze/analyze.js';
import { analysisJson } from '../../analyze/report/json.js';
import { analysisPicture } from '../../analyze/report/picture.js';
import { analysisText } from '../../analyze/report/text.js';
import { printable, printableLine } from '../../printable.js';
import { writeReport } from '../report-files.js';
import type { AnalyzeSettings } from './settings.js';
import { writeConfig } from './write-config.js';

/** Prints and writes everything. Returns the error of the first file that could not be written. */
export async function reportAnalysis(
  analysis: Analysis,
  { options, json, plot, write }: AnalyzeSettings,
): Promise<unknown> {
  const { model, objective } = options;
  console.log(`\n${printable(analysisText(analysis, objective))}`);
  const outputs: (() => Promise<void>)[] = [];
  if (json !== undefined) outputs.push(() => writeReport(json, analysisJson(analysis, model, objective)));
  if (plot !== undefined) outputs.push(() => writeReport(plot, analysisPicture(analysis, model)));
  if (analysis.files.length > 0) {
    if (write) outputs.push(() => writeAll(analysis));
    else console.log('\nNothing was written; --write writes this change.');
  }
  let unwritten: unknown;
  for (const output of outputs) {
    try {
      await output();
    } catch (error) {
      unwritten ??= error;
    }
  }
  return unwritten;
}

async function writeAll({ files }: Analysis): Promise<void> {
  for (const change of files) {
    await writeConfig(change);
    console.log(printableLine(`wrote ${change.file}`));
  }
}
