/**
 * tritonts: an inference server inside a Node.js process.
 *
 * @packageDocumentation
 */

export { TritonError } from './errors.js';
export type { ErrorLocation, TritonErrorCode, TritonErrorOptions } from './errors.js';
export { attachServer, createServer, InferenceServer } from './server/server.js';
export type { CloseOptions, ServerHandle } from './server/server.js';
export type { Model } from './server/model.js';
export type {
  InferOptions,
  InferResult,
  MapOptions,
  ModelMetadata,
  ModelStatistics,
  ModelStatus,
  Parameters,
  RequestedOutput,
  RuntimeInfo,
  ServerMetadata,
  StatisticDuration,
  TensorMetadata,
} from './server/types.js';
export type { Timings } from './dispatch/types.js';
export type { BackendConfig, ProgressEvent, ServerOptions } from './options.js';
export type { LoadModelOptions } from './registry/override.js';
export type { ModelState } from './registry/published.js';
export { Tensor } from './tensor/output.js';
export type { AnyTensor } from './tensor/output.js';
export type { Datatype } from './tensor/datatype.js';
export type {
  DataOf,
  ElementOf,
  InputElement,
  Inputs,
  NestedArray,
  ShapedInput,
  TensorInput,
  TypedArray,
} from './tensor/types.js';
export type { ModelConfig, ModelConfigInput } from './config/index.js';
