/** The flags of the endpoints: HTTP, gRPC, metrics, and OpenAI's protocol. */

import {
  bool,
  choice,
  hint,
  integer,
  port,
  refuse,
  text,
  use,
  useAll,
  type FlagGroup,
} from '../flags/flag.js';

/** Each thread has its own event loop and memory. */
const mostThreads = 128;
const threads = 'threads that read and write it, on one port; more than 1 need Node 22.12 or newer';
const apis = 'apis:key=value';

const http: FlagGroup = {
  title: 'HTTP',
  flags: [
    use('allow-http', bool, 'true', 'serve KServe v2 over HTTP'),
    use('http-address', text('address'), '0.0.0.0', 'where to listen'),
    use('http-port', port, '8000', 'where to listen; 0 picks a port'),
    use(
      'reuse-http-port',
      bool,
      'false',
      'let other processes listen on the same port (SO_REUSEPORT); Node 22.12 or newer',
    ),
    use('http-max-input-size', integer(1), '67108864', "the most bytes of a request's body"),
    useAll(
      'http-restricted-api',
      apis,
      'calls that need the header <key>: health, metadata, inference, model-config, model-repository, statistics, shared-memory, trace, logging, ui',
    ),
    use(
      'http-header-forward-pattern',
      text('pattern'),
      undefined,
      'headers with a matching name become request parameters',
    ),
    use('http-thread-count', integer(1, mostThreads), '1', threads),
  ],
};

const grpc: FlagGroup = {
  title: 'gRPC',
  flags: [
    use('allow-grpc', bool, 'true', 'serve KServe v2 over gRPC'),
    use('grpc-address', text('address'), '0.0.0.0', 'where to listen'),
    use('grpc-port', port, '8001', 'where to listen; 0 picks a port'),
    use(
      'reuse-grpc-port',
      bool,
      'false',
      'let other processes listen on the same port (SO_REUSEPORT); Node 22.12 or newer',
    ),
    useAll('grpc-restricted-protocol', apis, 'calls that need the metadata triton-grpc-protocol-<key>'),
    use(
      'grpc-header-forward-pattern',
      text('pattern'),
      undefined,
      'metadata with a matching name becomes request parameters',
    ),
    use('grpc-use-ssl', bool, 'false', 'TLS, with --grpc-server-cert and --grpc-server-key'),
    use(
      'grpc-use-ssl-mutual',
      bool,
      'false',
      "TLS that asks for clients' certificates, too, of --grpc-root-cert",
    ),
    use('grpc-server-cert', text('file'), undefined, 'certificate, PEM'),
    use('grpc-server-key', text('file'), undefined, 'its key, PEM'),
    use('grpc-root-cert', text('file'), undefined, 'the CA certificate for clients, PEM'),
    use(
      'grpc-infer-response-compression-level',
      choice('none', 'low', 'medium', 'high'),
      'none',
      'how much answers are compressed',
    ),
    use('grpc-keepalive-time', integer(1), '7200000', 'idle milliseconds before a ping'),
    use('grpc-keepalive-timeout', integer(1), '20000', 'milliseconds that its answer may take'),
    use('grpc-keepalive-permit-without-calls', bool, 'false', 'pings without calls'),
    use('grpc-http2-max-pings-without-data', integer(0), '2', 'pings in a row; 0: no limit'),
    use(
      'grpc-http2-min-recv-ping-interval-without-data',
      integer(0),
      '300000',
      "milliseconds between a client's pings",
    ),
    use('grpc-http2-max-ping-strikes', integer(0), '2', 'pings that may come too early; 0: no limit'),
    use('grpc-max-connection-age', integer(0), undefined, 'milliseconds after which a connection is ended'),
    use('grpc-max-connection-age-grace', integer(0), undefined, 'milliseconds that its calls then have'),
    use('grpc-infer-thread-count', integer(1, mostThreads), '1', threads),
    hint('grpc-infer-allocation-pool-size', integer(0), 'states of requests are not pooled'),
    hint('grpc-max-response-pool-size', integer(1), 'responses are not pooled'),
  ],
};

const metrics: FlagGroup = {
  title: 'Metrics',
  flags: [
    use('allow-metrics', bool, 'true', 'serve metrics for Prometheus'),
    use('metrics-address', text('address'), undefined, 'where to listen (default: --http-address)'),
    use('metrics-port', port, '8002', 'where to listen; 0 picks a port'),
    use('metrics-interval-ms', integer(1), '2000', 'the load of processors is an average over at least this'),
    useAll(
      'metrics-config',
      'setting=value',
      'counter_latencies, histogram_latencies, summary_latencies, summary_quantiles',
    ),
    use('allow-gpu-metrics', bool, 'true', 'nv_gpu_… metrics, where instances can be on GPUs'),
    hint('allow-cpu-metrics', bool, 'metrics of the machine are collected only when they are read'),
  ],
};

const ownTemplates = "a chat's template comes from the model's folder, or from --chat-template";
const noTools = "calls of tools are not read out of a model's text";

const openAI: FlagGroup = {
  title: 'OpenAI',
  flags: [
    use(
      'allow-openai',
      bool,
      undefined,
      "serve OpenAI's protocol (default: true if --openai-port is given, else false)",
    ),
    use('openai-address', text('address'), '0.0.0.0', 'where to listen; Triton: --host'),
    use('openai-port', port, '9000', 'where to listen; 0 picks a port'),
    useAll(
      'openai-restricted-api',
      apis,
      'calls that need the header <key>: inference, model-repository, metrics, health',
    ),
    use(
      'default-max-tokens',
      integer(1, 2 ** 31 - 1),
      '16',
      'the limit of tokens of a request that gives none',
    ),
    use(
      'chat-template',
      text('file'),
      undefined,
      "a template in Jinja for the chats of all models (default: each model's own)",
    ),
    refuse('tokenizer', 'name', ownTemplates),
    refuse('tool-call-parser', 'name', noTools),
    refuse('max-tool-call-parse-bytes', 'n', noTools),
    refuse('lora-separator', 'text', 'models have no LoRA adapters here'),
  ],
};

/** See the head of this file. */
export const endpointGroups: readonly FlagGroup[] = [http, grpc, metrics, openAI];
