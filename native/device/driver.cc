#include "driver.h"

#include <memory>

#include "../platform/dynamic_library.h"
#include "../platform/system.h"
#include "engine/base/exit.h"

namespace tritonts::device {

const char* const Driver::kFile = platform::kWindows ? "nvcuda.dll" : "libcuda.so.1";

namespace {

// Looks up functions by their symbols, and records the first missing one.
class Symbols {
 public:
  explicit Symbols(const platform::DynamicLibrary& library) : library_(library) {}
  template <typename Function>
  void Take(Function** function, const char* symbol) {
    *function = reinterpret_cast<Function*>(library_.Symbol(symbol));
    if (!*function && !missing_) missing_ = symbol;
  }
  const char* missing() const { return missing_; }

 private:
  const platform::DynamicLibrary& library_;
  const char* missing_ = nullptr;
};

// Looks up all functions. Returns a missing symbol, or null.
const char* TakeAll(const platform::DynamicLibrary& library, cuda::Functions* functions) {
  Symbols symbols(library);
  symbols.Take(&functions->Init, "cuInit");
  symbols.Take(&functions->GetErrorName, "cuGetErrorName");
  symbols.Take(&functions->GetErrorString, "cuGetErrorString");
  symbols.Take(&functions->DriverGetVersion, "cuDriverGetVersion");
  symbols.Take(&functions->DeviceGetCount, "cuDeviceGetCount");
  symbols.Take(&functions->DeviceGet, "cuDeviceGet");
  symbols.Take(&functions->DeviceGetName, "cuDeviceGetName");
  symbols.Take(&functions->DeviceGetUuid, "cuDeviceGetUuid_v2");
  symbols.Take(&functions->DeviceGetAttribute, "cuDeviceGetAttribute");
  symbols.Take(&functions->DeviceTotalMem, "cuDeviceTotalMem_v2");
  symbols.Take(&functions->DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  symbols.Take(&functions->DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  symbols.Take(&functions->CtxPushCurrent, "cuCtxPushCurrent_v2");
  symbols.Take(&functions->CtxPopCurrent, "cuCtxPopCurrent_v2");
  symbols.Take(&functions->MemAlloc, "cuMemAlloc_v2");
  symbols.Take(&functions->MemFree, "cuMemFree_v2");
  symbols.Take(&functions->MemAllocAsync, "cuMemAllocAsync");
  symbols.Take(&functions->MemFreeAsync, "cuMemFreeAsync");
  symbols.Take(&functions->MemGetAddressRange, "cuMemGetAddressRange_v2");
  symbols.Take(&functions->IpcOpenMemHandle, "cuIpcOpenMemHandle_v2");
  symbols.Take(&functions->IpcCloseMemHandle, "cuIpcCloseMemHandle");
  symbols.Take(&functions->MemHostAlloc, "cuMemHostAlloc");
  symbols.Take(&functions->MemFreeHost, "cuMemFreeHost");
  symbols.Take(&functions->MemsetD8Async, "cuMemsetD8Async");
  symbols.Take(&functions->MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  symbols.Take(&functions->MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  symbols.Take(&functions->MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  symbols.Take(&functions->MemcpyPeerAsync, "cuMemcpyPeerAsync");
  symbols.Take(&functions->DeviceCanAccessPeer, "cuDeviceCanAccessPeer");
  symbols.Take(&functions->CtxEnablePeerAccess, "cuCtxEnablePeerAccess");
  symbols.Take(&functions->DeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool");
  symbols.Take(&functions->MemPoolSetAccess, "cuMemPoolSetAccess");
  symbols.Take(&functions->CtxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange");
  symbols.Take(&functions->StreamCreateWithPriority, "cuStreamCreateWithPriority");
  symbols.Take(&functions->StreamDestroy, "cuStreamDestroy_v2");
  symbols.Take(&functions->StreamSynchronize, "cuStreamSynchronize");
  symbols.Take(&functions->StreamWaitEvent, "cuStreamWaitEvent");
  symbols.Take(&functions->EventCreate, "cuEventCreate");
  symbols.Take(&functions->EventDestroy, "cuEventDestroy_v2");
  symbols.Take(&functions->EventRecord, "cuEventRecord");
  symbols.Take(&functions->EventQuery, "cuEventQuery");
  symbols.Take(&functions->EventElapsedTime, "cuEventElapsedTime");
  symbols.Take(&functions->StreamBeginCapture, "cuStreamBeginCapture_v2");
  symbols.Take(&functions->ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode");
  symbols.Take(&functions->StreamEndCapture, "cuStreamEndCapture");
  symbols.Take(&functions->GraphInstantiate, "cuGraphInstantiateWithFlags");
  symbols.Take(&functions->GraphLaunch, "cuGraphLaunch");
  symbols.Take(&functions->GraphExecDestroy, "cuGraphExecDestroy");
  symbols.Take(&functions->GraphDestroy, "cuGraphDestroy");
  symbols.Take(&functions->ModuleLoadDataEx, "cuModuleLoadDataEx");
  symbols.Take(&functions->ModuleGetFunction, "cuModuleGetFunction");
  symbols.Take(&functions->ModuleUnload, "cuModuleUnload");
  symbols.Take(&functions->LaunchKernel, "cuLaunchKernel");
  symbols.Take(&functions->LaunchHostFunc, "cuLaunchHostFunc");
  return symbols.missing();
}

}  // namespace

StatusOr<std::shared_ptr<const Driver>> Driver::Open(const std::string& file) {
  std::string fault;
  const auto library = platform::DynamicLibrary::Open(file, &fault);
  if (!library) {
    return Status::Unavailable(Reason::kMissing,
                               "the CUDA driver " + file + " can't be opened (" + fault +
                                   "): it comes with NVIDIA's driver for the GPU");
  }
  std::shared_ptr<Driver> driver(new Driver());
  if (const char* missing = TakeAll(library.value(), &driver->functions_)) {
    // A library that is not the driver has none of the symbols; a driver before 11.4 lacks the
    // newest.
    return Status::Unavailable(Reason::kMissing,
                               file +
                                   (library.value().Symbol("cuInit")
                                        ? " is a CUDA driver that is too old: it has no "
                                        : " is a library, but not the CUDA driver: it has no ") +
                                   missing);
  }
  driver->path_ =
      platform::DynamicLibrary::PathOf(reinterpret_cast<const void*>(driver->functions_.Init));
  // Before the first call of the driver, which starts threads that may have to end before the
  // process does.
  OnRuntimeLibraryOpened();
  const cuda::Result result = driver->functions_.Init(0);
  if (result != 0) {
    return Status::Unavailable(
        Reason::kMissing,
        "the CUDA driver " + file + " finds no usable GPU: " + driver->Failure(result, "cuInit"));
  }
  // A driver that does not report its version is still usable.
  if (driver->functions_.DriverGetVersion(&driver->version_) != 0) driver->version_ = 0;
  return std::shared_ptr<const Driver>(std::move(driver));
}

Status Driver::Check(cuda::Result result, const char* function) const {
  if (result == 0) return Status::Ok();
  return MakeStatus([&] { return Status::Internal(Failure(result, function)); });
}

std::string Driver::Failure(cuda::Result result, const char* function) const {
  const char* name = nullptr;
  const char* words = nullptr;
  // A driver leaves these null for error numbers that it does not know.
  if (functions_.GetErrorName(result, &name) != 0) name = nullptr;
  if (functions_.GetErrorString(result, &words) != 0) words = nullptr;
  std::string text = std::string(function) + " failed with ";
  if (name) text += std::string(name) + " (";
  text += std::to_string(result);
  if (words) text += std::string(name ? ": " : " (") + words + (name ? "" : ")");
  return name ? text + ")" : text;
}

}  // namespace tritonts::device
