/**
 * tritonts: an inference server inside a Node.js process.
 *
 * @packageDocumentation
 */

export { errorReasons, TritonError } from './errors.js';
export type {
  ErrorLocation,
  TritonErrorCode,
  TritonErrorJSON,
  TritonErrorOptions,
  TritonErrorReason,
} from './errors.js';
export { createServer } from './server/creation/create-server.js';
export { registerBackend } from './javascript/versions/registered-backends.js';
export { attachServer } from './server/creation/attach-server.js';
export { InferenceServer } from './server/inference-server.js';
export type { CreateServer } from './server/inference-server.js';
export type {
  BatchReason,
  ExplainedBatch,
  ExplainedCache,
  ExplainedLazy,
  ExplainedResource,
  ExplainedSequences,
  Explanation,
} from './api/explanation.js';
export type { CloseOptions } from './server/creation/server-arguments.js';
export type { UnloadModelOptions } from './api/load-options.js';
export type { ModelChoice, ModelServer } from './api/server.js';
export type { ServerHandle } from './server-handle.js';
export { nativeApi } from './native-api.js';
export type { NativeApi } from './native-api.js';
export type { Model, TypedModel } from './api/model.js';
export type {
  InputsOf,
  ModelName,
  ModelRegistry,
  ModelSignature,
  OutputNames,
  OutputsOf,
  RegistryOptions,
  SignatureFor,
  SignatureOf,
  SingleInputsOf,
  TensorOf,
  WantedOf,
} from './tensor/signature.js';
export type {
  InferOptions,
  InferResult,
  MapError,
  MapOptions,
  MapOutcome,
  MapResult,
  RequestedOutput,
  RequestedOutputs,
} from './api/results.js';
export type { RequestParameters } from './api/request-parameters.js';
export type {
  ModelMetadata,
  ModelStatistics,
  ModelStatus,
  RuntimeInfo,
  ServerMetadata,
  StatisticDuration,
  ResponseStatistic,
  TensorMetadata,
} from './api/metadata.js';
export type { ReceivedSequence, RequestSequence } from './api/request-sequence.js';
export type { Sequence, SequenceInferOptions, SequenceOptions, TypedSequence } from './api/sequence.js';
export type { Timings } from './api/timings.js';
export type { LogContext, LogFunction, Logger } from './logger.js';
export type { CudaRegionOptions, CudaRegionStatus } from './server/memory/cuda-memory.js';
export type {
  RegionOptions,
  RegionStatus,
  SharedMemory,
  SharedRegion,
} from './server/memory/shared-memory.js';
export type { Metric, MetricOptions } from './api/metric.js';
export type { MetricsConfig } from './metrics/metrics-config.js';
export type {
  AnsweredOf,
  JavaScriptBackend,
  JavaScriptModel,
  JavaScriptModelClass,
  ModelContext,
  ModelLogger,
  ModelModule,
  ModelObject,
  ModelResult,
  Outputs,
  Results,
  WorkersOptions,
} from './api/javascript-model.js';
export type {
  ModelRequest,
  NameOrSignature,
  ParameterizedResult,
  ReceivedOf,
  Rescheduled,
} from './api/model-request.js';
export type {
  OpenTelemetryOptions,
  ResolvedOpenTelemetry,
  TraceConfig,
  TraceLevel,
  TraceMode,
} from './trace-config.js';
export type { TraceSetting, TraceUpdate, Tracing } from './server/trace/server-trace.js';
export { registerRepositoryAgent } from './registry/agents/registered-agents.js';
export type { AgentContext, AgentPlace, RepositoryAgent } from './registry/agents/repository-agent.js';
export { registerCache } from './cache/registered-caches.js';
export type { CachedAnswer, CachedValue, ResponseCache, ResponseCacheMaker } from './cache/response-cache.js';
export type { RedisCacheOptions, RedisTlsOptions } from './cache/redis/options.js';
export type { CacheConfig, LocalCacheOptions, PluginCacheOptions } from './cache-config.js';
export type { HostPolicyOptions } from './scheduling/host-policy.js';
export type { RateLimitOptions, RateLimitResource } from './scheduling/rate-limit.js';
export type { BackendConfig, GivenFiles, GivenModel, LoadEvent, ServerOptions } from './options.js';
export type { ModelMessage } from './registry/entries/model-events.js';
export type { RequestMessage } from './server/requests/request-channels.js';
export type { SequenceMessage } from './server/sequences/sequence-channels.js';
export type { LoadModelOptions, LoadOutcome, RegisterRepositoryOptions } from './api/load-options.js';
export type { RescannedModel, RescanResult } from './api/rescan.js';
export type { ModelState } from './api/metadata.js';
export { Tensor } from './tensor/tensor.js';
export type { AnyTensor } from './tensor/tensor.js';
export type { TensorJSON } from './tensor/to-json.js';
export type { Datatype } from './tensor/datatype.js';
export type {
  InputElement,
  Inputs,
  OnnxRuntimeTensorLike,
  ShapedInput,
  TensorInput,
  TensorInputOf,
} from './tensor/inputs.js';
export type { DataOf, ElementOf, NestedArray, RowOf, TopElement, TypedArray } from './tensor/types.js';
export type { ModelConfig, ModelConfigInput } from './config/index.js';
