import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { flagGroups, flags } from '../../../src/cli/serve/flags.js';
import { flagTable } from '../../../src/cli/serve/help.js';
import { parseFlags } from '../../../src/cli/serve/parse-flags.js';
import { settingsOf, type ServeSettings } from '../../../src/cli/serve/settings.js';
import { canReusePort } from '../../../src/endpoints/service/listen-options.js';
import { thrown } from '../../support/harness.js';
import { root } from '../../support/project.js';
import { tritonts } from '../run.js';

/** The settings of a command line, after a repository. */
function settings(...args: readonly string[]): ServeSettings {
  return settingsOf(parseFlags(['--model-repository=/models', ...args]));
}

/** The message for an invalid command line. */
function refused(...args: readonly string[]): string {
  const { code, message } = thrown(() => settings(...args));
  assert.equal(code, 'INVALID_ARG');
  return message;
}

test('without flags everything is as tritonserver has it', () => {
  const { server, http, grpc, metrics, exitOnError, exitTimeoutMs, ignored } = settings();
  assert.deepEqual(server.modelRepository, ['/models']);
  assert.equal(server.modelControlMode, 'none');
  assert.equal(server.autoCompleteConfig, true);
  assert.deepEqual([http?.host, http?.port, http?.maxRequestBytes], ['0.0.0.0', 8000, 64 << 20]);
  const { host, port, keepaliveTimeMs } = grpc?.options ?? {};
  assert.deepEqual([host, port, keepaliveTimeMs], ['0.0.0.0', 8001, 7_200_000]);
  assert.deepEqual(metrics, { host: '0.0.0.0', port: 8002 });
  assert.deepEqual([exitOnError, exitTimeoutMs, ignored], [true, 30_000, []]);
});

test('repositories are polled in mode poll, each 15 s where nothing else is said', () => {
  const { server, ignored } = settings('--model-control-mode=poll');
  assert.deepEqual([server.modelControlMode, server.repositoryPollMs, ignored], ['poll', 15_000, []]);
  const short = settings('--model-control-mode=poll', '--repository-poll-secs=2').server;
  assert.equal(short.repositoryPollMs, 2000);
  assert.equal(
    settings('--model-control-mode=poll', '--repository-poll-secs', '0').server.repositoryPollMs,
    0,
  );
  // As in tritonserver, the flag has no effect in the other modes. Here the log says so.
  const other = settings('--repository-poll-secs=2');
  assert.deepEqual([other.server.modelControlMode, other.server.repositoryPollMs], ['none', undefined]);
  assert.match(other.ignored.join(), /--repository-poll-secs: repositories are polled only with/);
});

test('repositories may be namespaces, and agents are in a folder', () => {
  const { server } = settings('--model-namespacing=true', '--repoagent-directory=agents');
  assert.deepEqual([server.modelNamespacing, server.repositoryAgentDirectory], [true, 'agents']);
  assert.deepEqual(
    [settings().server.modelNamespacing, settings().server.repositoryAgentDirectory],
    [false, undefined],
  );
});

test('links lead out of repositories only if that is asked for', () => {
  assert.deepEqual(
    [settings().server.outsideLinks, settings('--outside-links').server.outsideLinks],
    [false, true],
  );
});

test('a value stands behind = or as the next word; the last of several counts; lists collect', () => {
  const { server, http } = settings(
    '--http-port',
    '1',
    '--http-port=2',
    '--load-model=a',
    '--load-model',
    'b',
    '--model-control-mode',
    'explicit',
    'more',
  );
  assert.equal(http?.port, 2);
  assert.deepEqual(server.loadModels, ['a', 'b']);
  assert.deepEqual(server.modelRepository, ['/models', 'more']);
});

test('booleans are true, false, 1 and 0, in any case', () => {
  for (const [text, value] of [
    ['true', true],
    ['TRUE', true],
    ['1', true],
    ['False', false],
    ['0', false],
  ] as const)
    assert.equal(settings(`--strict-readiness=${text}`).server.strictReadiness, value);
  assert.match(
    refused('--strict-readiness=yes'),
    /expected true or false for --strict-readiness but received 'yes'/,
  );
  assert.match(refused('--strict-readiness'), /--strict-readiness needs a value/);
  assert.match(refused('--strict-readiness', '--id=x'), /--strict-readiness needs a value/);
  assert.match(refused('--disable-auto-complete-config=true'), /takes no value/);
});

test('completion is switched off by either name', () => {
  assert.equal(settings('--disable-auto-complete-config').server.autoCompleteConfig, false);
  assert.equal(settings('--strict-model-config=true').server.autoCompleteConfig, false);
  assert.equal(settings('--strict-model-config=false').server.autoCompleteConfig, true);
});

test('which GPUs are used and watched is read', () => {
  const given = settings('--min-supported-compute-capability=7.5', '--allow-gpu-metrics=false').server;
  assert.equal(given.minSupportedComputeCapability, 7.5);
  assert.equal(given.metricsConfig?.gpus, false);
  assert.equal(settings().server.minSupportedComputeCapability, 6);
  assert.throws(
    () => settings('--min-supported-compute-capability=new'),
    /expected a number such as 7\.5 for --min-supported-compute-capability but received 'new'/,
  );
});

test('pools of memory for GPUs are read', () => {
  const given = settings(
    '--pinned-memory-pool-byte-size=1000',
    '--cuda-memory-pool-byte-size=0:2000',
    '--cuda-memory-pool-byte-size=3:4000',
  ).server;
  assert.equal(given.pinnedMemoryPoolByteSize, 1000);
  assert.deepEqual(given.cudaMemoryPoolByteSize, { 0: 2000, 3: 4000 });
  assert.equal(settings().server.pinnedMemoryPoolByteSize, 2 ** 28);
  assert.match(
    refused('--cuda-memory-pool-byte-size=2000'),
    /expected the id of a GPU and bytes, such as 0:67108864, for --cuda-memory-pool-byte-size but received '2000'/,
  );
});

test('backends, metrics, restricted calls and patterns are read', () => {
  const { server, http, grpc } = settings(
    '--backend-config=onnxruntime,default-max-batch-size=8',
    '--backend-config=default-max-batch-size=4',
    '--metrics-config=summary_latencies=true',
    '--metrics-config=summary_quantiles=0.5:0.1,0.9:0.01',
    '--http-restricted-api=health,inference:my-key=a=b',
    '--grpc-restricted-protocol=inference:my-key=secret',
    '--http-header-forward-pattern=(?-i)X-.*',
    '--grpc-header-forward-pattern=x-.*',
  );
  assert.deepEqual(server.backendConfig, { onnxruntime: { 'default-max-batch-size': '4' } });
  assert.deepEqual(server.metricsConfig, {
    gpus: true,
    intervalMs: 2000,
    summaryLatencies: true,
    summaryQuantiles: [
      [0.5, 0.1],
      [0.9, 0.01],
    ],
  });
  assert.deepEqual(http?.restricted, [
    { protocols: ['health', 'inference'], header: 'my-key', value: 'a=b' },
  ]);
  assert.deepEqual(grpc?.options.restricted, [
    { protocols: ['inference'], header: 'triton-grpc-protocol-my-key', value: 'secret' },
  ]);
  assert.deepEqual([http.headerForwardPattern, grpc.options.headerForwardPattern], [/X-.*/, /x-.*/i]);
});

test('several threads share a port where this Node can do it, and are refused by name elsewhere', () => {
  for (const [flag, which] of [
    ['http-thread-count', 'http'],
    ['grpc-infer-thread-count', 'grpc'],
  ] as const) {
    if (canReusePort()) assert.equal(settings(`--${flag}=3`).threads[which], 3);
    else assert.match(refused(`--${flag}=3`), new RegExp(`--${flag}=3 needs Node 22\\.12 or newer`));
    assert.deepEqual(settings(`--${flag}=1`).threads, { http: 1, grpc: 1 });
  }
});

test('the response cache has a size, a time to live, and an old form', () => {
  const cacheOf = (...args: string[]): unknown => settings(...args).server.cacheConfig;
  assert.equal(cacheOf(), undefined);
  assert.equal(cacheOf('--response-cache-byte-size=0'), undefined);
  assert.deepEqual(cacheOf('--response-cache-byte-size=4096'), { local: { size: 4096 } });
  const withFolder = ['--cache-directory=/caches', '--cache-config=my.store,host-name=a=b'];
  assert.deepEqual(cacheOf(...withFolder, '--cache-config=my.store,plugin=x'), {
    'my.store': { 'host-name': 'a=b', plugin: 'x' },
  });
  assert.equal(settings(...withFolder).server.cacheDirectory, '/caches');
  assert.deepEqual(
    cacheOf('--cache-directory=/caches', '--cache-config=local,plugin=true', '--cache-config=local,most=9'),
    { local: { plugin: true, most: '9' } },
  );
  // Without that the folder changes nothing for caches that are built in.
  assert.deepEqual(cacheOf('--cache-directory=/caches', '--cache-config=local,size=4096'), {
    local: { size: 4096, ttlMs: undefined },
    coalesce: true,
  });
  assert.deepEqual(cacheOf('--cache-config=local,size=4096'), {
    local: { size: 4096, ttlMs: undefined },
    coalesce: true,
  });
  assert.deepEqual(
    cacheOf(
      '--cache-config=local,size=1',
      '--cache-config',
      'local,ttl_ms=50',
      '--cache-config=local,coalesce=false',
    ),
    { local: { size: 1, ttlMs: 50 }, coalesce: false },
  );
});

test('--trace-config, and the flags that it replaces', () => {
  const trace = (...args: readonly string[]): unknown => settings(...args).server.traceConfig;
  const off = { level: 'OFF', rate: undefined, count: undefined, mode: 'triton' };
  const none = { file: undefined, logFrequency: undefined };
  assert.deepEqual(trace(), { ...off, ...none });
  const file = '--trace-config=triton,file=/tmp/a=b.json';
  assert.deepEqual(
    trace(
      file,
      '--trace-config=level=timestamps',
      '--trace-config',
      'level=TENSORS',
      '--trace-config=rate=1',
    ),
    { ...off, ...none, level: ['TIMESTAMPS', 'TENSORS'], rate: 1, file: '/tmp/a=b.json' },
  );
  const level = (...words: readonly string[]): unknown =>
    settings(file, ...words.map((word) => `--trace-config=level=${word}`)).server.traceConfig?.level;
  for (const word of ['true', 'On', 'MIN', 'max', 'TimeStamps'])
    assert.deepEqual(level(word), ['TIMESTAMPS']);
  for (const word of ['off', 'FALSE']) assert.equal(level('TENSORS', word, 'MAX'), 'OFF');
  assert.deepEqual(
    trace(
      '--trace-file=f',
      '--trace-level=MAX',
      '--trace-rate=5',
      '--trace-count=6',
      '--trace-log-frequency=7',
    ),
    { level: ['TIMESTAMPS'], rate: 5, count: 6, mode: 'triton', file: 'f', logFrequency: 7 },
  );
  assert.deepEqual(trace('--trace-rate=5', '--trace-config=rate=6'), { ...off, ...none, rate: 6 });
  const spans = ['url=http://c/', 'resource=a=b', 'resource=c=d', 'bsp_schedule_delay=1'];
  assert.deepEqual(
    trace('--trace-config=mode=opentelemetry', ...spans.map((one) => `--trace-config=opentelemetry,${one}`)),
    {
      ...{ ...off, mode: 'opentelemetry' },
      openTelemetry: {
        ...{ url: 'http://c/', resource: { a: 'b', c: 'd' }, maxQueueSize: undefined },
        ...{ scheduleDelayMs: 1, maxExportBatchSize: undefined },
      },
    },
  );
  const unknown = settings('--trace-config=triton,colour=red', '--trace-config=opentelemetry,url=http://c/');
  assert.deepEqual(unknown.ignored, ['--trace-config=triton,colour=red: there is no such setting']);
});

test('the response cache in Redis has the options of Triton', () => {
  const text =
    'host=h port=1 user=u password=p=q db=2 connect_timeout=0 socket_timeout=50 pool_size=3 wait_timeout=9 tls_enabled=true ' +
    'cert=c key=k cacert=a cacert_dir=d sni=s ttl_ms=7 prefix=x: max_value_bytes=512 coalesce=false';
  const read = settings(...text.split(' ').map((one) => `--cache-config=redis,${one}`));
  assert.deepEqual(read.server.cacheConfig, {
    redis: {
      ...{ host: 'h', port: 1, user: 'u', password: 'p=q', db: 2, connectTimeoutMs: undefined, poolSize: 3 },
      tls: { ca: 'a', caDirectory: 'd', cert: 'c', key: 'k', serverName: 's' },
      ...{ ttlMs: 7, prefix: 'x:' },
    },
    ...{ coalesce: false, lookupTimeoutMs: 50, maxValueBytes: 512 },
  });
  assert.match(read.ignored.join('\n'), /redis,wait_timeout: look-ups share the connections/);
});

void suite('what is wrong is refused by name', () => {
  for (const [args, text] of [
    [['--http-prot=1'], /unknown flag --http-prot \(did you mean --http-port\?\)/],
    [['--model-repo=x'], /unknown flag --model-repo \(did you mean --model-repository\?\)/],
    [['-http-port=1'], /unknown flag -http-port=1 \(did you mean --http-port\?\)/],
    [['-x'], /unknown flag -x/],
    [['--http-port=70000'], /expected an integer from 0 to 65535 for --http-port but received '70000'/],
    [['--exit-timeout-secs=1.5'], /expected an integer of at least 0/],
    [['--log-format=xml'], /expected one of default, ISO8601, json for --log-format/],
    [['--model-control-mode=polls'], /expected one of none, poll, explicit for --model-control-mode/],
    [
      ['--model-control-mode=poll', '--repository-poll-secs=0.5'],
      /expected an integer from 0 to 2147483 for --repository-poll-secs but received '0\.5'/,
    ],
    [['--model-control-mode=poll', '--load-model=a'], /--load-model needs --model-control-mode=explicit/],
    [['--host-policy=cpu,cpu-cores'], /such as cpu,cpu-cores=0-3, for --host-policy but received/],
    [['--host-policy=,numa-node=0'], /such as cpu,cpu-cores=0-3, for --host-policy but received/],
    [['--host-policy=cpu,numa-node=far'], /the number of a NUMA node for --host-policy=cpu,numa-node/],
    [['--host-policy=cpu,nodes=1'], /'nodes', supported settings are 'numa-node', 'cpu-cores'/],
    [['--rate-limit-resource=memory:4'], /--rate-limit-resource needs --rate-limit=execution_count/],
    [['--rate-limit=execution_count', '--rate-limit-resource=memory'], /such as memory:4 or memory:4:0/],
    [['--rate-limit=execution_count', '--rate-limit-resource=memory:1:2:3'], /such as memory:4/],
    [
      ['--cache-config=redi,host=x'],
      /--cache-config=redi,host=…: unknown cache 'redi'; there are local and redis/,
    ],
    [['--cache-config=redis,host=x'], /--cache-config=redis,port=<number> is missing/],
    [['--cache-config=redis,port=1'], /--cache-config=redis,host=<name> is missing/],
    [
      ['--cache-config=redis,pasword=secret'],
      /--cache-config=redis,pasword=…: unknown key 'pasword' \(did you mean password/,
    ],
    [
      ['--cache-config=redis,host=x', '--cache-config=local,size=1'],
      /names the caches redis and local: choose one/,
    ],
    [['--cache-config=local'], /expected <cache>,<key>=<value> for --cache-config but received 'local'/],
    [['--cache-config=size=1'], /expected <cache>,<key>=<value> for --cache-config but received 'size=…'/],
    [['--cache-config=local,siz=1'], /unknown key 'siz' \(did you mean size\?\); there are size, ttl_ms/],
    [
      ['--cache-config=local,size=big'],
      /expected an integer for --cache-config=local,size but received 'big'/,
    ],
    [['--cache-config=local,ttl_ms=5'], /--cache-config=local,size=<bytes> is missing/],
    [
      ['--cache-config=local,size=512', '--cache-config=local,coalesce=no'],
      /expected true or false for .*coalesce/,
    ],
    [['--cache-config=local,size=512', '--response-cache-byte-size=512'], /both given: give one of them/],
    [['--http-thread-count=0'], /expected an integer from 1 to 128 for --http-thread-count but received '0'/],
    [['--load-model=a'], /--load-model needs --model-control-mode=explicit/],
    [['--model-control-mode=explicit', '--load-model=a', '--load-model=*'], /give it alone/],
    [['--model-repository=http://bucket/models'], /there are folders, s3:\/\/, gs:\/\/ and as:\/\//],
    [
      ['--model-repository=s3://host:9000'],
      /expected s3:\/\/<bucket>\/<path> .* for --model-repository but received/,
    ],
    [['--repository-cache-byte-size=0'], /at least 1 for --repository-cache-byte-size but received '0'/],
    [
      ['--repository-cache-byte-size=1e9'],
      /an integer .* for --repository-cache-byte-size but received '1e9'/,
    ],
    [['--repository-cache-directory='], /for --repository-cache-directory but received/],
    [['--memory-budget-bytes=0'], /at least 1 for --memory-budget-bytes but received '0'/],
    [['--memory-budget-bytes=1GiB'], /an integer .* for --memory-budget-bytes but received '1GiB'/],
    [['--load=sometimes'], /expected one of eager, lazy for --load but received 'sometimes'/],
    [['--model-namespacing=yes'], /expected true or false for --model-namespacing but received 'yes'/],
    [['--repoagent-directory='], /for --repoagent-directory but received/],
    [['--trace-config=level'], /expected \[mode,\]setting=value for --trace-config/],
    [['--trace-config=level=all'], /expected OFF, TIMESTAMPS or TENSORS for --trace-config=level.*'all'/],
    [['--trace-level=all'], /for --trace-level.*'all'/],
    [['--trace-config=level=MIN'], /--trace-config: .*trace file name is not given/],
    [['--trace-config=rate=x'], /expected an integer from 0 to 4294967295 for --trace-config=rate.*'x'/],
    [['--trace-config=count=-2'], /expected an integer from -1 to 2147483647/],
    [['--trace-config=mode=zipkin'], /expected triton or opentelemetry/],
    [['--trace-config=mode=opentelemetry', '--trace-config=opentelemetry,url=c'], /--trace-config: .*URL/],
    [['--trace-config=mode=opentelemetry', '--trace-config=opentelemetry,resource=c'], /<key>=<value>.*'c'/],
    [['--backend-config=threads=4'], /only default-max-batch-size may be given without a backend/],
    [['--backend-config=onnxruntime'], /expected <backend>,<key>=<value>/],
    [['--metrics-config=latencies=true'], /unknown setting 'latencies' of --metrics-config/],
    [
      ['--metrics-config=counter_latencies=maybe'],
      /expected true or false for --metrics-config=counter_latencies/,
    ],
    [['--http-restricted-api=all:key=secret'], /expected health, .* but received 'all'/],
    [
      ['--http-restricted-api=health:key=secret', '--http-restricted-api=health:k=s'],
      /'health' is restricted twice/,
    ],
    [['--http-restricted-api=health'], /expected <apis>:<key>=<value>/],
    [['--http-header-forward-pattern=('], /expected a pattern for --http-header-forward-pattern/],
    [['--grpc-use-ssl=true'], /--grpc-use-ssl needs --grpc-server-cert/],
    [['--grpc-infer-thread-count=129'], /expected an integer from 1 to 128/],
    [['--id='], /expected name for --id/],
  ] as const) {
    test(args.join(' '), () => {
      assert.match(refused(...args), text);
    });
  }
});

test('limits of connections are of both protocols', () => {
  const { http, grpc } = settings('--http-max-connections=7', '--grpc-max-connections=8');
  assert.deepEqual([http?.maxConnections, grpc?.options.maxConnections], [7, 8]);
  assert.equal(settings().http?.maxConnections, undefined);
  assert.match(refused('--http-max-connections=0'), /http-max-connections/);
});

test('a secret is not shown', () => {
  assert.doesNotMatch(refused('--http-restricted-api=all:key=hunter2'), /hunter2/);
  assert.doesNotMatch(refused('--http-restricted-api=health:bad key=hunter2'), /hunter2/);
  for (const given of [
    'password=hunter2',
    'password hunter2',
    'redis,password hunter2',
    'redis,password:hunter2==',
    'redis:password:hunter2==',
    'redis password hunter2,host=x',
    '=hunter2',
    'redis,host=x,password=hunter2',
  ]) {
    const text = refused(`--cache-config=${given}`);
    assert.match(text, /--cache-config/);
    assert.doesNotMatch(text, /hunter2/);
  }
});

test('the flags that tritonserver has are all known', () => {
  const tritons = `help id exit-timeout-secs model-repository model-store exit-on-error disable-auto-complete-config
    strict-readiness model-control-mode repository-poll-secs load-model model-config-name model-load-thread-count
    model-load-retry-count model-namespacing enable-peer-access allow-http http-address http-port reuse-http-port
    http-header-forward-pattern http-thread-count http-max-input-size http-restricted-api allow-grpc grpc-address grpc-port
    reuse-grpc-port grpc-header-forward-pattern grpc-infer-thread-count grpc-infer-allocation-pool-size
    grpc-max-response-pool-size grpc-use-ssl grpc-use-ssl-mutual grpc-server-cert grpc-server-key grpc-root-cert
    grpc-infer-response-compression-level grpc-keepalive-time grpc-keepalive-timeout grpc-keepalive-permit-without-calls
    grpc-http2-max-pings-without-data grpc-http2-min-recv-ping-interval-without-data grpc-http2-max-ping-strikes
    grpc-max-connection-age grpc-max-connection-age-grace grpc-restricted-protocol log-verbose log-info log-warning log-error
    log-format log-file allow-sagemaker sagemaker-port sagemaker-safe-port-range sagemaker-thread-count allow-vertex-ai
    vertex-ai-port vertex-ai-thread-count vertex-ai-default-model allow-metrics allow-gpu-metrics allow-cpu-metrics
    metrics-address metrics-port metrics-interval-ms metrics-config trace-config cache-config cache-directory rate-limit
    rate-limit-resource pinned-memory-pool-byte-size cuda-memory-pool-byte-size cuda-virtual-address-size
    min-supported-compute-capability buffer-manager-thread-count host-policy model-load-gpu-limit allow-client-shm
    backend-directory backend-config repoagent-directory strict-model-config response-cache-byte-size trace-file trace-level
    trace-rate trace-count trace-log-frequency`;
  for (const name of tritons.split(/\s+/)) assert.ok(flags.has(name), name);
  // All names are unique.
  assert.equal(flags.size, flagGroups.flatMap((group) => group.flags).length);
});

test('--help lists every flag, in groups', async () => {
  const { code, stdout, stderr } = await tritonts('serve', '--help');
  assert.deepEqual([code, stderr], [0, '']);
  for (const { title } of flagGroups) assert.ok(stdout.includes(`\n${title}:\n`), title);
  for (const name of flags.keys()) assert.match(stdout, new RegExp(`^  --${name}(=|\\s|$)`, 'm'));
});

test('a wrong command line ends with 2, and all of it is said at once', async () => {
  const { code, stdout, stderr } = await tritonts(
    'serve',
    '--model-load-gpu-limit',
    'a=b',
    '--http-port=x',
    '--whatever',
  );
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(
    stderr,
    /--model-load-gpu-limit is not supported.*\n.*--http-port.*\n.*unknown flag --whatever/,
  );
  assert.match((await tritonts('serve')).stderr, /--model-repository=<folder> is missing/);
});

test("the page's table is the one of the command", async () => {
  const page = await readFile(join(root, 'docs', 'serve.md'), 'utf8');
  const plain = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---');
  assert.ok(plain(page).includes(plain(flagTable())), `docs/serve.md needs this table:\n\n${flagTable()}`);
});
