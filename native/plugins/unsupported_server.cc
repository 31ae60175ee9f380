// The functions that are refused, with their names: those that make servers and end them, which is
// TypeScript's.
#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

constexpr const char* kMadeInJavaScript =
    "servers are made, stopped and configured by createServer() and close() of the package, in "
    "JavaScript; the function triton_server of tritonts.h returns the TRITONSERVER_Server of one";

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ServerOptionsNew(TRITONSERVER_ServerOptions**) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsDelete(TRITONSERVER_ServerOptions*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetServerId(TRITONSERVER_ServerOptions*,
                                                          const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelRepositoryPath(TRITONSERVER_ServerOptions*,
                                                                     const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelControlMode(
    TRITONSERVER_ServerOptions*, TRITONSERVER_ModelControlMode) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetStartupModel(TRITONSERVER_ServerOptions*,
                                                              const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetStrictModelConfig(TRITONSERVER_ServerOptions*,
                                                                   bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelConfigName(TRITONSERVER_ServerOptions*,
                                                                 const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetRateLimiterMode(
    TRITONSERVER_ServerOptions*, TRITONSERVER_RateLimitMode) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsAddRateLimiterResource(TRITONSERVER_ServerOptions*,
                                                                     const char*, size_t,
                                                                     int) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize(
    TRITONSERVER_ServerOptions*, uint64_t) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize(TRITONSERVER_ServerOptions*,
                                                                        int, uint64_t) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize(TRITONSERVER_ServerOptions*,
                                                                        int, size_t) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetResponseCacheByteSize(TRITONSERVER_ServerOptions*,
                                                                       uint64_t) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCacheConfig(TRITONSERVER_ServerOptions*,
                                                             const char*, const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCacheDirectory(TRITONSERVER_ServerOptions*,
                                                                const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability(
    TRITONSERVER_ServerOptions*, double) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetExitOnError(TRITONSERVER_ServerOptions*,
                                                             bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetStrictReadiness(TRITONSERVER_ServerOptions*,
                                                                 bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetExitTimeout(TRITONSERVER_ServerOptions*,
                                                             unsigned int) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetBufferManagerThreadCount(
    TRITONSERVER_ServerOptions*, unsigned int) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelLoadThreadCount(TRITONSERVER_ServerOptions*,
                                                                      unsigned int) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelLoadRetryCount(TRITONSERVER_ServerOptions*,
                                                                     unsigned int) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelNamespacing(TRITONSERVER_ServerOptions*,
                                                                  bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetEnablePeerAccess(TRITONSERVER_ServerOptions*,
                                                                  bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogFile(TRITONSERVER_ServerOptions*,
                                                         const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogInfo(TRITONSERVER_ServerOptions*,
                                                         bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogWarn(TRITONSERVER_ServerOptions*,
                                                         bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogError(TRITONSERVER_ServerOptions*,
                                                          bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogFormat(TRITONSERVER_ServerOptions*,
                                                           TRITONSERVER_LogFormat) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogVerbose(TRITONSERVER_ServerOptions*,
                                                            int) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetMetrics(TRITONSERVER_ServerOptions*,
                                                         bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetGpuMetrics(TRITONSERVER_ServerOptions*,
                                                            bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetCpuMetrics(TRITONSERVER_ServerOptions*,
                                                            bool) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetMetricsInterval(TRITONSERVER_ServerOptions*,
                                                                 uint64_t) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetBackendDirectory(TRITONSERVER_ServerOptions*,
                                                                  const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetRepoAgentDirectory(TRITONSERVER_ServerOptions*,
                                                                    const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit(
    TRITONSERVER_ServerOptions*, TRITONSERVER_InstanceGroupKind, int, double) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetBackendConfig(TRITONSERVER_ServerOptions*,
                                                               const char*, const char*,
                                                               const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetHostPolicy(TRITONSERVER_ServerOptions*,
                                                            const char*, const char*,
                                                            const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetMetricsConfig(TRITONSERVER_ServerOptions*,
                                                               const char*, const char*,
                                                               const char*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerNew(TRITONSERVER_Server**,
                                           TRITONSERVER_ServerOptions*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerDelete(TRITONSERVER_Server*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerStop(TRITONSERVER_Server*) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

TRITONSERVER_Error* TRITONSERVER_ServerSetExitTimeout(TRITONSERVER_Server*, unsigned int) noexcept {
  return NotSupported(__func__, kMadeInJavaScript);
}

}  // namespace tritonts::plugins
