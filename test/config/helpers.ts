/** Helpers of this folder's tests: read from text, and list the problems of a check. */

import { table } from '../../src/backends/table.generated.js';
import type { Gpus } from '../../src/config/rules/usable-gpus.js';
import type { RulesOfBackends } from '../../src/config/support/backend-rules.js';
import { expandConfig } from '../../src/config/schema/expand.js';
import { normalizeConfig } from '../../src/config/rules/normalize.js';
import { reportInto, type Problem, type Report } from '../../src/config/text/problems.js';
import { readModelConfig, type ParsedConfig } from '../../src/config/text/read.js';
import type { ModelConfig } from '../../src/config/schema/types.js';

/** The rules of the package's backends. */
export const backends: RulesOfBackends = new Map(table.map(({ name, rules = {} }) => [name, rules]));

/** Reads text as the file `config.pbtxt`. */
export function parse(text: string | Uint8Array): ParsedConfig {
  return readModelConfig({ file: 'config.pbtxt', text });
}

/** The whole configuration that a text stands for, without Triton's defaults. */
export function whole(text: string): ModelConfig {
  return expandConfig(parse(text).value);
}

/** The whole configuration with Triton's defaults, for a machine with `gpuCount` GPUs. */
export function normalized(text: string, gpuCount = 0): ModelConfig {
  return normalizeConfig(whole(text), gpus(gpuCount).usable);
}

/** The GPUs of a machine: `count` usable ones, and unusable ones with the reasons. */
export function gpus(count: number, unusable: Readonly<Record<number, string>> = {}): Gpus {
  return {
    usable: Array.from({ length: count + Object.keys(unusable).length }, (_, id) => id).filter(
      (id) => !(id in unusable),
    ),
    unusable: new Map(Object.entries(unusable).map(([id, reason]) => [Number(id), reason])),
    missing: () => ({ code: 'UNAVAILABLE', text: 'there is no GPU in this test' }),
  };
}

/** The problems that a check reports, as `CODE path: text`. */
export function reported(check: (report: Report) => void): string[] {
  const problems: Problem[] = [];
  check(reportInto(problems));
  return problems.map(({ code, path, text }) => `${code} ${path}: ${text}`);
}

export { thrown as tritonErrorOf } from '../support/harness.js';
