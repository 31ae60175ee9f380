// The functions that a server here refuses.
#include "every.h"

namespace tritonts::plugin::every {

namespace {

// Calls a function without arguments that mean anything. It must refuse, and say its name.
template <typename... Parameters>
void Refuse(const char* name, TRITONSERVER_Error* (*function)(Parameters...)) {
  Error error = function(Parameters{}...);
  const bool is_refused =
      error && TRITONSERVER_ErrorCode(error) == TRITONSERVER_ERROR_UNSUPPORTED &&
      std::string(TRITONSERVER_ErrorMessage(error)).find(name) != std::string::npos;
  if (is_refused) {
    Note(name);
  } else {
    Fault(std::string(name) + ": is not refused by its name");
  }
  if (error) TRITONSERVER_ErrorDelete(error);
}

#define REFUSE(function) Refuse(#function, function)

}  // namespace

void Refused() {
  REFUSE(TRITONSERVER_ServerDelete);
  REFUSE(TRITONSERVER_ServerNew);
  REFUSE(TRITONSERVER_ServerOptionsAddRateLimiterResource);
  REFUSE(TRITONSERVER_ServerOptionsDelete);
  REFUSE(TRITONSERVER_ServerOptionsNew);
  REFUSE(TRITONSERVER_ServerOptionsSetBackendConfig);
  REFUSE(TRITONSERVER_ServerOptionsSetBackendDirectory);
  REFUSE(TRITONSERVER_ServerOptionsSetBufferManagerThreadCount);
  REFUSE(TRITONSERVER_ServerOptionsSetCacheConfig);
  REFUSE(TRITONSERVER_ServerOptionsSetCacheDirectory);
  REFUSE(TRITONSERVER_ServerOptionsSetCpuMetrics);
  REFUSE(TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize);
  REFUSE(TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize);
  REFUSE(TRITONSERVER_ServerOptionsSetEnablePeerAccess);
  REFUSE(TRITONSERVER_ServerOptionsSetExitOnError);
  REFUSE(TRITONSERVER_ServerOptionsSetExitTimeout);
  REFUSE(TRITONSERVER_ServerOptionsSetGpuMetrics);
  REFUSE(TRITONSERVER_ServerOptionsSetHostPolicy);
  REFUSE(TRITONSERVER_ServerOptionsSetLogError);
  REFUSE(TRITONSERVER_ServerOptionsSetLogFile);
  REFUSE(TRITONSERVER_ServerOptionsSetLogFormat);
  REFUSE(TRITONSERVER_ServerOptionsSetLogInfo);
  REFUSE(TRITONSERVER_ServerOptionsSetLogVerbose);
  REFUSE(TRITONSERVER_ServerOptionsSetLogWarn);
  REFUSE(TRITONSERVER_ServerOptionsSetMetrics);
  REFUSE(TRITONSERVER_ServerOptionsSetMetricsConfig);
  REFUSE(TRITONSERVER_ServerOptionsSetMetricsInterval);
  REFUSE(TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability);
  REFUSE(TRITONSERVER_ServerOptionsSetModelConfigName);
  REFUSE(TRITONSERVER_ServerOptionsSetModelControlMode);
  REFUSE(TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit);
  REFUSE(TRITONSERVER_ServerOptionsSetModelLoadRetryCount);
  REFUSE(TRITONSERVER_ServerOptionsSetModelLoadThreadCount);
  REFUSE(TRITONSERVER_ServerOptionsSetModelNamespacing);
  REFUSE(TRITONSERVER_ServerOptionsSetModelRepositoryPath);
  REFUSE(TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize);
  REFUSE(TRITONSERVER_ServerOptionsSetRateLimiterMode);
  REFUSE(TRITONSERVER_ServerOptionsSetRepoAgentDirectory);
  REFUSE(TRITONSERVER_ServerOptionsSetResponseCacheByteSize);
  REFUSE(TRITONSERVER_ServerOptionsSetServerId);
  REFUSE(TRITONSERVER_ServerOptionsSetStartupModel);
  REFUSE(TRITONSERVER_ServerOptionsSetStrictModelConfig);
  REFUSE(TRITONSERVER_ServerOptionsSetStrictReadiness);
  REFUSE(TRITONSERVER_ServerSetExitTimeout);
  REFUSE(TRITONSERVER_ServerStop);
}

}  // namespace tritonts::plugin::every
