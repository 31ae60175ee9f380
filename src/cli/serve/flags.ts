/**
 * The flags of `tritonts serve`: tritonserver's flags, and a few that Triton does not have. The parser, the
 * help and the table in docs/serve.md are generated from this table.
 */

import { mostTraceCount, mostTraceRate } from '../../trace-config.js';
import { mostThreads } from '../../most-threads.js';
import { endpointGroups } from './endpoint-flags.js';
import {
  alone,
  bool,
  byName,
  choice,
  hint,
  integer,
  only,
  refuse,
  text,
  use,
  useAll,
  type Flag,
} from '../flags/flag.js';
import type { FlagGroup } from '../flags/flag.js';
import { logFormats } from '../../endpoints/service/log-settings.js';

const noVertex = 'there is no endpoint for Vertex AI';
const noSageMaker = 'there is no endpoint for SageMaker';

const models: FlagGroup = {
  title: 'Models',
  flags: [
    useAll(
      'model-repository',
      'folder',
      'a folder of models, or s3://, gs:// or as:// and a place in an object store; it may also stand alone',
    ),
    useAll('model-store', 'folder', 'the old name of --model-repository'),
    use(
      'model-control-mode',
      choice('none', 'poll', 'explicit'),
      'none',
      "'none' loads all models once; 'poll' looks again for changes; 'explicit' loads those of --load-model, and more on request",
    ),
    use(
      'repository-poll-secs',
      integer(0, 2_147_483),
      '15',
      "the time between two looks at the repositories in mode 'poll'; 0: never",
    ),
    useAll('load-model', 'name', "a model to load at the start in mode 'explicit'; '*' alone loads all"),
    use(
      'load',
      choice('eager', 'lazy'),
      'eager',
      "when models are loaded: at the start, or lazily, at their first request; a model's parameter 'load' goes first",
    ),
    use(
      'memory-budget-bytes',
      integer(1),
      undefined,
      'bytes of memory that lazy models may take together; the least recently used ones are unloaded',
    ),
    use('exit-on-error', bool, 'true', 'exit with 1 if a model cannot be loaded at the start'),
    use(
      'strict-readiness',
      bool,
      'true',
      'ready only when all models are; with false while the server is up',
    ),
    use('disable-auto-complete-config', alone, undefined, "complete nothing from the model's file"),
    use('strict-model-config', bool, 'false', 'the old name of --disable-auto-complete-config, with a value'),
    use('model-load-thread-count', integer(1, mostThreads), '4', 'how many models are loaded at once'),
    use(
      'backend-directory',
      text('folder'),
      undefined,
      'a folder of backends in JavaScript: <name>/model.js',
    ),
    useAll(
      'backend-config',
      'backend,key=value',
      'an option of a backend; without a backend, default-max-batch-size of all',
    ),
    use(
      'min-supported-compute-capability',
      text('number'),
      '6.0',
      'GPUs of a lower compute capability are not used',
    ),
    use(
      'pinned-memory-pool-byte-size',
      integer(0),
      '268435456',
      'bytes of memory of the host that are pinned for copies to GPUs and back',
    ),
    useAll(
      'cuda-memory-pool-byte-size',
      'gpu:bytes',
      'bytes of the memory of a GPU that are kept for tensors (default: 67108864)',
    ),
    refuse('model-config-name', 'name', 'a model has one configuration here, config.pbtxt'),
    only('model-load-retry-count', integer(0), '0', 'a load that failed is tried again only by polls'),
    use(
      'model-namespacing',
      bool,
      'false',
      'let models of different repositories have the same name; each repository is a namespace',
    ),
    refuse('model-load-gpu-limit', 'gpu:fraction', 'the memory that loads take of a GPU cannot be limited'),
    use(
      'rate-limit',
      choice('off', 'execution_count'),
      'off',
      "'execution_count': instances share the resources of their rate_limiter",
    ),
    useAll(
      'rate-limit-resource',
      'name:count[:device]',
      'how many units of a resource there are (default: what the instance needs that needs the most)',
    ),
    useAll(
      'host-policy',
      'policy,setting=value',
      'binds the threads of instances: cpu,cpu-cores=0-3, or gpu_0,numa-node=0',
    ),
    useAll(
      'cache-config',
      'cache,key=value',
      'the response cache: local,size=<bytes>, or redis,host=<name> and redis,port=<number>; docs/cache.md has more keys',
    ),
    use(
      'cache-directory',
      text('folder'),
      undefined,
      'a folder of response caches that are plug-ins of Triton: <name>/libtritoncache_<name>.so',
    ),
    use(
      'response-cache-byte-size',
      integer(0),
      '0',
      'the old form of --cache-config=local,size=<bytes>; 0: none',
    ),
    use(
      'repoagent-directory',
      text('folder'),
      undefined,
      'a folder of repository agents: <name>/agent.js, or <name>/libtritonrepoagent_<name>.so of Triton',
    ),
  ],
};

const process: FlagGroup = {
  title: 'Process and log',
  flags: [
    use('id', text('name'), 'tritonts', "the server's name in its metadata"),
    use(
      'exit-timeout-secs',
      integer(0),
      '30',
      'how long requests under way have to end when the server stops',
    ),
    use('log-verbose', integer(0), '0', 'from 1 on, a line for each request, and each step of a load'),
    use('log-info', bool, 'true', 'log information'),
    use('log-warning', bool, 'true', 'log warnings'),
    use('log-error', bool, 'true', 'log errors'),
    use(
      'log-format',
      choice(...logFormats),
      'default',
      "'default' begins with LMMDD hh:mm:ss.ssssss, 'ISO8601' with the date; both are UTC; 'json' writes an object a line",
    ),
    use('log-file', text('file'), undefined, 'append the log to a file (default: stderr)'),
    use(
      'allow-client-shm',
      bool,
      'false',
      'let clients register shared memory of this machine, and name it in requests',
    ),
    useAll(
      'trace-config',
      '[mode,]setting=value',
      'traces of requests: level=, rate=, count=, mode=; triton,file= and triton,log-frequency=; opentelemetry,url= and more, see docs/tracing.md',
    ),
    useAll('trace-level', 'level', 'the old form of --trace-config=level=<level>; also MIN and MAX'),
    use('trace-rate', integer(0, mostTraceRate), undefined, 'the old form of --trace-config=rate=<n>'),
    use('trace-count', integer(-1, mostTraceCount), undefined, 'the old form of --trace-config=count=<n>'),
    use('trace-file', text('file'), undefined, 'the old form of --trace-config=triton,file=<file>'),
    use(
      'trace-log-frequency',
      integer(0, mostTraceRate),
      undefined,
      'the old form of --trace-config=triton,log-frequency=<n>',
    ),
    use('help', alone, undefined, 'print this'),
  ],
};

const own: FlagGroup = {
  title: 'Not in Triton',
  flags: [
    use(
      'ui',
      alone,
      undefined,
      'serve a web page at /ui/ of the HTTP port: models, charts, loads, a form for requests; docs/ui.md',
    ),
    use('instance-kind', choice('cpu'), undefined, 'run KIND_GPU models on the CPU'),
    use(
      'threads',
      integer(1, mostThreads),
      undefined,
      'how many cores to use (default: what affinity and cgroup quota leave)',
    ),
    use(
      'max-in-flight-bytes',
      integer(1),
      undefined,
      'bytes that requests under way may hold (default: 1 GiB, or a quarter of the memory limit)',
    ),
    use(
      'http-max-connections',
      integer(1),
      undefined,
      'how many connections over HTTP are open at most, of each thread; one more is closed at once',
    ),
    use('grpc-max-connections', integer(1), undefined, 'the same over gRPC'),
    use('openai-max-connections', integer(1), undefined, "the same by OpenAI's protocol"),
    use('finalize-timeout-msecs', integer(0), '5000', 'how long finalize of a model may take'),
    use(
      'repository-cache-directory',
      text('folder'),
      undefined,
      'where files of object stores are kept (default: a folder in that for temporary files)',
    ),
    use(
      'repository-cache-byte-size',
      integer(1),
      '10737418240',
      'bytes of files of object stores that are kept',
    ),
    useAll('trusted-folder', 'folder', "a folder that models' configurations may name files in"),
    use('outside-links', alone, undefined, 'links may lead out of a repository; docs/security.md'),
  ],
};

const elsewhere: FlagGroup = {
  title: 'What Triton has besides',
  flags: [
    only('allow-sagemaker', bool, 'false', noSageMaker),
    hint('sagemaker-port', integer(0, 65_535), noSageMaker),
    hint('sagemaker-safe-port-range', text('from-to'), noSageMaker),
    hint('sagemaker-thread-count', integer(1), noSageMaker),
    only('allow-vertex-ai', bool, 'false', noVertex),
    hint('vertex-ai-port', integer(0, 65_535), noVertex),
    hint('vertex-ai-thread-count', integer(1), noVertex),
    hint('vertex-ai-default-model', text('name'), noVertex),
    hint('cuda-virtual-address-size', text('gpu:bytes'), 'memory of GPUs is not mapped in advance'),
    hint('enable-peer-access', bool, 'GPUs do not read the memory of others'),
    hint('buffer-manager-thread-count', integer(0), 'instances copy their inputs themselves'),
  ],
};

/** All flags, in the order of the help. */
export const flagGroups: readonly FlagGroup[] = [models, ...endpointGroups, process, own, elsewhere];

/** All flags by name. */
export const flags: ReadonlyMap<string, Flag> = byName(flagGroups);
