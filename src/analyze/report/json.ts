/** An analysis as JSON, for programs. */

import { packageVersion } from '../../version.js';
import type { Analysis } from '../analyze.js';
import type { Objective } from '../search/objective.js';
import { changedIn, type Candidate, type SettingValue, type Space } from '../space/space.js';
import { unifiedDiff } from './diff.js';

/** The text of the file that `--json` writes. */
export function analysisJson(analysis: Analysis, model: string, objective: Objective): string {
  const { space, left, result, presentLimits, bestLimits, files } = analysis;
  const { verdict } = result;
  const value = {
    tool: 'tritonts analyze',
    version: packageVersion,
    model,
    objective,
    cores: space.cores,
    axes: space.axes.map(({ model: of, setting, values, present }) => ({
      model: of,
      setting,
      values,
      present: values[present],
    })),
    notSearched: left,
    tried: result.tried.map(({ candidate, figures, windowMs, failure }) => ({
      changes: changesJson(space, candidate),
      windowMs,
      figures,
      failure,
    })),
    best: { changes: changesJson(space, result.best), limits: bestLimits },
    present: { limits: presentLimits },
    verdict: verdict && {
      rounds: verdict.rounds,
      windowMs: verdict.windowMs,
      present: verdict.present,
      best: verdict.best,
      ...verdict.ratio,
    },
    proposed: result.proposed,
    stopped: result.stopped,
    elapsedMs: Math.round(result.elapsedMs),
    files: files.map(({ model: of, file, before, after }) => ({
      model: of,
      file,
      diff: unifiedDiff(file, before, after),
      after,
    })),
  };
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function changesJson(
  space: Space,
  candidate: Candidate,
): readonly { readonly model: string; readonly setting: string; readonly value: SettingValue }[] {
  return changedIn(space, candidate).map(({ axis: { model, setting }, value }) => ({
    model,
    setting,
    value,
  }));
}
