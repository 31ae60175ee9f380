/** What the flags of `tritonts perf` ask for, checked as far as that needs no server. */

import { existsSync, readFileSync } from 'node:fs';
import { invalidArgument } from '../../errors.js';
import type { LevelRange } from '../../perf/measure/levels.js';
import type { WindowPlan } from '../../perf/measure/profile.js';
import type { PerfLoad } from '../../perf/load/perf-load.js';
import type { PerfOptions } from '../../perf/run.js';
import { thrownText } from '../../thrown-text.js';
import { headersOf } from '../flags/headers.js';
import type { FlagValues } from '../flags/parse-flags.js';
import { inProcessFlags } from './request-flags.js';
import { Faults, isUrl, requestSettings, serverSettings } from './request-settings.js';

/** The files that are read and written. */
export interface PerfFiles {
  readonly csv: string | undefined;
  readonly verboseCsv: boolean;
  readonly json: string | undefined;
  readonly plot: string | undefined;
  readonly compare: string | undefined;
}

/** See the head of this file. */
export interface PerfSettings {
  readonly options: PerfOptions;
  readonly files: PerfFiles;
  readonly verbose: boolean;
  /** Flags that were given and have no effect, each with the reason. */
  readonly ignored: readonly string[];
}

/** Schemes of repositories. Schemes have no case. */
const repositorySchemes = /^(?:file|s3|gs|as):\/\//i;

/** Whether a word that stands alone is a server's address: a URL, or a host and port, which is no folder. */
function isAddress(text: string): boolean {
  return isUrl(text) || (/^(?:[\w.-]+|\[[\da-f:.]+\]):\d+$/i.test(text) && !existsSync(text));
}

/**
 * Reads the flags.
 *
 * @throws {@link TritonError} INVALID_ARG with a list of all faults.
 */
export function perfSettings(values: FlagValues): PerfSettings {
  const faults = new Faults();
  const place = placeOf(values, faults);
  const plan = planOf(values);
  const load = loadOf(values, plan, faults);
  const headers = faults.read(() => headersOf(values.list('header')), {});
  const requests = requestSettings(values, faults, values.integer('num-of-sequences'));
  const sharedMemory = sharedMemoryOf(values, faults);
  const inProcess = place !== undefined && 'server' in place;
  const model = values.text('model-name');
  if (place !== undefined && model === undefined) faults.add('perf needs a model: -m <name>');
  faults.check();
  if (place === undefined || model === undefined) throw new RangeError('faults were checked');
  return {
    options: {
      place,
      model,
      version: values.text('model-version'),
      headers,
      composing: values
        .list('bls-composing-models')
        .flatMap((names) => names.split(',').filter((name) => name !== '')),
      load,
      plan,
      ...requests,
      ...(!inProcess && sharedMemory !== undefined && { sharedMemory }),
    },
    files: {
      csv: values.text('latency-report-file'),
      verboseCsv: values.has('verbose-csv'),
      json: values.text('json'),
      plot: values.text('plot'),
      compare: values.text('compare'),
    },
    verbose: values.has('verbose'),
    ignored: [
      ...values.hints.map(({ name, text }) => `--${name} has no effect: ${text}`),
      ...(inProcess && sharedMemory !== undefined
        ? ['--shared-memory has no effect: in this process no connection carries tensors']
        : []),
    ],
  };
}

function placeOf(values: FlagValues, faults: Faults): PerfOptions['place'] | undefined {
  const alone = values.list('model-repository');
  const repositories = alone.filter((one) => !isAddress(one));
  const urls = [...values.list('url'), ...alone.filter(isAddress)];
  const unknown = repositories.find(
    (one) => /^[a-z][\da-z+.-]*:\/\//i.test(one) && !repositorySchemes.test(one),
  );
  if (unknown !== undefined) {
    faults.add(
      `expected a server (http://, https://, grpc:// or grpcs://) or models (a folder, file://, s3://, gs:// or as://) but received '${unknown}'`,
    );
    return undefined;
  }
  const inProcess = repositories.length > 0 || values.text('service-kind') === 'triton_c_api';
  if (inProcess && urls.length > 0) {
    faults.add(
      `perf measures one place: ${urls[0] ?? ''}, or this process with ${repositories[0] ?? '--service-kind=triton_c_api'}`,
    );
    return undefined;
  }
  if (inProcess && repositories.length === 0) {
    faults.add('--service-kind=triton_c_api measures in this process, and needs --model-repository');
    return undefined;
  }
  if (urls.length > 1) {
    faults.add(`perf measures one server, but received ${urls.join(', ')}`);
    return undefined;
  }
  if (repositories.length > 0) {
    return { server: serverSettings(values, repositories) };
  }
  for (const { name } of inProcessFlags) {
    if (values.has(name)) faults.add(`--${name} is for models of this process: it needs --model-repository`);
  }
  const protocol = values.text('protocol') ?? 'http';
  const [given = protocol === 'grpc' ? 'localhost:8001' : 'localhost:8000'] = urls;
  const url = isUrl(given) ? given : `${protocol}://${given}`;
  if (!URL.canParse(url))
    faults.add(`expected a URL such as http://localhost:8000 for --url but received '${given}'`);
  else if (isUrl(given) && values.has('protocol') && !given.toLowerCase().startsWith(protocol))
    faults.add(`--protocol=${protocol} does not fit --url=${given}`);
  return { url };
}

function sharedMemoryOf(values: FlagValues, faults: Faults): PerfOptions['sharedMemory'] {
  const kind = values.text('shared-memory') ?? 'none';
  if (kind === 'cuda')
    faults.add(
      "expected none or system for --shared-memory but received 'cuda': the tool has no memory of GPUs",
    );
  if (kind === 'system') return { outputBytes: values.integer('output-shared-memory-size') };
  if (values.has('output-shared-memory-size'))
    faults.add('--output-shared-memory-size needs --shared-memory=system');
  return undefined;
}

function planOf(values: FlagValues): WindowPlan {
  return {
    mode: values.text('measurement-mode') === 'count_windows' ? 'count' : 'time',
    intervalMs: values.integer('measurement-interval'),
    requests: values.integer('measurement-request-count'),
    trials: values.integer('max-trials'),
    stabilityPercentage: values.integer('stability-percentage'),
    percentile: values.givenInteger('percentile'),
    latencyThresholdMs: values.integer('latency-threshold'),
    requestCount: values.integer('request-count'),
    warmup: values.integer('warmup-request-count'),
  };
}

/** A level of the range must be at least this. */
const leastRate = 0.001;

function rangeOf(name: string, text: string, integers: boolean): LevelRange {
  const parts = text.split(':');
  const [start = NaN, end = start, step = 1] = parts.map((part) => (part.trim() === '' ? NaN : Number(part)));
  const isFine = (value: number): boolean =>
    integers ? Number.isSafeInteger(value) : Number.isFinite(value);
  const least = integers ? 1 : leastRate;
  const open = parts.length > 1 && end === 0;
  const valid =
    parts.length <= 3 &&
    [start, end, step].every(isFine) &&
    start >= least &&
    step >= least &&
    (open || end >= start);
  const kind = integers ? 'integers' : 'numbers';
  if (!valid)
    throw invalidArgument(
      `expected start:end:step for --${name}, ${kind} of at least ${least} with start ≤ end, or end 0, but received '${text}'`,
    );
  return { start, end: open ? Infinity : end, step };
}

function loadOf(values: FlagValues, plan: WindowPlan, faults: Faults): PerfLoad {
  const ways = ['concurrency-range', 'request-rate-range', 'request-intervals'].filter((name) =>
    values.has(name),
  );
  if (ways.length > 1) faults.add(`perf makes one kind of load, but received --${ways.join(' and --')}`);
  const file = values.text('request-intervals');
  if (values.has('request-distribution') && !values.has('request-rate-range'))
    faults.add('--request-distribution needs --request-rate-range');
  if (file !== undefined) {
    const intervalsMs = faults.read(() => intervalsOf(file), [1]);
    return { mode: 'intervals', intervalsMs };
  }
  const isRate = values.has('request-rate-range');
  const name = isRate ? 'request-rate-range' : 'concurrency-range';
  const range = faults.read(() => rangeOf(name, values.text(name) ?? '1', !isRate), {
    start: 1,
    end: 1,
    step: 1,
  });
  const binary = values.has('binary-search');
  const { latencyThresholdMs: threshold } = plan;
  if (threshold === 0 && (range.end === Infinity || binary))
    faults.add(`${binary ? '--binary-search' : `--${name}=${range.start}:0`} needs --latency-threshold`);
  if (binary && range.end === Infinity) faults.add(`--binary-search needs the end of --${name}`);
  const search = binary ? 'binary' : 'linear';
  if (!isRate) return { mode: 'concurrency', range, search };
  return { mode: 'rate', range, search, poisson: values.text('request-distribution') === 'poisson' };
}

function intervalsOf(file: string): readonly number[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw invalidArgument(`--request-intervals: ${file} cannot be read: ${thrownText(error)}`, {
      cause: error,
    });
  }
  const lines = text.split(/\s+/).filter((line) => line !== '');
  const wrong = lines.find((line) => !(Number(line) >= 0 && Number(line) <= Number.MAX_SAFE_INTEGER));
  if (wrong !== undefined)
    throw invalidArgument(
      `--request-intervals: expected microseconds in ${file} but received '${wrong.slice(0, 40)}'`,
    );
  const intervalsMs = lines.map((line) => Number(line) / 1000);
  if (!(intervalsMs.reduce((sum, one) => sum + one, 0) > 0))
    throw invalidArgument(`--request-intervals: ${file} has no time above 0`);
  return intervalsMs;
}
