/**
 * The flags of `tritonts perf`: perf_analyzer's, and a few of its own. The parser, the help and the table in docs/perf.md
 * are generated from this table.
 */

import {
  alone,
  byName,
  choice,
  hint,
  integer,
  lettered,
  number,
  only,
  refuse,
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
} from './request-flags.js';

const most = Number.MAX_SAFE_INTEGER;

/** A flag without a value that is not accepted. */
function refuseAlone(name: string, why: string): Flag {
  return { ...hint(name, alone, why), effect: 'refused' };
}

const tlsFlags = [
  'ssl-grpc-use-ssl',
  'ssl-grpc-root-certifications-file',
  'ssl-grpc-private-key-file',
  'ssl-grpc-certificate-chain-file',
  'ssl-https-verify-peer',
  'ssl-https-verify-host',
  'ssl-https-ca-certificates-file',
  'ssl-https-client-certificate-file',
  'ssl-https-client-certificate-type',
  'ssl-https-private-key-file',
  'ssl-https-private-key-type',
] as const;

const target: FlagGroup = {
  title: 'What is measured',
  flags: [
    lettered('m', use('model-name', text('name'), undefined, 'the model')),
    ...versionFlag,
    lettered(
      'u',
      use(
        'url',
        text('url'),
        undefined,
        'the server: http://…, https://…, grpc://… or grpcs://…; a host and port without a scheme are those of --protocol; may also stand alone',
      ),
    ),
    lettered('i', use('protocol', choice('http', 'grpc'), 'http', 'the protocol, if the URL has no scheme')),
    useAll(
      'model-repository',
      'folder',
      'measures in this process: a folder of models, or s3://, gs:// or as:// and a place; may also stand alone',
    ),
    use(
      'service-kind',
      choice('triton', 'triton_c_api'),
      'triton',
      "'triton_c_api' measures in this process, as --model-repository does alone",
    ),
    lettered('H', useAll('header', 'name:value', 'a header of each request')),
    ...parameterFlag,
    ...inProcessFlags,
    refuse(
      'model-signature-name',
      'name',
      'signatures belong to TensorFlow Serving; servers here are of KServe v2',
    ),
    refuse('endpoint', 'path', 'paths are those of KServe v2; a path before them belongs to --url'),
    refuse(
      'triton-server-directory',
      'folder',
      'this process measures with tritonts; use --model-repository',
    ),
    only(
      'grpc-compression-algorithm',
      choice('none', 'gzip', 'deflate'),
      'none',
      'requests are sent without compression',
    ),
    ...tlsFlags.map((name) =>
      refuse(name, 'value', 'use https:// or grpcs://, and NODE_EXTRA_CA_CERTS for further authorities'),
    ),
    ...['trace-level', 'trace-rate', 'trace-count', 'log-frequency'].map((name) =>
      refuse(name, 'value', "traces are the server's: set them there"),
    ),
    useAll(
      'bls-composing-models',
      'name',
      'a model that the measured one calls, whose statistics are shown, too; several with commas',
    ),
  ],
};

const load: FlagGroup = {
  title: 'Load',
  flags: [
    use(
      'concurrency-range',
      text('start:end:step'),
      '1',
      'requests at once, from start to end; end 0: up to --latency-threshold',
    ),
    use(
      'request-rate-range',
      text('start:end:step'),
      undefined,
      'requests a second, sent whether or not earlier ones have ended; end 0: up to --latency-threshold',
    ),
    use(
      'request-distribution',
      choice('constant', 'poisson'),
      'constant',
      'the times between requests of a rate: equal, or those of callers that know nothing of one another',
    ),
    use(
      'request-intervals',
      text('file'),
      undefined,
      'times between requests in microseconds, one a line, again and again',
    ),
    use(
      'binary-search',
      alone,
      undefined,
      'finds the highest level below --latency-threshold by halving the range',
    ),
    use('request-count', integer(0), '0', 'so many requests of each level, in place of windows; 0: windows'),
    use('warmup-request-count', integer(0), '0', 'requests before the measurement of each level'),
    use('num-of-sequences', integer(1, 65_536), '4', 'sequences that are open at once, with a request rate'),
    ...sequenceFlags,
    hint('serial-sequences', alone, 'the requests of a sequence always follow one another'),
    ...streamingFlag,
    lettered('a', hint('async', alone, 'one thread sends all requests, and waits for none')),
    hint('sync', alone, 'one thread sends all requests, and waits for none'),
    hint('max-threads', integer(1), 'one thread sends all requests'),
    refuse(
      'periodic-concurrency-range',
      'start:end:step',
      '--concurrency-range measures each level on its own',
    ),
    refuse('request-period', 'n', 'it belongs to --periodic-concurrency-range'),
    lettered('t', refuse('concurrent-request-count', 'n', 'use --concurrency-range')),
    lettered('d', refuseAlone('dynamic-concurrency-mode', 'use --concurrency-range=start:end')),
    lettered('c', refuse('max-concurrency', 'n', 'use the end of --concurrency-range')),
  ],
};

const data: FlagGroup = {
  title: 'Data',
  flags: [
    ...dataFlags,
    only('input-tensor-format', choice('binary', 'json'), 'binary', 'tensors over HTTP are binary'),
    only('output-tensor-format', choice('binary', 'json'), 'binary', 'tensors over HTTP are binary'),
    lettered('z', refuseAlone('zero-input', 'use --input-data=zero')),
    refuse('data-directory', 'folder', 'use --input-data'),
    use(
      'shared-memory',
      choice('none', 'system', 'cuda'),
      'none',
      "'system' puts tensors into shared memory, which a server on this machine registers; no 'cuda': the tool has no memory of GPUs",
    ),
    use(
      'output-shared-memory-size',
      integer(1, 2 ** 31 - 1),
      '102400',
      'room in shared memory for each output of texts or variable dims, in bytes',
    ),
  ],
};

const windows: FlagGroup = {
  title: 'Windows',
  flags: [
    use(
      'measurement-mode',
      choice('time_windows', 'count_windows'),
      'time_windows',
      'windows of a length, or of a number of requests and at least a second',
    ),
    lettered(
      'p',
      use(
        'measurement-interval',
        integer(100, 2 ** 31 - 1),
        '5000',
        'the length of a window, in milliseconds',
      ),
    ),
    use('measurement-request-count', integer(1), '50', "requests of a window of 'count_windows'"),
    lettered(
      's',
      use(
        'stability-percentage',
        number(0, most, 'percent'),
        '10',
        'how far the last three windows may be apart, in throughput and in latency',
      ),
    ),
    lettered('r', use('max-trials', integer(1, 100_000), '10', 'the most windows of a level')),
    use('percentile', integer(1, 99), undefined, 'the latency that decides; without it the mean'),
    lettered(
      'l',
      use(
        'latency-threshold',
        number(0, most, 'ms'),
        '0',
        'levels above this latency end the search; 0: none',
      ),
    ),
  ],
};

const reports: FlagGroup = {
  title: 'Reports',
  flags: [
    lettered(
      'f',
      use('latency-report-file', text('file'), undefined, "a CSV file with perf_analyzer's columns"),
    ),
    use('verbose-csv', alone, undefined, 'further columns in it'),
    use('json', text('file'), undefined, 'a JSON file with all figures, for --compare and for programs'),
    use('plot', text('file'), undefined, 'a picture of throughput against latency, as SVG'),
    use(
      'compare',
      text('file'),
      undefined,
      'a JSON file of another run: says which differences are significant',
    ),
    lettered('v', use('verbose', alone, undefined, 'a line for each window also on a terminal')),
    refuse('profile-export-file', 'file', 'single requests are not kept; --json has slices of each window'),
    refuseAlone('collect-metrics', 'read /metrics of the server beside it'),
    refuse('metrics-url', 'url', 'read /metrics of the server beside it'),
    refuse('metrics-interval', 'ms', 'read /metrics of the server beside it'),
    use('help', alone, undefined, 'this text'),
  ],
};

/** All flags, in the order of the help. */
export const perfFlagGroups: readonly FlagGroup[] = [target, load, data, windows, reports];

/** All flags by name. */
export const perfFlags: ReadonlyMap<string, Flag> = byName(perfFlagGroups);
