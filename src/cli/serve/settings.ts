/** Turns flags into the options of the server, of its endpoints and of the log. */

import { backends } from '../../backends/index.js';
import { invalidArgument } from '../../errors.js';
import { checkServeOptions } from '../../endpoints/http/options.js';
import { restrictedGroups } from '../../endpoints/http/routes.js';
import type { ServeHttpOptions } from '../../endpoints/http/serve.js';
import { canReusePort } from '../../endpoints/service/listen-options.js';
import type { MetricsConfig } from '../../metrics/metrics-config.js';
import type { ServeMetricsOptions } from '../../metrics/serve.js';
import type { BackendConfig, ServerOptions } from '../../options.js';
import type { HostPolicyOptions } from '../../scheduling/host-policy.js';
import type { RateLimitOptions, RateLimitResource } from '../../scheduling/rate-limit.js';
import { didYouMean } from '../../suggest.js';
import { cacheConfig } from './cache-settings.js';
import { grpcSettings, type GrpcSettings } from './grpc-settings.js';
import { openAISettings, type OpenAISettings } from './openai-settings.js';
import type { LogSettings } from './log.js';
import {
  isOtherAddress,
  isStoreAddress,
  readStorePlace,
  shownAddress,
} from '../../registry/sources/store/store-place.js';
import { pair } from './pair.js';
import type { FlagValues } from './parse-flags.js';
import { traceConfig } from './trace-flags.js';
import { readPattern, readRestricted } from './restricted.js';
import { logFormats } from '../../endpoints/service/log-settings.js';

/** See the head of this file. */
export interface ServeSettings {
  readonly server: ServerOptions;
  readonly exitOnError: boolean;
  readonly exitTimeoutMs: number;
  /** Undefined if the endpoint is not served. The same holds for the others. */
  readonly http: ServeHttpOptions | undefined;
  readonly grpc: GrpcSettings | undefined;
  readonly metrics: ServeMetricsOptions | undefined;
  readonly openAI: OpenAISettings | undefined;
  /** Number of event loops that serve each endpoint. */
  readonly threads: { readonly http: number; readonly grpc: number };
  readonly log: LogSettings;
  /** Descriptions of ignored flags, for the log. */
  readonly ignored: readonly string[];
}

/**
 * Triton's backends that do not exist here. Their options are harmless, because a model that needs such a
 * backend cannot be loaded.
 */
const otherBackends: readonly string[] = ['dali', 'tensorrtllm', 'vllm'];

/** @throws {@link TritonError} INVALID_ARG for a backend or an option that does not exist. */
function checkBackendOption(text: string, name: string, key: string, withPlugins: boolean): void {
  const known = backends().get(name);
  if (known === undefined && withPlugins) return;
  const [what, word, names] =
    known === undefined ? ['backend', name, [...backends().keys()]] : ['option', key, known.optionKeys];
  if (names.includes(word)) return;
  throw invalidArgument(
    `--backend-config=${text}: unknown ${what} '${word}'${didYouMean(word, names)}; there are ${names.join(', ')}`,
  );
}

function backendConfig(
  values: FlagValues,
  ignored: string[],
): Readonly<Record<string, BackendConfig>> | undefined {
  const config = new Map<string, Record<string, string>>();
  for (const text of values.list('backend-config')) {
    const [left, value] = pair('backend-config', text, '<backend>,<key>=<value>');
    const comma = left.indexOf(',');
    const backend = comma < 0 ? '' : left.slice(0, comma);
    const key = left.slice(comma + 1);
    if (otherBackends.includes(backend)) {
      ignored.push(`--backend-config=${text}: unknown backend '${backend}'`);
    } else if (backend === '' && key === 'min-compute-capability') {
      ignored.push(`--backend-config=${text}: --min-supported-compute-capability sets it for all backends`);
    } else if (backend === '' && key !== 'default-max-batch-size') {
      throw invalidArgument(
        `--backend-config=${text}: only default-max-batch-size may be given without a backend; write <backend>,${key}=${value}`,
      );
    } else {
      const name = backend === '' ? 'onnxruntime' : backend;
      checkBackendOption(text, name, key, values.text('backend-directory') !== undefined);
      config.set(name, { ...config.get(name), [key]: value });
    }
  }
  return config.size === 0 ? undefined : Object.fromEntries(config);
}

function metricsFlag(key: string, value: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  throw invalidArgument(`expected true or false for --metrics-config=${key} but received '${value}'`);
}

function quantiles(text: string): [number, number][] {
  return text.split(',').map((one) => {
    const [quantile = NaN, error = NaN, ...rest] = one.split(':').map(Number);
    if (quantile > 0 && quantile < 1 && error > 0 && error < 1 && rest.length === 0) return [quantile, error];
    throw invalidArgument(
      `expected <quantile>:<error>,… between 0 and 1 for --metrics-config=summary_quantiles but received '${text}'`,
    );
  });
}

function metricsConfig(values: FlagValues): MetricsConfig {
  const given = new Map(
    values.list('metrics-config').map((text) => pair('metrics-config', text, '<setting>=<value>')),
  );
  const config = {
    gpus: values.boolean('allow-gpu-metrics'),
    intervalMs: values.integer('metrics-interval-ms'),
  };
  return [...given].reduce<MetricsConfig>((all, [key, value]) => {
    switch (key) {
      case 'counter_latencies':
        return { ...all, counterLatencies: metricsFlag(key, value) };
      case 'histogram_latencies':
        return { ...all, histogramLatencies: metricsFlag(key, value) };
      case 'summary_latencies':
        return { ...all, summaryLatencies: metricsFlag(key, value) };
      case 'summary_quantiles':
        // As in Triton, ignored unless summaries are on.
        return given.get('summary_latencies') === 'true'
          ? { ...all, summaryQuantiles: quantiles(value) }
          : all;
      default:
        throw invalidArgument(
          `unknown setting '${key}' of --metrics-config; it takes counter_latencies, histogram_latencies, summary_latencies, summary_quantiles`,
        );
    }
  }, config);
}

function capability(given: string | undefined): number {
  if (given !== undefined && /^\d{1,3}(\.\d)?$/.test(given)) return Number(given);
  throw invalidArgument(
    `expected a number such as 7.5 for --min-supported-compute-capability but received '${given ?? ''}'`,
  );
}

/** @throws {@link TritonError} INVALID_ARG for an address that is none of a store. */
function checkAddress(folder: string): void {
  if (isStoreAddress(folder)) readStorePlace(folder, '--model-repository');
  else if (isOtherAddress(folder)) {
    throw invalidArgument(
      `expected a folder or an address for --model-repository but received ${shownAddress(folder)}: there are folders, s3://, gs:// and as://`,
    );
  }
}

function serverOptions(values: FlagValues, ignored: string[]): ServerOptions {
  const repositories = [...values.list('model-repository'), ...values.list('model-store')];
  if (repositories.length === 0) throw invalidArgument('--model-repository=<folder> is missing');
  for (const folder of repositories) checkAddress(folder);
  const mode = values.text('model-control-mode');
  const explicit = mode === 'explicit';
  const polls = mode === 'poll';
  // As in Triton, it has no effect in the other modes.
  if (values.has('repository-poll-secs') && !polls)
    ignored.push('--repository-poll-secs: repositories are polled only with --model-control-mode=poll');
  const loadModels = values.list('load-model');
  if (loadModels.length > 0 && !explicit)
    throw invalidArgument('--load-model needs --model-control-mode=explicit');
  if (loadModels.length > 1 && loadModels.includes('*'))
    throw invalidArgument("--load-model='*' loads all models: give it alone");
  return {
    modelRepository: repositories,
    modelControlMode: explicit ? 'explicit' : polls ? 'poll' : 'none',
    ...(polls && { repositoryPollMs: values.integer('repository-poll-secs') * 1000 }),
    ...(explicit && { loadModels }),
    modelNamespacing: values.boolean('model-namespacing'),
    load: values.text('load') === 'lazy' ? 'lazy' : 'eager',
    memoryBudgetBytes: values.givenInteger('memory-budget-bytes'),
    // A failed model ends the start only after the table of models has been printed.
    exitOnError: false,
    id: values.text('id'),
    strictReadiness: values.boolean('strict-readiness'),
    autoCompleteConfig: !(
      values.boolean('disable-auto-complete-config') || values.boolean('strict-model-config')
    ),
    modelLoadConcurrency: values.integer('model-load-thread-count'),
    rateLimit: rateLimit(values),
    hostPolicies: hostPolicies(values.list('host-policy')),
    cacheConfig: cacheConfig(values, ignored),
    cacheDirectory: values.text('cache-directory'),
    backendDirectory: values.text('backend-directory'),
    repositoryAgentDirectory: values.text('repoagent-directory'),
    backendConfig: backendConfig(values, ignored),
    metricsConfig: metricsConfig(values),
    traceConfig: traceConfig(values, ignored),
    minSupportedComputeCapability: capability(values.text('min-supported-compute-capability')),
    pinnedMemoryPoolByteSize: values.integer('pinned-memory-pool-byte-size'),
    cudaMemoryPoolByteSize: gpuMemory(values.list('cuda-memory-pool-byte-size')),
    instanceKind: values.has('instance-kind') ? 'cpu' : undefined,
    threads: values.givenInteger('threads'),
    maxInFlightBytes: values.givenInteger('max-in-flight-bytes'),
    finalizeTimeoutMs: values.integer('finalize-timeout-msecs'),
    repositoryCacheDirectory: values.text('repository-cache-directory'),
    repositoryCacheBytes: values.integer('repository-cache-byte-size'),
    trustedFolders: values.list('trusted-folder'),
    outsideLinks: values.has('outside-links'),
  };
}

/** The rate limiter, with the resources of `<name>:<count>[:<device>]`. */
function rateLimit(values: FlagValues): RateLimitOptions {
  const mode = values.text('rate-limit') === 'execution_count' ? 'execution_count' : 'off';
  const resources = values.list('rate-limit-resource').map((text): RateLimitResource => {
    const [, name, count, device] = /^([^:]+):(\d{1,10})(?::(\d{1,2}))?$/.exec(text) ?? [];
    if (name === undefined || count === undefined) {
      throw invalidArgument(
        `expected a name, a count and, if it is not for all, the id of a device, such as memory:4 or memory:4:0, for --rate-limit-resource but received '${text}'`,
      );
    }
    return { name, count: Number(count), ...(device !== undefined && { device: Number(device) }) };
  });
  if (mode === 'off' && resources.length > 0)
    throw invalidArgument('--rate-limit-resource needs --rate-limit=execution_count');
  return { mode, resources };
}

/** Host policies, from `<policy>,<setting>=<value>`. As in Triton, the last of several values counts. */
function hostPolicies(given: readonly string[]): Record<string, HostPolicyOptions> {
  const policies = new Map<string, HostPolicyOptions>();
  for (const text of given) {
    const [, name, setting, value] = /^([^,]+),([^=]+)=(.+)$/.exec(text) ?? [];
    if (name === undefined || setting === undefined || value === undefined) {
      throw invalidArgument(
        `expected a policy, a setting and a value, such as cpu,cpu-cores=0-3, for --host-policy but received '${text}'`,
      );
    }
    policies.set(name, { ...policies.get(name), ...hostSetting(name, setting, value) });
  }
  return Object.fromEntries(policies);
}

function hostSetting(policy: string, setting: string, value: string): HostPolicyOptions {
  if (setting === 'cpu-cores') return { cpuCores: value };
  if (setting !== 'numa-node') {
    throw invalidArgument(
      `--host-policy=${policy},${setting}: unsupported host policy setting '${setting}', supported settings are 'numa-node', 'cpu-cores'`,
    );
  }
  if (!/^\d{1,4}$/.test(value))
    throw invalidArgument(
      `expected the number of a NUMA node for --host-policy=${policy},numa-node but received '${value}'`,
    );
  return { numaNode: Number(value) };
}

/** Memory sizes by GPU id, from `<id>:<bytes>`. */
function gpuMemory(given: readonly string[]): Record<number, number> | undefined {
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((text) => {
      const [, id, bytes] = /^(\d{1,2}):(\d{1,15})$/.exec(text) ?? [];
      if (id === undefined || bytes === undefined) {
        throw invalidArgument(
          `expected the id of a GPU and bytes, such as 0:67108864, for --cuda-memory-pool-byte-size but received '${text}'`,
        );
      }
      return [Number(id), Number(bytes)] as const;
    }),
  );
}

function httpOptions(values: FlagValues): ServeHttpOptions | undefined {
  const restricted = readRestricted('http-restricted-api', values, restrictedGroups);
  const headerForwardPattern = readPattern('http-header-forward-pattern', values);
  if (!values.boolean('allow-http')) {
    if (values.boolean('ui'))
      throw invalidArgument('--ui needs --allow-http=true: the page is at the HTTP port');
    return undefined;
  }
  const options = {
    host: values.text('http-address'),
    port: values.integer('http-port'),
    reusePort: values.boolean('reuse-http-port'),
    maxConnections: values.givenInteger('http-max-connections'),
    maxRequestBytes: values.integer('http-max-input-size'),
    restricted,
    headerForwardPattern,
    ui: values.boolean('ui'),
    clientSharedMemory: values.boolean('allow-client-shm'),
  };
  // Check now, so that errors are reported before models are loaded.
  checkServeOptions(options);
  return options;
}

/** Number of threads that serve an endpoint. */
function threadCount(flag: string, values: FlagValues): number {
  const count = values.integer(flag);
  if (count === 1 || canReusePort()) return count;
  throw invalidArgument(
    `--${flag}=${count} needs Node 22.12 or newer, where threads can share a port; this is ${process.version}`,
  );
}

/**
 * Turns flags into settings.
 *
 * @throws {@link TritonError} INVALID_ARG for invalid values or combinations.
 */
export function settingsOf(values: FlagValues): ServeSettings {
  const ignored: string[] = [...new Set(values.hints)].map(({ name, text }) => `--${name}: ${text}`);
  const metrics = values.boolean('allow-metrics')
    ? {
        host: values.text('metrics-address') ?? values.text('http-address'),
        port: values.integer('metrics-port'),
      }
    : undefined;
  const settings: ServeSettings = {
    server: serverOptions(values, ignored),
    exitOnError: values.boolean('exit-on-error'),
    exitTimeoutMs: values.integer('exit-timeout-secs') * 1000,
    http: httpOptions(values),
    grpc: grpcSettings(values),
    metrics,
    openAI: openAISettings(values),
    threads: {
      http: threadCount('http-thread-count', values),
      grpc: threadCount('grpc-infer-thread-count', values),
    },
    log: {
      verbose: values.integer('log-verbose'),
      info: values.boolean('log-info'),
      warning: values.boolean('log-warning'),
      error: values.boolean('log-error'),
      format: logFormats.find((known) => known === values.text('log-format')) ?? 'default',
      file: values.text('log-file'),
    },
    ignored,
  };
  checkPorts(settings);
  return settings;
}

/** @throws {@link TritonError} INVALID_ARG where two endpoints have one port. */
function checkPorts({ http, grpc, metrics, openAI }: ServeSettings): void {
  const ports = [
    ['http', http?.port],
    ['grpc', grpc?.options.port],
    ['metrics', metrics?.port],
    ['openai', openAI?.options.port],
  ] as const;
  for (const [index, [name, port]] of ports.entries()) {
    const same = ports
      .slice(0, index)
      .find(([, other]) => other === port && port !== undefined && port !== 0);
    if (same)
      throw invalidArgument(`--${same[0]}-port and --${name}-port are both ${port}: each needs its own`);
  }
}
