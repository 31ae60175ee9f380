// The functions of Triton's C interfaces that a server gives to plug-ins, and those that plug-ins
// have. Names and types are Triton's; the rules of each are in docs/plugins.md.
//
// Each list calls X(returns, name, parameters, arguments) for each function.
#pragma once

#include "types.h"

// TRITONSERVER, version 1.34.
#define TRITONTS_SERVER_FUNCTIONS(X)                                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_ApiVersion, (uint32_t* major, uint32_t* minor),              \
    (major, minor))                                                                                \
  X(const char*, TRITONSERVER_DataTypeString, (TRITONSERVER_DataType datatype), (datatype))        \
  X(TRITONSERVER_DataType, TRITONSERVER_StringToDataType, (const char* dtype), (dtype))            \
  X(uint32_t, TRITONSERVER_DataTypeByteSize, (TRITONSERVER_DataType datatype), (datatype))         \
  X(const char*, TRITONSERVER_MemoryTypeString, (TRITONSERVER_MemoryType memtype), (memtype))      \
  X(const char*, TRITONSERVER_ParameterTypeString, (TRITONSERVER_ParameterType paramtype),         \
    (paramtype))                                                                                   \
  X(TRITONSERVER_Parameter*, TRITONSERVER_ParameterNew,                                            \
    (const char* name, TRITONSERVER_ParameterType type, const void* value), (name, type, value))   \
  X(TRITONSERVER_Parameter*, TRITONSERVER_ParameterBytesNew,                                       \
    (const char* name, const void* byte_ptr, uint64_t size), (name, byte_ptr, size))               \
  X(void, TRITONSERVER_ParameterDelete, (TRITONSERVER_Parameter * parameter), (parameter))         \
  X(const char*, TRITONSERVER_InstanceGroupKindString, (TRITONSERVER_InstanceGroupKind kind),      \
    (kind))                                                                                        \
  X(bool, TRITONSERVER_LogIsEnabled, (TRITONSERVER_LogLevel level), (level))                       \
  X(TRITONSERVER_Error*, TRITONSERVER_LogMessage,                                                  \
    (TRITONSERVER_LogLevel level, const char* filename, int line, const char* msg),                \
    (level, filename, line, msg))                                                                  \
  X(TRITONSERVER_Error*, TRITONSERVER_ErrorNew, (TRITONSERVER_Error_Code code, const char* msg),   \
    (code, msg))                                                                                   \
  X(void, TRITONSERVER_ErrorDelete, (TRITONSERVER_Error * error), (error))                         \
  X(TRITONSERVER_Error_Code, TRITONSERVER_ErrorCode, (TRITONSERVER_Error * error), (error))        \
  X(const char*, TRITONSERVER_ErrorCodeString, (TRITONSERVER_Error * error), (error))              \
  X(const char*, TRITONSERVER_ErrorMessage, (TRITONSERVER_Error * error), (error))                 \
  X(TRITONSERVER_Error*, TRITONSERVER_ResponseAllocatorNew,                                        \
    (TRITONSERVER_ResponseAllocator * *allocator,                                                  \
     TRITONSERVER_ResponseAllocatorAllocFn_t alloc_fn,                                             \
     TRITONSERVER_ResponseAllocatorReleaseFn_t release_fn,                                         \
     TRITONSERVER_ResponseAllocatorStartFn_t start_fn),                                            \
    (allocator, alloc_fn, release_fn, start_fn))                                                   \
  X(TRITONSERVER_Error*, TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction,                \
    (TRITONSERVER_ResponseAllocator * allocator,                                                   \
     TRITONSERVER_ResponseAllocatorBufferAttributesFn_t buffer_attributes_fn),                     \
    (allocator, buffer_attributes_fn))                                                             \
  X(TRITONSERVER_Error*, TRITONSERVER_ResponseAllocatorSetQueryFunction,                           \
    (TRITONSERVER_ResponseAllocator * allocator,                                                   \
     TRITONSERVER_ResponseAllocatorQueryFn_t query_fn),                                            \
    (allocator, query_fn))                                                                         \
  X(TRITONSERVER_Error*, TRITONSERVER_ResponseAllocatorDelete,                                     \
    (TRITONSERVER_ResponseAllocator * allocator), (allocator))                                     \
  X(TRITONSERVER_Error*, TRITONSERVER_MessageNewFromSerializedJson,                                \
    (TRITONSERVER_Message * *message, const char* base, size_t byte_size),                         \
    (message, base, byte_size))                                                                    \
  X(TRITONSERVER_Error*, TRITONSERVER_MessageDelete, (TRITONSERVER_Message * message), (message))  \
  X(TRITONSERVER_Error*, TRITONSERVER_MessageSerializeToJson,                                      \
    (TRITONSERVER_Message * message, const char** base, size_t* byte_size),                        \
    (message, base, byte_size))                                                                    \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricsDelete, (TRITONSERVER_Metrics * metrics), (metrics))  \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricsFormatted,                                            \
    (TRITONSERVER_Metrics * metrics, TRITONSERVER_MetricFormat format, const char** base,          \
     size_t* byte_size),                                                                           \
    (metrics, format, base, byte_size))                                                            \
  X(const char*, TRITONSERVER_InferenceTraceLevelString, (TRITONSERVER_InferenceTraceLevel level), \
    (level))                                                                                       \
  X(const char*, TRITONSERVER_InferenceTraceActivityString,                                        \
    (TRITONSERVER_InferenceTraceActivity activity), (activity))                                    \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceNew,                                           \
    (TRITONSERVER_InferenceTrace * *trace, TRITONSERVER_InferenceTraceLevel level,                 \
     uint64_t parent_id, TRITONSERVER_InferenceTraceActivityFn_t activity_fn,                      \
     TRITONSERVER_InferenceTraceReleaseFn_t release_fn, void* trace_userp),                        \
    (trace, level, parent_id, activity_fn, release_fn, trace_userp))                               \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceTensorNew,                                     \
    (TRITONSERVER_InferenceTrace * *trace, TRITONSERVER_InferenceTraceLevel level,                 \
     uint64_t parent_id, TRITONSERVER_InferenceTraceActivityFn_t activity_fn,                      \
     TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity_fn,                             \
     TRITONSERVER_InferenceTraceReleaseFn_t release_fn, void* trace_userp),                        \
    (trace, level, parent_id, activity_fn, tensor_activity_fn, release_fn, trace_userp))           \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceReportActivity,                                \
    (TRITONSERVER_InferenceTrace * trace, uint64_t timestamp, const char* activity_name),          \
    (trace, timestamp, activity_name))                                                             \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceDelete, (TRITONSERVER_InferenceTrace * trace), \
    (trace))                                                                                       \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceId,                                            \
    (TRITONSERVER_InferenceTrace * trace, uint64_t* id), (trace, id))                              \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceParentId,                                      \
    (TRITONSERVER_InferenceTrace * trace, uint64_t* parent_id), (trace, parent_id))                \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceModelName,                                     \
    (TRITONSERVER_InferenceTrace * trace, const char** model_name), (trace, model_name))           \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceModelVersion,                                  \
    (TRITONSERVER_InferenceTrace * trace, int64_t* model_version), (trace, model_version))         \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceRequestId,                                     \
    (TRITONSERVER_InferenceTrace * trace, const char** request_id), (trace, request_id))           \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceSpawnChildTrace,                               \
    (TRITONSERVER_InferenceTrace * trace, TRITONSERVER_InferenceTrace * *child_trace),             \
    (trace, child_trace))                                                                          \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceSetContext,                                    \
    (TRITONSERVER_InferenceTrace * trace, const char* trace_context), (trace, trace_context))      \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceTraceContext,                                       \
    (TRITONSERVER_InferenceTrace * trace, const char** trace_context), (trace, trace_context))     \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestNew,                                         \
    (TRITONSERVER_InferenceRequest * *inference_request, TRITONSERVER_Server * server,             \
     const char* model_name, int64_t model_version),                                               \
    (inference_request, server, model_name, model_version))                                        \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestDelete,                                      \
    (TRITONSERVER_InferenceRequest * inference_request), (inference_request))                      \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestId,                                          \
    (TRITONSERVER_InferenceRequest * inference_request, const char** id), (inference_request, id)) \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetId,                                       \
    (TRITONSERVER_InferenceRequest * inference_request, const char* id), (inference_request, id))  \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestFlags,                                       \
    (TRITONSERVER_InferenceRequest * inference_request, uint32_t* flags),                          \
    (inference_request, flags))                                                                    \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetFlags,                                    \
    (TRITONSERVER_InferenceRequest * inference_request, uint32_t flags),                           \
    (inference_request, flags))                                                                    \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestCorrelationId,                               \
    (TRITONSERVER_InferenceRequest * inference_request, uint64_t* correlation_id),                 \
    (inference_request, correlation_id))                                                           \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestCorrelationIdString,                         \
    (TRITONSERVER_InferenceRequest * inference_request, const char** correlation_id),              \
    (inference_request, correlation_id))                                                           \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetCorrelationId,                            \
    (TRITONSERVER_InferenceRequest * inference_request, uint64_t correlation_id),                  \
    (inference_request, correlation_id))                                                           \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetCorrelationIdString,                      \
    (TRITONSERVER_InferenceRequest * inference_request, const char* correlation_id),               \
    (inference_request, correlation_id))                                                           \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestCancel,                                      \
    (TRITONSERVER_InferenceRequest * inference_request), (inference_request))                      \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestIsCancelled,                                 \
    (TRITONSERVER_InferenceRequest * inference_request, bool* is_cancelled),                       \
    (inference_request, is_cancelled))                                                             \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestPriority,                                    \
    (TRITONSERVER_InferenceRequest * inference_request, uint32_t* priority),                       \
    (inference_request, priority))                                                                 \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestPriorityUInt64,                              \
    (TRITONSERVER_InferenceRequest * inference_request, uint64_t* priority),                       \
    (inference_request, priority))                                                                 \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetPriority,                                 \
    (TRITONSERVER_InferenceRequest * inference_request, uint32_t priority),                        \
    (inference_request, priority))                                                                 \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetPriorityUInt64,                           \
    (TRITONSERVER_InferenceRequest * inference_request, uint64_t priority),                        \
    (inference_request, priority))                                                                 \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestTimeoutMicroseconds,                         \
    (TRITONSERVER_InferenceRequest * inference_request, uint64_t* timeout_us),                     \
    (inference_request, timeout_us))                                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetTimeoutMicroseconds,                      \
    (TRITONSERVER_InferenceRequest * inference_request, uint64_t timeout_us),                      \
    (inference_request, timeout_us))                                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestAddInput,                                    \
    (TRITONSERVER_InferenceRequest * inference_request, const char* name,                          \
     TRITONSERVER_DataType datatype, const int64_t* shape, uint64_t dim_count),                    \
    (inference_request, name, datatype, shape, dim_count))                                         \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestAddRawInput,                                 \
    (TRITONSERVER_InferenceRequest * inference_request, const char* name),                         \
    (inference_request, name))                                                                     \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestRemoveInput,                                 \
    (TRITONSERVER_InferenceRequest * inference_request, const char* name),                         \
    (inference_request, name))                                                                     \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestRemoveAllInputs,                             \
    (TRITONSERVER_InferenceRequest * inference_request), (inference_request))                      \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestAppendInputData,                             \
    (TRITONSERVER_InferenceRequest * inference_request, const char* name, const void* base,        \
     size_t byte_size, TRITONSERVER_MemoryType memory_type, int64_t memory_type_id),               \
    (inference_request, name, base, byte_size, memory_type, memory_type_id))                       \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy,               \
    (TRITONSERVER_InferenceRequest * inference_request, const char* name, const void* base,        \
     size_t byte_size, TRITONSERVER_MemoryType memory_type, int64_t memory_type_id,                \
     const char* host_policy_name),                                                                \
    (inference_request, name, base, byte_size, memory_type, memory_type_id, host_policy_name))     \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes,         \
    (TRITONSERVER_InferenceRequest * inference_request, const char* name, const void* base,        \
     TRITONSERVER_BufferAttributes* buffer_attributes),                                            \
    (inference_request, name, base, buffer_attributes))                                            \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestRemoveAllInputData,                          \
    (TRITONSERVER_InferenceRequest * inference_request, const char* name),                         \
    (inference_request, name))                                                                     \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestAddRequestedOutput,                          \
    (TRITONSERVER_InferenceRequest * inference_request, const char* name),                         \
    (inference_request, name))                                                                     \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestRemoveRequestedOutput,                       \
    (TRITONSERVER_InferenceRequest * inference_request, const char* name),                         \
    (inference_request, name))                                                                     \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs,                   \
    (TRITONSERVER_InferenceRequest * inference_request), (inference_request))                      \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetReleaseCallback,                          \
    (TRITONSERVER_InferenceRequest * inference_request,                                            \
     TRITONSERVER_InferenceRequestReleaseFn_t request_release_fn, void* request_release_userp),    \
    (inference_request, request_release_fn, request_release_userp))                                \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetResponseCallback,                         \
    (TRITONSERVER_InferenceRequest * inference_request,                                            \
     TRITONSERVER_ResponseAllocator * response_allocator, void* response_allocator_userp,          \
     TRITONSERVER_InferenceResponseCompleteFn_t response_fn, void* response_userp),                \
    (inference_request, response_allocator, response_allocator_userp, response_fn,                 \
     response_userp))                                                                              \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetStringParameter,                          \
    (TRITONSERVER_InferenceRequest * request, const char* key, const char* value),                 \
    (request, key, value))                                                                         \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetIntParameter,                             \
    (TRITONSERVER_InferenceRequest * request, const char* key, int64_t value),                     \
    (request, key, value))                                                                         \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetBoolParameter,                            \
    (TRITONSERVER_InferenceRequest * request, const char* key, bool value), (request, key, value)) \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceRequestSetDoubleParameter,                          \
    (TRITONSERVER_InferenceRequest * request, const char* key, double value),                      \
    (request, key, value))                                                                         \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceResponseDelete,                                     \
    (TRITONSERVER_InferenceResponse * inference_response), (inference_response))                   \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceResponseError,                                      \
    (TRITONSERVER_InferenceResponse * inference_response), (inference_response))                   \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceResponseModel,                                      \
    (TRITONSERVER_InferenceResponse * inference_response, const char** model_name,                 \
     int64_t* model_version),                                                                      \
    (inference_response, model_name, model_version))                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceResponseId,                                         \
    (TRITONSERVER_InferenceResponse * inference_response, const char** request_id),                \
    (inference_response, request_id))                                                              \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceResponseParameterCount,                             \
    (TRITONSERVER_InferenceResponse * inference_response, uint32_t* count),                        \
    (inference_response, count))                                                                   \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceResponseParameter,                                  \
    (TRITONSERVER_InferenceResponse * inference_response, uint32_t index, const char** name,       \
     TRITONSERVER_ParameterType* type, const void** vvalue),                                       \
    (inference_response, index, name, type, vvalue))                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceResponseOutputCount,                                \
    (TRITONSERVER_InferenceResponse * inference_response, uint32_t* count),                        \
    (inference_response, count))                                                                   \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceResponseOutput,                                     \
    (TRITONSERVER_InferenceResponse * inference_response, uint32_t index, const char** name,       \
     TRITONSERVER_DataType* datatype, const int64_t** shape, uint64_t* dim_count,                  \
     const void** base, size_t* byte_size, TRITONSERVER_MemoryType* memory_type,                   \
     int64_t* memory_type_id, void** userp),                                                       \
    (inference_response, index, name, datatype, shape, dim_count, base, byte_size, memory_type,    \
     memory_type_id, userp))                                                                       \
  X(TRITONSERVER_Error*, TRITONSERVER_InferenceResponseOutputClassificationLabel,                  \
    (TRITONSERVER_InferenceResponse * inference_response, uint32_t index, size_t class_index,      \
     const char** label),                                                                          \
    (inference_response, index, class_index, label))                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_BufferAttributesNew,                                         \
    (TRITONSERVER_BufferAttributes * *buffer_attributes), (buffer_attributes))                     \
  X(TRITONSERVER_Error*, TRITONSERVER_BufferAttributesDelete,                                      \
    (TRITONSERVER_BufferAttributes * buffer_attributes), (buffer_attributes))                      \
  X(TRITONSERVER_Error*, TRITONSERVER_BufferAttributesSetMemoryTypeId,                             \
    (TRITONSERVER_BufferAttributes * buffer_attributes, int64_t memory_type_id),                   \
    (buffer_attributes, memory_type_id))                                                           \
  X(TRITONSERVER_Error*, TRITONSERVER_BufferAttributesSetMemoryType,                               \
    (TRITONSERVER_BufferAttributes * buffer_attributes, TRITONSERVER_MemoryType memory_type),      \
    (buffer_attributes, memory_type))                                                              \
  X(TRITONSERVER_Error*, TRITONSERVER_BufferAttributesSetCudaIpcHandle,                            \
    (TRITONSERVER_BufferAttributes * buffer_attributes, void* cuda_ipc_handle),                    \
    (buffer_attributes, cuda_ipc_handle))                                                          \
  X(TRITONSERVER_Error*, TRITONSERVER_BufferAttributesSetByteSize,                                 \
    (TRITONSERVER_BufferAttributes * buffer_attributes, size_t byte_size),                         \
    (buffer_attributes, byte_size))                                                                \
  X(TRITONSERVER_Error*, TRITONSERVER_BufferAttributesMemoryTypeId,                                \
    (TRITONSERVER_BufferAttributes * buffer_attributes, int64_t* memory_type_id),                  \
    (buffer_attributes, memory_type_id))                                                           \
  X(TRITONSERVER_Error*, TRITONSERVER_BufferAttributesMemoryType,                                  \
    (TRITONSERVER_BufferAttributes * buffer_attributes, TRITONSERVER_MemoryType * memory_type),    \
    (buffer_attributes, memory_type))                                                              \
  X(TRITONSERVER_Error*, TRITONSERVER_BufferAttributesCudaIpcHandle,                               \
    (TRITONSERVER_BufferAttributes * buffer_attributes, void** cuda_ipc_handle),                   \
    (buffer_attributes, cuda_ipc_handle))                                                          \
  X(TRITONSERVER_Error*, TRITONSERVER_BufferAttributesByteSize,                                    \
    (TRITONSERVER_BufferAttributes * buffer_attributes, size_t* byte_size),                        \
    (buffer_attributes, byte_size))                                                                \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsNew, (TRITONSERVER_ServerOptions * *options),   \
    (options))                                                                                     \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsDelete, (TRITONSERVER_ServerOptions * options), \
    (options))                                                                                     \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetServerId,                                    \
    (TRITONSERVER_ServerOptions * options, const char* server_id), (options, server_id))           \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetModelRepositoryPath,                         \
    (TRITONSERVER_ServerOptions * options, const char* model_repository_path),                     \
    (options, model_repository_path))                                                              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetModelControlMode,                            \
    (TRITONSERVER_ServerOptions * options, TRITONSERVER_ModelControlMode mode), (options, mode))   \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetStartupModel,                                \
    (TRITONSERVER_ServerOptions * options, const char* model_name), (options, model_name))         \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetStrictModelConfig,                           \
    (TRITONSERVER_ServerOptions * options, bool strict), (options, strict))                        \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetModelConfigName,                             \
    (TRITONSERVER_ServerOptions * options, const char* model_config_name),                         \
    (options, model_config_name))                                                                  \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetRateLimiterMode,                             \
    (TRITONSERVER_ServerOptions * options, TRITONSERVER_RateLimitMode mode), (options, mode))      \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsAddRateLimiterResource,                         \
    (TRITONSERVER_ServerOptions * options, const char* resource_name, size_t resource_count,       \
     int device),                                                                                  \
    (options, resource_name, resource_count, device))                                              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize,                    \
    (TRITONSERVER_ServerOptions * options, uint64_t size), (options, size))                        \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize,                      \
    (TRITONSERVER_ServerOptions * options, int gpu_device, uint64_t size),                         \
    (options, gpu_device, size))                                                                   \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize,                      \
    (TRITONSERVER_ServerOptions * options, int gpu_device, size_t cuda_virtual_address_size),      \
    (options, gpu_device, cuda_virtual_address_size))                                              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetResponseCacheByteSize,                       \
    (TRITONSERVER_ServerOptions * options, uint64_t size), (options, size))                        \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetCacheConfig,                                 \
    (TRITONSERVER_ServerOptions * options, const char* cache_name, const char* config_json),       \
    (options, cache_name, config_json))                                                            \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetCacheDirectory,                              \
    (TRITONSERVER_ServerOptions * options, const char* cache_dir), (options, cache_dir))           \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability,               \
    (TRITONSERVER_ServerOptions * options, double cc), (options, cc))                              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetExitOnError,                                 \
    (TRITONSERVER_ServerOptions * options, bool exit), (options, exit))                            \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetStrictReadiness,                             \
    (TRITONSERVER_ServerOptions * options, bool strict), (options, strict))                        \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetExitTimeout,                                 \
    (TRITONSERVER_ServerOptions * options, unsigned int timeout), (options, timeout))              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetBufferManagerThreadCount,                    \
    (TRITONSERVER_ServerOptions * options, unsigned int thread_count), (options, thread_count))    \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetModelLoadThreadCount,                        \
    (TRITONSERVER_ServerOptions * options, unsigned int thread_count), (options, thread_count))    \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetModelLoadRetryCount,                         \
    (TRITONSERVER_ServerOptions * options, unsigned int retry_count), (options, retry_count))      \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetModelNamespacing,                            \
    (TRITONSERVER_ServerOptions * options, bool enable_namespace), (options, enable_namespace))    \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetEnablePeerAccess,                            \
    (TRITONSERVER_ServerOptions * options, bool enable_peer_access),                               \
    (options, enable_peer_access))                                                                 \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetLogFile,                                     \
    (TRITONSERVER_ServerOptions * options, const char* file), (options, file))                     \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetLogInfo,                                     \
    (TRITONSERVER_ServerOptions * options, bool log), (options, log))                              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetLogWarn,                                     \
    (TRITONSERVER_ServerOptions * options, bool log), (options, log))                              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetLogError,                                    \
    (TRITONSERVER_ServerOptions * options, bool log), (options, log))                              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetLogFormat,                                   \
    (TRITONSERVER_ServerOptions * options, TRITONSERVER_LogFormat format), (options, format))      \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetLogVerbose,                                  \
    (TRITONSERVER_ServerOptions * options, int level), (options, level))                           \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetMetrics,                                     \
    (TRITONSERVER_ServerOptions * options, bool metrics), (options, metrics))                      \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetGpuMetrics,                                  \
    (TRITONSERVER_ServerOptions * options, bool gpu_metrics), (options, gpu_metrics))              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetCpuMetrics,                                  \
    (TRITONSERVER_ServerOptions * options, bool cpu_metrics), (options, cpu_metrics))              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetMetricsInterval,                             \
    (TRITONSERVER_ServerOptions * options, uint64_t metrics_interval_ms),                          \
    (options, metrics_interval_ms))                                                                \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetBackendDirectory,                            \
    (TRITONSERVER_ServerOptions * options, const char* backend_dir), (options, backend_dir))       \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetRepoAgentDirectory,                          \
    (TRITONSERVER_ServerOptions * options, const char* repoagent_dir), (options, repoagent_dir))   \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit,                        \
    (TRITONSERVER_ServerOptions * options, TRITONSERVER_InstanceGroupKind kind, int device_id,     \
     double fraction),                                                                             \
    (options, kind, device_id, fraction))                                                          \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetBackendConfig,                               \
    (TRITONSERVER_ServerOptions * options, const char* backend_name, const char* setting,          \
     const char* value),                                                                           \
    (options, backend_name, setting, value))                                                       \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetHostPolicy,                                  \
    (TRITONSERVER_ServerOptions * options, const char* policy_name, const char* setting,           \
     const char* value),                                                                           \
    (options, policy_name, setting, value))                                                        \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerOptionsSetMetricsConfig,                               \
    (TRITONSERVER_ServerOptions * options, const char* name, const char* setting,                  \
     const char* value),                                                                           \
    (options, name, setting, value))                                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerNew,                                                   \
    (TRITONSERVER_Server * *server, TRITONSERVER_ServerOptions * options), (server, options))      \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerDelete, (TRITONSERVER_Server * server), (server))      \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerStop, (TRITONSERVER_Server * server), (server))        \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerSetExitTimeout,                                        \
    (TRITONSERVER_Server * server, unsigned int timeout), (server, timeout))                       \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerRegisterModelRepository,                               \
    (TRITONSERVER_Server * server, const char* repository_path,                                    \
     const TRITONSERVER_Parameter** name_mapping, uint32_t mapping_count),                         \
    (server, repository_path, name_mapping, mapping_count))                                        \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerUnregisterModelRepository,                             \
    (TRITONSERVER_Server * server, const char* repository_path), (server, repository_path))        \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerPollModelRepository, (TRITONSERVER_Server * server),   \
    (server))                                                                                      \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerIsLive, (TRITONSERVER_Server * server, bool* live),    \
    (server, live))                                                                                \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerIsReady, (TRITONSERVER_Server * server, bool* ready),  \
    (server, ready))                                                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerModelIsReady,                                          \
    (TRITONSERVER_Server * server, const char* model_name, int64_t model_version, bool* ready),    \
    (server, model_name, model_version, ready))                                                    \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerModelBatchProperties,                                  \
    (TRITONSERVER_Server * server, const char* model_name, int64_t model_version, uint32_t* flags, \
     void** voidp),                                                                                \
    (server, model_name, model_version, flags, voidp))                                             \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerModelTransactionProperties,                            \
    (TRITONSERVER_Server * server, const char* model_name, int64_t model_version,                  \
     uint32_t* txn_flags, void** voidp),                                                           \
    (server, model_name, model_version, txn_flags, voidp))                                         \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerMetadata,                                              \
    (TRITONSERVER_Server * server, TRITONSERVER_Message * *server_metadata),                       \
    (server, server_metadata))                                                                     \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerModelMetadata,                                         \
    (TRITONSERVER_Server * server, const char* model_name, int64_t model_version,                  \
     TRITONSERVER_Message** model_metadata),                                                       \
    (server, model_name, model_version, model_metadata))                                           \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerModelStatistics,                                       \
    (TRITONSERVER_Server * server, const char* model_name, int64_t model_version,                  \
     TRITONSERVER_Message** model_stats),                                                          \
    (server, model_name, model_version, model_stats))                                              \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerModelConfig,                                           \
    (TRITONSERVER_Server * server, const char* model_name, int64_t model_version,                  \
     uint32_t config_version, TRITONSERVER_Message** model_config),                                \
    (server, model_name, model_version, config_version, model_config))                             \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerModelIndex,                                            \
    (TRITONSERVER_Server * server, uint32_t flags, TRITONSERVER_Message** model_index),            \
    (server, flags, model_index))                                                                  \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerLoadModel,                                             \
    (TRITONSERVER_Server * server, const char* model_name), (server, model_name))                  \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerLoadModelWithParameters,                               \
    (TRITONSERVER_Server * server, const char* model_name,                                         \
     const TRITONSERVER_Parameter** parameters, uint64_t parameter_count),                         \
    (server, model_name, parameters, parameter_count))                                             \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerUnloadModel,                                           \
    (TRITONSERVER_Server * server, const char* model_name), (server, model_name))                  \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerUnloadModelAndDependents,                              \
    (TRITONSERVER_Server * server, const char* model_name), (server, model_name))                  \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerMetrics,                                               \
    (TRITONSERVER_Server * server, TRITONSERVER_Metrics * *metrics), (server, metrics))            \
  X(TRITONSERVER_Error*, TRITONSERVER_ServerInferAsync,                                            \
    (TRITONSERVER_Server * server, TRITONSERVER_InferenceRequest * inference_request,              \
     TRITONSERVER_InferenceTrace * trace),                                                         \
    (server, inference_request, trace))                                                            \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricFamilyNew,                                             \
    (TRITONSERVER_MetricFamily * *family, TRITONSERVER_MetricKind kind, const char* name,          \
     const char* description),                                                                     \
    (family, kind, name, description))                                                             \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricFamilyDelete, (TRITONSERVER_MetricFamily * family),    \
    (family))                                                                                      \
  X(TRITONSERVER_Error*, TRITONSERVER_GetMetricFamilyKind,                                         \
    (TRITONSERVER_MetricFamily * family, TRITONSERVER_MetricKind * kind), (family, kind))          \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricArgsNew, (TRITONSERVER_MetricArgs * *args), (args))    \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricArgsSetHistogram,                                      \
    (TRITONSERVER_MetricArgs * args, const double* buckets, uint64_t buckets_count),               \
    (args, buckets, buckets_count))                                                                \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricArgsDelete, (TRITONSERVER_MetricArgs * args), (args))  \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricNew,                                                   \
    (TRITONSERVER_Metric * *metric, TRITONSERVER_MetricFamily * family,                            \
     const TRITONSERVER_Parameter** labels, uint64_t label_count),                                 \
    (metric, family, labels, label_count))                                                         \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricNewWithArgs,                                           \
    (TRITONSERVER_Metric * *metric, TRITONSERVER_MetricFamily * family,                            \
     const TRITONSERVER_Parameter** labels, uint64_t label_count,                                  \
     const TRITONSERVER_MetricArgs* args),                                                         \
    (metric, family, labels, label_count, args))                                                   \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricDelete, (TRITONSERVER_Metric * metric), (metric))      \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricValue, (TRITONSERVER_Metric * metric, double* value),  \
    (metric, value))                                                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricIncrement,                                             \
    (TRITONSERVER_Metric * metric, double value), (metric, value))                                 \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricSet, (TRITONSERVER_Metric * metric, double value),     \
    (metric, value))                                                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_MetricObserve, (TRITONSERVER_Metric * metric, double value), \
    (metric, value))                                                                               \
  X(TRITONSERVER_Error*, TRITONSERVER_GetMetricKind,                                               \
    (TRITONSERVER_Metric * metric, TRITONSERVER_MetricKind * kind), (metric, kind))

// TRITONBACKEND, version 1.19.
#define TRITONTS_BACKEND_FUNCTIONS(X)                                                              \
  X(TRITONSERVER_Error*, TRITONBACKEND_ApiVersion, (uint32_t* major, uint32_t* minor),             \
    (major, minor))                                                                                \
  X(TRITONSERVER_Error*, TRITONBACKEND_MemoryManagerAllocate,                                      \
    (TRITONBACKEND_MemoryManager * manager, void** buffer, TRITONSERVER_MemoryType memory_type,    \
     int64_t memory_type_id, uint64_t byte_size),                                                  \
    (manager, buffer, memory_type, memory_type_id, byte_size))                                     \
  X(TRITONSERVER_Error*, TRITONBACKEND_MemoryManagerFree,                                          \
    (TRITONBACKEND_MemoryManager * manager, void* buffer, TRITONSERVER_MemoryType memory_type,     \
     int64_t memory_type_id),                                                                      \
    (manager, buffer, memory_type, memory_type_id))                                                \
  X(TRITONSERVER_Error*, TRITONBACKEND_InputProperties,                                            \
    (TRITONBACKEND_Input * input, const char** name, TRITONSERVER_DataType* datatype,              \
     const int64_t** shape, uint32_t* dims_count, uint64_t* byte_size, uint32_t* buffer_count),    \
    (input, name, datatype, shape, dims_count, byte_size, buffer_count))                           \
  X(TRITONSERVER_Error*, TRITONBACKEND_InputPropertiesForHostPolicy,                               \
    (TRITONBACKEND_Input * input, const char* host_policy_name, const char** name,                 \
     TRITONSERVER_DataType* datatype, const int64_t** shape, uint32_t* dims_count,                 \
     uint64_t* byte_size, uint32_t* buffer_count),                                                 \
    (input, host_policy_name, name, datatype, shape, dims_count, byte_size, buffer_count))         \
  X(TRITONSERVER_Error*, TRITONBACKEND_InputBuffer,                                                \
    (TRITONBACKEND_Input * input, uint32_t index, const void** buffer, uint64_t* buffer_byte_size, \
     TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id),                               \
    (input, index, buffer, buffer_byte_size, memory_type, memory_type_id))                         \
  X(TRITONSERVER_Error*, TRITONBACKEND_InputBufferForHostPolicy,                                   \
    (TRITONBACKEND_Input * input, const char* host_policy_name, uint32_t index,                    \
     const void** buffer, uint64_t* buffer_byte_size, TRITONSERVER_MemoryType* memory_type,        \
     int64_t* memory_type_id),                                                                     \
    (input, host_policy_name, index, buffer, buffer_byte_size, memory_type, memory_type_id))       \
  X(TRITONSERVER_Error*, TRITONBACKEND_InputBufferAttributes,                                      \
    (TRITONBACKEND_Input * input, uint32_t index, const void** buffer,                             \
     TRITONSERVER_BufferAttributes** buffer_attributes),                                           \
    (input, index, buffer, buffer_attributes))                                                     \
  X(TRITONSERVER_Error*, TRITONBACKEND_OutputBuffer,                                               \
    (TRITONBACKEND_Output * output, void** buffer, uint64_t buffer_byte_size,                      \
     TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id),                               \
    (output, buffer, buffer_byte_size, memory_type, memory_type_id))                               \
  X(TRITONSERVER_Error*, TRITONBACKEND_OutputBufferAttributes,                                     \
    (TRITONBACKEND_Output * output, TRITONSERVER_BufferAttributes * *buffer_attributes),           \
    (output, buffer_attributes))                                                                   \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestId,                                                  \
    (TRITONBACKEND_Request * request, const char** id), (request, id))                             \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestIsCancelled,                                         \
    (TRITONBACKEND_Request * request, bool* is_cancelled), (request, is_cancelled))                \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseFactoryIsCancelled,                                 \
    (TRITONBACKEND_ResponseFactory * factory, bool* is_cancelled), (factory, is_cancelled))        \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestCorrelationId,                                       \
    (TRITONBACKEND_Request * request, uint64_t* id), (request, id))                                \
  X(TRITONSERVER_Error*, TRITONBACKEND_InferenceRequestTimeoutMicroseconds,                        \
    (TRITONBACKEND_Request * request, uint64_t* timeout), (request, timeout))                      \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestCorrelationIdString,                                 \
    (TRITONBACKEND_Request * request, const char** id), (request, id))                             \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestFlags,                                               \
    (TRITONBACKEND_Request * request, uint32_t* flags), (request, flags))                          \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestParameterCount,                                      \
    (TRITONBACKEND_Request * request, uint32_t* count), (request, count))                          \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestParameter,                                           \
    (TRITONBACKEND_Request * request, uint32_t index, const char** key,                            \
     TRITONSERVER_ParameterType* type, const void** vvalue),                                       \
    (request, index, key, type, vvalue))                                                           \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestInputCount,                                          \
    (TRITONBACKEND_Request * request, uint32_t* count), (request, count))                          \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestInputName,                                           \
    (TRITONBACKEND_Request * request, uint32_t index, const char** input_name),                    \
    (request, index, input_name))                                                                  \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestInput,                                               \
    (TRITONBACKEND_Request * request, const char* name, TRITONBACKEND_Input** input),              \
    (request, name, input))                                                                        \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestInputByIndex,                                        \
    (TRITONBACKEND_Request * request, uint32_t index, TRITONBACKEND_Input** input),                \
    (request, index, input))                                                                       \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestOutputCount,                                         \
    (TRITONBACKEND_Request * request, uint32_t* count), (request, count))                          \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestOutputName,                                          \
    (TRITONBACKEND_Request * request, uint32_t index, const char** output_name),                   \
    (request, index, output_name))                                                                 \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestOutputBufferProperties,                              \
    (TRITONBACKEND_Request * request, const char* name, size_t* byte_size,                         \
     TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id),                               \
    (request, name, byte_size, memory_type, memory_type_id))                                       \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestRelease,                                             \
    (TRITONBACKEND_Request * request, uint32_t release_flags), (request, release_flags))           \
  X(TRITONSERVER_Error*, TRITONBACKEND_RequestTrace,                                               \
    (TRITONBACKEND_Request * request, TRITONSERVER_InferenceTrace * *trace), (request, trace))     \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseFactoryNew,                                         \
    (TRITONBACKEND_ResponseFactory * *factory, TRITONBACKEND_Request * request),                   \
    (factory, request))                                                                            \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseFactoryDelete,                                      \
    (TRITONBACKEND_ResponseFactory * factory), (factory))                                          \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseFactorySendFlags,                                   \
    (TRITONBACKEND_ResponseFactory * factory, uint32_t send_flags), (factory, send_flags))         \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseNew,                                                \
    (TRITONBACKEND_Response * *response, TRITONBACKEND_Request * request), (response, request))    \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseNewFromFactory,                                     \
    (TRITONBACKEND_Response * *response, TRITONBACKEND_ResponseFactory * factory),                 \
    (response, factory))                                                                           \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseDelete, (TRITONBACKEND_Response * response),        \
    (response))                                                                                    \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseSetStringParameter,                                 \
    (TRITONBACKEND_Response * response, const char* name, const char* value),                      \
    (response, name, value))                                                                       \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseSetIntParameter,                                    \
    (TRITONBACKEND_Response * response, const char* name, int64_t value), (response, name, value)) \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseSetBoolParameter,                                   \
    (TRITONBACKEND_Response * response, const char* name, bool value), (response, name, value))    \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseSetDoubleParameter,                                 \
    (TRITONBACKEND_Response * response, const char* name, double value), (response, name, value))  \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseOutput,                                             \
    (TRITONBACKEND_Response * response, TRITONBACKEND_Output * *output, const char* name,          \
     TRITONSERVER_DataType datatype, const int64_t* shape, uint32_t dims_count),                   \
    (response, output, name, datatype, shape, dims_count))                                         \
  X(TRITONSERVER_Error*, TRITONBACKEND_ResponseSend,                                               \
    (TRITONBACKEND_Response * response, uint32_t send_flags, TRITONSERVER_Error* error),           \
    (response, send_flags, error))                                                                 \
  X(TRITONSERVER_Error*, TRITONBACKEND_StateNew,                                                   \
    (TRITONBACKEND_State * *state, TRITONBACKEND_Request * request, const char* name,              \
     TRITONSERVER_DataType datatype, const int64_t* shape, uint32_t dims_count),                   \
    (state, request, name, datatype, shape, dims_count))                                           \
  X(TRITONSERVER_Error*, TRITONBACKEND_StateUpdate, (TRITONBACKEND_State * state), (state))        \
  X(TRITONSERVER_Error*, TRITONBACKEND_StateBuffer,                                                \
    (TRITONBACKEND_State * state, void** buffer, uint64_t buffer_byte_size,                        \
     TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id),                               \
    (state, buffer, buffer_byte_size, memory_type, memory_type_id))                                \
  X(TRITONSERVER_Error*, TRITONBACKEND_StateBufferAttributes,                                      \
    (TRITONBACKEND_State * state, TRITONSERVER_BufferAttributes * *buffer_attributes),             \
    (state, buffer_attributes))                                                                    \
  X(TRITONSERVER_Error*, TRITONBACKEND_BackendName,                                                \
    (TRITONBACKEND_Backend * backend, const char** name), (backend, name))                         \
  X(TRITONSERVER_Error*, TRITONBACKEND_BackendConfig,                                              \
    (TRITONBACKEND_Backend * backend, TRITONSERVER_Message * *backend_config),                     \
    (backend, backend_config))                                                                     \
  X(TRITONSERVER_Error*, TRITONBACKEND_BackendExecutionPolicy,                                     \
    (TRITONBACKEND_Backend * backend, TRITONBACKEND_ExecutionPolicy * policy), (backend, policy))  \
  X(TRITONSERVER_Error*, TRITONBACKEND_BackendSetExecutionPolicy,                                  \
    (TRITONBACKEND_Backend * backend, TRITONBACKEND_ExecutionPolicy policy), (backend, policy))    \
  X(TRITONSERVER_Error*, TRITONBACKEND_BackendArtifacts,                                           \
    (TRITONBACKEND_Backend * backend, TRITONBACKEND_ArtifactType * artifact_type,                  \
     const char** location),                                                                       \
    (backend, artifact_type, location))                                                            \
  X(TRITONSERVER_Error*, TRITONBACKEND_BackendMemoryManager,                                       \
    (TRITONBACKEND_Backend * backend, TRITONBACKEND_MemoryManager * *manager), (backend, manager)) \
  X(TRITONSERVER_Error*, TRITONBACKEND_BackendState,                                               \
    (TRITONBACKEND_Backend * backend, void** state), (backend, state))                             \
  X(TRITONSERVER_Error*, TRITONBACKEND_BackendSetState,                                            \
    (TRITONBACKEND_Backend * backend, void* state), (backend, state))                              \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelName,                                                  \
    (TRITONBACKEND_Model * model, const char** name), (model, name))                               \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelVersion,                                               \
    (TRITONBACKEND_Model * model, uint64_t* version), (model, version))                            \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelRepository,                                            \
    (TRITONBACKEND_Model * model, TRITONBACKEND_ArtifactType * artifact_type,                      \
     const char** location),                                                                       \
    (model, artifact_type, location))                                                              \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelConfig,                                                \
    (TRITONBACKEND_Model * model, uint32_t config_version, TRITONSERVER_Message** model_config),   \
    (model, config_version, model_config))                                                         \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelAutoCompleteConfig,                                    \
    (TRITONBACKEND_Model * model, bool* auto_complete_config), (model, auto_complete_config))      \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelSetConfig,                                             \
    (TRITONBACKEND_Model * model, uint32_t config_version, TRITONSERVER_Message* model_config),    \
    (model, config_version, model_config))                                                         \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelServer,                                                \
    (TRITONBACKEND_Model * model, TRITONSERVER_Server * *server), (model, server))                 \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelBackend,                                               \
    (TRITONBACKEND_Model * model, TRITONBACKEND_Backend * *backend), (model, backend))             \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelState, (TRITONBACKEND_Model * model, void** state),    \
    (model, state))                                                                                \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelSetState, (TRITONBACKEND_Model * model, void* state),  \
    (model, state))                                                                                \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelReportMemoryUsage,                                     \
    (TRITONBACKEND_Model * model, TRITONSERVER_BufferAttributes * *usage, uint32_t usage_size),    \
    (model, usage, usage_size))                                                                    \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceName,                                          \
    (TRITONBACKEND_ModelInstance * instance, const char** name), (instance, name))                 \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceKind,                                          \
    (TRITONBACKEND_ModelInstance * instance, TRITONSERVER_InstanceGroupKind * kind),               \
    (instance, kind))                                                                              \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceDeviceId,                                      \
    (TRITONBACKEND_ModelInstance * instance, int32_t* device_id), (instance, device_id))           \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceHostPolicy,                                    \
    (TRITONBACKEND_ModelInstance * instance, TRITONSERVER_Message * *host_policy),                 \
    (instance, host_policy))                                                                       \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceIsPassive,                                     \
    (TRITONBACKEND_ModelInstance * instance, bool* is_passive), (instance, is_passive))            \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceProfileCount,                                  \
    (TRITONBACKEND_ModelInstance * instance, uint32_t* count), (instance, count))                  \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceProfileName,                                   \
    (TRITONBACKEND_ModelInstance * instance, uint32_t index, const char** profile_name),           \
    (instance, index, profile_name))                                                               \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceSecondaryDeviceCount,                          \
    (TRITONBACKEND_ModelInstance * instance, uint32_t* count), (instance, count))                  \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceSecondaryDeviceProperties,                     \
    (TRITONBACKEND_ModelInstance * instance, uint32_t index, const char** kind, int64_t* id),      \
    (instance, index, kind, id))                                                                   \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceModel,                                         \
    (TRITONBACKEND_ModelInstance * instance, TRITONBACKEND_Model * *model), (instance, model))     \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceState,                                         \
    (TRITONBACKEND_ModelInstance * instance, void** state), (instance, state))                     \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceSetState,                                      \
    (TRITONBACKEND_ModelInstance * instance, void* state), (instance, state))                      \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceReportMemoryUsage,                             \
    (TRITONBACKEND_ModelInstance * instance, TRITONSERVER_BufferAttributes * *usage,               \
     uint32_t usage_size),                                                                         \
    (instance, usage, usage_size))                                                                 \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceReportStatistics,                              \
    (TRITONBACKEND_ModelInstance * instance, TRITONBACKEND_Request * request, bool success,        \
     uint64_t exec_start_ns, uint64_t compute_start_ns, uint64_t compute_end_ns,                   \
     uint64_t exec_end_ns),                                                                        \
    (instance, request, success, exec_start_ns, compute_start_ns, compute_end_ns, exec_end_ns))    \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceResponseStatisticsNew,                         \
    (TRITONBACKEND_ModelInstanceResponseStatistics * *response_statistics), (response_statistics)) \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceResponseStatisticsDelete,                      \
    (TRITONBACKEND_ModelInstanceResponseStatistics * response_statistics), (response_statistics))  \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceResponseStatisticsSetModelInstance,            \
    (TRITONBACKEND_ModelInstanceResponseStatistics * response_statistics,                          \
     TRITONBACKEND_ModelInstance * model_instance),                                                \
    (response_statistics, model_instance))                                                         \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseFactory,          \
    (TRITONBACKEND_ModelInstanceResponseStatistics * response_statistics,                          \
     TRITONBACKEND_ResponseFactory * response_factory),                                            \
    (response_statistics, response_factory))                                                       \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseStart,            \
    (TRITONBACKEND_ModelInstanceResponseStatistics * response_statistics,                          \
     uint64_t response_start),                                                                     \
    (response_statistics, response_start))                                                         \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart,       \
    (TRITONBACKEND_ModelInstanceResponseStatistics * response_statistics,                          \
     uint64_t compute_output_start),                                                               \
    (response_statistics, compute_output_start))                                                   \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseEnd,              \
    (TRITONBACKEND_ModelInstanceResponseStatistics * response_statistics, uint64_t response_end),  \
    (response_statistics, response_end))                                                           \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceResponseStatisticsSetError,                    \
    (TRITONBACKEND_ModelInstanceResponseStatistics * response_statistics,                          \
     TRITONSERVER_Error * error),                                                                  \
    (response_statistics, error))                                                                  \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceReportResponseStatistics,                      \
    (TRITONBACKEND_ModelInstanceResponseStatistics * response_statistics), (response_statistics))  \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceReportBatchStatistics,                         \
    (TRITONBACKEND_ModelInstance * instance, uint64_t batch_size, uint64_t exec_start_ns,          \
     uint64_t compute_start_ns, uint64_t compute_end_ns, uint64_t exec_end_ns),                    \
    (instance, batch_size, exec_start_ns, compute_start_ns, compute_end_ns, exec_end_ns))          \
  X(TRITONSERVER_Error*, TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup,                  \
    (TRITONBACKEND_BackendAttribute * backend_attributes, TRITONSERVER_InstanceGroupKind kind,     \
     uint64_t count, const uint64_t* device_ids, uint64_t id_count),                               \
    (backend_attributes, kind, count, device_ids, id_count))                                       \
  X(TRITONSERVER_Error*, TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading,            \
    (TRITONBACKEND_BackendAttribute * backend_attributes, bool enabled),                           \
    (backend_attributes, enabled))                                                                 \
  X(TRITONSERVER_Error*, TRITONBACKEND_InferenceResponseOutput,                                    \
    (TRITONBACKEND_Response * response, uint32_t index, const char** name,                         \
     TRITONSERVER_DataType* datatype, const int64_t** shape, uint64_t* dim_count),                 \
    (response, index, name, datatype, shape, dim_count))                                           \
  X(TRITONSERVER_Error*, TRITONBACKEND_InferenceResponseOutputByName,                              \
    (TRITONBACKEND_Response * response, const char* name, TRITONSERVER_DataType* datatype,         \
     const int64_t** shape, uint64_t* dim_count),                                                  \
    (response, name, datatype, shape, dim_count))

// TRITONCACHE, version 0.1.
#define TRITONTS_CACHE_FUNCTIONS(X)                                                  \
  X(TRITONSERVER_Error*, TRITONCACHE_ApiVersion, (uint32_t* major, uint32_t* minor), \
    (major, minor))                                                                  \
  X(TRITONSERVER_Error*, TRITONCACHE_CacheEntryBufferCount,                          \
    (TRITONCACHE_CacheEntry * entry, size_t* count), (entry, count))                 \
  X(TRITONSERVER_Error*, TRITONCACHE_CacheEntryAddBuffer,                            \
    (TRITONCACHE_CacheEntry * entry, void* base,                                     \
     TRITONSERVER_BufferAttributes* buffer_attributes),                              \
    (entry, base, buffer_attributes))                                                \
  X(TRITONSERVER_Error*, TRITONCACHE_CacheEntryGetBuffer,                            \
    (TRITONCACHE_CacheEntry * entry, size_t index, void** base,                      \
     TRITONSERVER_BufferAttributes* buffer_attributes),                              \
    (entry, index, base, buffer_attributes))                                         \
  X(TRITONSERVER_Error*, TRITONCACHE_CacheEntrySetBuffer,                            \
    (TRITONCACHE_CacheEntry * entry, size_t index, void* new_base,                   \
     TRITONSERVER_BufferAttributes* buffer_attributes),                              \
    (entry, index, new_base, buffer_attributes))                                     \
  X(TRITONSERVER_Error*, TRITONCACHE_Copy,                                           \
    (TRITONCACHE_Allocator * allocator, TRITONCACHE_CacheEntry * entry), (allocator, entry))

// TRITONREPOAGENT, version 0.1.
#define TRITONTS_AGENT_FUNCTIONS(X)                                                              \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ApiVersion, (uint32_t* major, uint32_t* minor),         \
    (major, minor))                                                                              \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelRepositoryLocation,                                \
    (TRITONREPOAGENT_Agent * agent, TRITONREPOAGENT_AgentModel * model,                          \
     TRITONREPOAGENT_ArtifactType * artifact_type, const char** location),                       \
    (agent, model, artifact_type, location))                                                     \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelRepositoryLocationAcquire,                         \
    (TRITONREPOAGENT_Agent * agent, TRITONREPOAGENT_AgentModel * model,                          \
     TRITONREPOAGENT_ArtifactType artifact_type, const char** location),                         \
    (agent, model, artifact_type, location))                                                     \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelRepositoryLocationRelease,                         \
    (TRITONREPOAGENT_Agent * agent, TRITONREPOAGENT_AgentModel * model, const char* location),   \
    (agent, model, location))                                                                    \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelRepositoryUpdate,                                  \
    (TRITONREPOAGENT_Agent * agent, TRITONREPOAGENT_AgentModel * model,                          \
     TRITONREPOAGENT_ArtifactType artifact_type, const char* location),                          \
    (agent, model, artifact_type, location))                                                     \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelParameterCount,                                    \
    (TRITONREPOAGENT_Agent * agent, TRITONREPOAGENT_AgentModel * model, uint32_t* count),        \
    (agent, model, count))                                                                       \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelParameter,                                         \
    (TRITONREPOAGENT_Agent * agent, TRITONREPOAGENT_AgentModel * model, uint32_t index,          \
     const char** parameter_name, const char** parameter_value),                                 \
    (agent, model, index, parameter_name, parameter_value))                                      \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelConfig,                                            \
    (TRITONREPOAGENT_Agent * agent, TRITONREPOAGENT_AgentModel * model, uint32_t config_version, \
     TRITONSERVER_Message** model_config),                                                       \
    (agent, model, config_version, model_config))                                                \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelState,                                             \
    (TRITONREPOAGENT_AgentModel * model, void** state), (model, state))                          \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelSetState,                                          \
    (TRITONREPOAGENT_AgentModel * model, void* state), (model, state))                           \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_State, (TRITONREPOAGENT_Agent * agent, void** state),   \
    (agent, state))                                                                              \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_SetState, (TRITONREPOAGENT_Agent * agent, void* state), \
    (agent, state))

// All of them.
#define TRITONTS_TRITON_FUNCTIONS(X) \
  TRITONTS_SERVER_FUNCTIONS(X)       \
  TRITONTS_BACKEND_FUNCTIONS(X)      \
  TRITONTS_CACHE_FUNCTIONS(X)        \
  TRITONTS_AGENT_FUNCTIONS(X)

// What a plug-in of this kind has.
#define TRITONTS_BACKEND_PLUGIN_FUNCTIONS(X)                                                     \
  X(TRITONSERVER_Error*, TRITONBACKEND_Initialize, (TRITONBACKEND_Backend * backend), (backend)) \
  X(TRITONSERVER_Error*, TRITONBACKEND_Finalize, (TRITONBACKEND_Backend * backend), (backend))   \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInitialize, (TRITONBACKEND_Model * model), (model))  \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelFinalize, (TRITONBACKEND_Model * model), (model))    \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceInitialize,                                  \
    (TRITONBACKEND_ModelInstance * instance), (instance))                                        \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceFinalize,                                    \
    (TRITONBACKEND_ModelInstance * instance), (instance))                                        \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceExecute,                                     \
    (TRITONBACKEND_ModelInstance * instance, TRITONBACKEND_Request * *requests,                  \
     uint32_t request_count),                                                                    \
    (instance, requests, request_count))                                                         \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelInstanceReady,                                       \
    (TRITONBACKEND_ModelInstance * instance), (instance))                                        \
  X(TRITONSERVER_Error*, TRITONBACKEND_GetBackendAttribute,                                      \
    (TRITONBACKEND_Backend * backend, TRITONBACKEND_BackendAttribute * backend_attributes),      \
    (backend, backend_attributes))                                                               \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelBatcherInitialize,                                   \
    (TRITONBACKEND_Batcher * *batcher, TRITONBACKEND_Model * model), (batcher, model))           \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelBatcherFinalize, (TRITONBACKEND_Batcher * batcher),  \
    (batcher))                                                                                   \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelBatchIncludeRequest,                                 \
    (TRITONBACKEND_Request * request, void* userp, bool* should_include),                        \
    (request, userp, should_include))                                                            \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelBatchInitialize,                                     \
    (const TRITONBACKEND_Batcher* batcher, void** userp), (batcher, userp))                      \
  X(TRITONSERVER_Error*, TRITONBACKEND_ModelBatchFinalize, (void* userp), (userp))

// What a plug-in of this kind has.
#define TRITONTS_CACHE_PLUGIN_FUNCTIONS(X)                                                \
  X(TRITONSERVER_Error*, TRITONCACHE_CacheInitialize,                                     \
    (TRITONCACHE_Cache * *cache, const char* config), (cache, config))                    \
  X(TRITONSERVER_Error*, TRITONCACHE_CacheFinalize, (TRITONCACHE_Cache * cache), (cache)) \
  X(TRITONSERVER_Error*, TRITONCACHE_CacheInsert,                                         \
    (TRITONCACHE_Cache * cache, const char* key, TRITONCACHE_CacheEntry* entry,           \
     TRITONCACHE_Allocator* allocator),                                                   \
    (cache, key, entry, allocator))                                                       \
  X(TRITONSERVER_Error*, TRITONCACHE_CacheLookup,                                         \
    (TRITONCACHE_Cache * cache, const char* key, TRITONCACHE_CacheEntry* entry,           \
     TRITONCACHE_Allocator* allocator),                                                   \
    (cache, key, entry, allocator))

// What a plug-in of this kind has.
#define TRITONTS_AGENT_PLUGIN_FUNCTIONS(X)                                                     \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_Initialize, (TRITONREPOAGENT_Agent * agent), (agent)) \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_Finalize, (TRITONREPOAGENT_Agent * agent), (agent))   \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelInitialize,                                      \
    (TRITONREPOAGENT_Agent * agent, TRITONREPOAGENT_AgentModel * model), (agent, model))       \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelFinalize,                                        \
    (TRITONREPOAGENT_Agent * agent, TRITONREPOAGENT_AgentModel * model), (agent, model))       \
  X(TRITONSERVER_Error*, TRITONREPOAGENT_ModelAction,                                          \
    (TRITONREPOAGENT_Agent * agent, TRITONREPOAGENT_AgentModel * model,                        \
     TRITONREPOAGENT_ActionType action_type),                                                  \
    (agent, model, action_type))
