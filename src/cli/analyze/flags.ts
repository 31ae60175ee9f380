/**
 * The flags of `tritonts analyze`. Those about requests are perf's. The parser, the help and the table in docs/analyze.md are
 * generated from this table.
 */

import {
  alone,
  byName,
  choice,
  lettered,
  number,
  text,
  use,
  useAll,
  type Flag,
  type FlagGroup,
} from '../flags/flag.js';
import {
  dataFlags,
  inProcessFlags,
  parameterFlag,
  sequenceFlags,
  streamingFlag,
  versionFlag,
} from '../perf/request-flags.js';

const what: FlagGroup = {
  title: 'What is analyzed',
  flags: [
    lettered(
      'm',
      use(
        'model-name',
        text('name'),
        undefined,
        'the model; without it the folder is that of the model itself',
      ),
    ),
    ...versionFlag,
    useAll('model-repository', 'folder', 'a folder of models of this machine; may also stand alone'),
    useAll(
      'bls-composing-models',
      'name',
      'a model that the analyzed one calls, and does not name in its parameter requires: it is loaded, too; several with commas',
    ),
    ...inProcessFlags,
  ],
};

const objective: FlagGroup = {
  title: 'Objective',
  flags: [
    use(
      'objective',
      text('throughput|latency|memory|p99<20ms'),
      'throughput',
      "'throughput', 'latency', 'memory', or a limit of mean, p50, p90, p95 or p99, with the most throughput below it",
    ),
    use(
      'percentile',
      choice('50', '90', '95', '99'),
      undefined,
      "the latency of the objective 'latency'; without it the mean",
    ),
    use(
      'max-memory',
      number(1, Number.MAX_SAFE_INTEGER, 'MiB'),
      undefined,
      'candidates that take more memory are not considered',
    ),
    use(
      'concurrency',
      text('n,n,…'),
      undefined,
      "requests at once, in one or several levels (default 64; 1,4,16,64 with a limit; 1,8 for 'latency')",
    ),
  ],
};

const searching: FlagGroup = {
  title: 'Search',
  flags: [
    use('budget', text('time'), '120s', 'how long it may take: seconds, or a number with s or m'),
    useAll(
      'search',
      'setting=values',
      "limits a setting: instances, threads, max_batch_size, delay (µs), preferred, inline; values are a list such as 1,2,4, a range such as 1:8, or 'present', which leaves it as it is",
    ),
  ],
};

const data: FlagGroup = {
  title: 'Requests',
  flags: [...dataFlags, ...parameterFlag, ...streamingFlag, ...sequenceFlags],
};

const reports: FlagGroup = {
  title: 'Reports',
  flags: [
    use('write', alone, undefined, 'writes the change to config.pbtxt; without it nothing is written'),
    use('json', text('file'), undefined, 'a JSON file with all candidates and the change, for programs'),
    use('plot', text('file'), undefined, 'a picture of throughput against latency of all candidates, as SVG'),
    use('help', alone, undefined, 'this text'),
  ],
};

/** All flags, in the order of the help. */
export const analyzeFlagGroups: readonly FlagGroup[] = [what, objective, searching, data, reports];

/** All flags by name. */
export const analyzeFlags: ReadonlyMap<string, Flag> = byName(analyzeFlagGroups);
