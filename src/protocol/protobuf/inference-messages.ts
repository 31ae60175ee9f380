/**
 * The messages of `inference.GRPCInferenceService`, except `ModelConfig`, which is in the configuration's schema.
 */

import type { MessageTable } from '../../config/index.js';

/** See the head of this file. */
export const inferenceMessages: MessageTable = {
  ServerLiveRequest: {},
  ServerLiveResponse: {
    live: [1, 'bool'],
  },
  ServerReadyRequest: {},
  ServerReadyResponse: {
    ready: [1, 'bool'],
  },
  ModelReadyRequest: {
    name: [1, 'string'],
    version: [2, 'string'],
  },
  ModelReadyResponse: {
    ready: [1, 'bool'],
  },
  ServerMetadataRequest: {},
  ServerMetadataResponse: {
    name: [1, 'string'],
    version: [2, 'string'],
    extensions: [3, 'string', 'repeated'],
  },
  ModelMetadataRequest: {
    name: [1, 'string'],
    version: [2, 'string'],
  },
  ModelMetadataResponse: {
    name: [1, 'string'],
    versions: [2, 'string', 'repeated'],
    platform: [3, 'string'],
    inputs: [4, 'ModelMetadataResponse.TensorMetadata', 'repeated'],
    outputs: [5, 'ModelMetadataResponse.TensorMetadata', 'repeated'],
  },
  'ModelMetadataResponse.TensorMetadata': {
    name: [1, 'string'],
    datatype: [2, 'string'],
    shape: [3, 'int64', 'repeated'],
  },
  InferParameter: {
    bool_param: [1, 'bool', 'oneof parameter_choice'],
    int64_param: [2, 'int64', 'oneof parameter_choice'],
    string_param: [3, 'string', 'oneof parameter_choice'],
    double_param: [4, 'double', 'oneof parameter_choice'],
    uint64_param: [5, 'uint64', 'oneof parameter_choice'],
  },
  InferTensorContents: {
    bool_contents: [1, 'bool', 'repeated'],
    int_contents: [2, 'int32', 'repeated'],
    int64_contents: [3, 'int64', 'repeated'],
    uint_contents: [4, 'uint32', 'repeated'],
    uint64_contents: [5, 'uint64', 'repeated'],
    fp32_contents: [6, 'float', 'repeated'],
    fp64_contents: [7, 'double', 'repeated'],
    bytes_contents: [8, 'bytes', 'repeated'],
  },
  ModelInferRequest: {
    model_name: [1, 'string'],
    model_version: [2, 'string'],
    id: [3, 'string'],
    parameters: [4, 'InferParameter', 'map string'],
    inputs: [5, 'ModelInferRequest.InferInputTensor', 'repeated'],
    outputs: [6, 'ModelInferRequest.InferRequestedOutputTensor', 'repeated'],
    raw_input_contents: [7, 'bytes', 'repeated'],
  },
  'ModelInferRequest.InferInputTensor': {
    name: [1, 'string'],
    datatype: [2, 'string'],
    shape: [3, 'int64', 'repeated'],
    parameters: [4, 'InferParameter', 'map string'],
    contents: [5, 'InferTensorContents'],
  },
  'ModelInferRequest.InferRequestedOutputTensor': {
    name: [1, 'string'],
    parameters: [2, 'InferParameter', 'map string'],
  },
  ModelInferResponse: {
    model_name: [1, 'string'],
    model_version: [2, 'string'],
    id: [3, 'string'],
    parameters: [4, 'InferParameter', 'map string'],
    outputs: [5, 'ModelInferResponse.InferOutputTensor', 'repeated'],
    raw_output_contents: [6, 'bytes', 'repeated'],
  },
  'ModelInferResponse.InferOutputTensor': {
    name: [1, 'string'],
    datatype: [2, 'string'],
    shape: [3, 'int64', 'repeated'],
    parameters: [4, 'InferParameter', 'map string'],
    contents: [5, 'InferTensorContents'],
  },
  ModelStreamInferResponse: {
    error_message: [1, 'string'],
    infer_response: [2, 'ModelInferResponse'],
  },
  ModelConfigRequest: {
    name: [1, 'string'],
    version: [2, 'string'],
  },
  ModelConfigResponse: {
    config: [1, 'ModelConfig'],
  },
  ModelStatisticsRequest: {
    name: [1, 'string'],
    version: [2, 'string'],
  },
  StatisticDuration: {
    count: [1, 'uint64'],
    ns: [2, 'uint64'],
  },
  InferStatistics: {
    success: [1, 'StatisticDuration'],
    fail: [2, 'StatisticDuration'],
    queue: [3, 'StatisticDuration'],
    compute_input: [4, 'StatisticDuration'],
    compute_infer: [5, 'StatisticDuration'],
    compute_output: [6, 'StatisticDuration'],
    cache_hit: [7, 'StatisticDuration'],
    cache_miss: [8, 'StatisticDuration'],
  },
  InferResponseStatistics: {
    compute_infer: [1, 'StatisticDuration'],
    compute_output: [2, 'StatisticDuration'],
    success: [3, 'StatisticDuration'],
    fail: [4, 'StatisticDuration'],
    empty_response: [5, 'StatisticDuration'],
    cancel: [6, 'StatisticDuration'],
  },
  InferBatchStatistics: {
    batch_size: [1, 'uint64'],
    compute_input: [2, 'StatisticDuration'],
    compute_infer: [3, 'StatisticDuration'],
    compute_output: [4, 'StatisticDuration'],
  },
  MemoryUsage: {
    type: [1, 'string'],
    id: [2, 'int64'],
    byte_size: [3, 'uint64'],
  },
  ModelStatistics: {
    name: [1, 'string'],
    version: [2, 'string'],
    last_inference: [3, 'uint64'],
    inference_count: [4, 'uint64'],
    execution_count: [5, 'uint64'],
    inference_stats: [6, 'InferStatistics'],
    batch_stats: [7, 'InferBatchStatistics', 'repeated'],
    memory_usage: [8, 'MemoryUsage', 'repeated'],
    response_stats: [9, 'InferResponseStatistics', 'map string'],
  },
  ModelStatisticsResponse: {
    model_stats: [1, 'ModelStatistics', 'repeated'],
  },
  ModelRepositoryParameter: {
    bool_param: [1, 'bool', 'oneof parameter_choice'],
    int64_param: [2, 'int64', 'oneof parameter_choice'],
    string_param: [3, 'string', 'oneof parameter_choice'],
    bytes_param: [4, 'bytes', 'oneof parameter_choice'],
  },
  RepositoryIndexRequest: {
    repository_name: [1, 'string'],
    ready: [2, 'bool'],
  },
  RepositoryIndexResponse: {
    models: [1, 'RepositoryIndexResponse.ModelIndex', 'repeated'],
  },
  'RepositoryIndexResponse.ModelIndex': {
    name: [1, 'string'],
    version: [2, 'string'],
    state: [3, 'string'],
    reason: [4, 'string'],
  },
  RepositoryModelLoadRequest: {
    repository_name: [1, 'string'],
    model_name: [2, 'string'],
    parameters: [3, 'ModelRepositoryParameter', 'map string'],
  },
  RepositoryModelLoadResponse: {},
  RepositoryModelUnloadRequest: {
    repository_name: [1, 'string'],
    model_name: [2, 'string'],
    parameters: [3, 'ModelRepositoryParameter', 'map string'],
  },
  RepositoryModelUnloadResponse: {},
  SystemSharedMemoryStatusRequest: {
    name: [1, 'string'],
  },
  SystemSharedMemoryStatusResponse: {
    regions: [1, 'SystemSharedMemoryStatusResponse.RegionStatus', 'map string'],
  },
  'SystemSharedMemoryStatusResponse.RegionStatus': {
    name: [1, 'string'],
    key: [2, 'string'],
    offset: [3, 'uint64'],
    byte_size: [4, 'uint64'],
  },
  SystemSharedMemoryRegisterRequest: {
    name: [1, 'string'],
    key: [2, 'string'],
    offset: [3, 'uint64'],
    byte_size: [4, 'uint64'],
  },
  SystemSharedMemoryRegisterResponse: {},
  SystemSharedMemoryUnregisterRequest: {
    name: [1, 'string'],
  },
  SystemSharedMemoryUnregisterResponse: {},
  CudaSharedMemoryStatusRequest: {
    name: [1, 'string'],
  },
  CudaSharedMemoryStatusResponse: {
    regions: [1, 'CudaSharedMemoryStatusResponse.RegionStatus', 'map string'],
  },
  'CudaSharedMemoryStatusResponse.RegionStatus': {
    name: [1, 'string'],
    device_id: [2, 'uint64'],
    byte_size: [3, 'uint64'],
  },
  CudaSharedMemoryRegisterRequest: {
    name: [1, 'string'],
    raw_handle: [2, 'bytes'],
    device_id: [3, 'int64'],
    byte_size: [4, 'uint64'],
  },
  CudaSharedMemoryRegisterResponse: {},
  CudaSharedMemoryUnregisterRequest: {
    name: [1, 'string'],
  },
  CudaSharedMemoryUnregisterResponse: {},
  TraceSettingRequest: {
    settings: [1, 'TraceSettingRequest.SettingValue', 'map string'],
    model_name: [2, 'string'],
  },
  'TraceSettingRequest.SettingValue': {
    value: [1, 'string', 'repeated'],
  },
  TraceSettingResponse: {
    settings: [1, 'TraceSettingResponse.SettingValue', 'map string'],
  },
  'TraceSettingResponse.SettingValue': {
    value: [1, 'string', 'repeated'],
  },
  LogSettingsRequest: {
    settings: [1, 'LogSettingsRequest.SettingValue', 'map string'],
  },
  'LogSettingsRequest.SettingValue': {
    bool_param: [1, 'bool', 'oneof parameter_choice'],
    uint32_param: [2, 'uint32', 'oneof parameter_choice'],
    string_param: [3, 'string', 'oneof parameter_choice'],
  },
  LogSettingsResponse: {
    settings: [1, 'LogSettingsResponse.SettingValue', 'map string'],
  },
  'LogSettingsResponse.SettingValue': {
    bool_param: [1, 'bool', 'oneof parameter_choice'],
    uint32_param: [2, 'uint32', 'oneof parameter_choice'],
    string_param: [3, 'string', 'oneof parameter_choice'],
  },
};
