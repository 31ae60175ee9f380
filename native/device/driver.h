// NVIDIA's CUDA driver: a library that is opened at run time, so that neither building nor starting
// needs CUDA. Its functions are called through a table.
//
// A driver is opened once and never closed. Until cuInit has succeeded, only cuInit and the
// functions for error names are called. All functions of this file and the table are thread-safe.
// Most block in the driver, so they are not for JS threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/status.h"

namespace tritonts::device {

// The driver's types.
namespace cuda {

using Result = int;        // 0: success
using Device = int;        // a handle, which need not be the id
using Address = uint64_t;  // of device memory, which the CPU must not access
struct ContextImpl;
struct StreamImpl;
struct EventImpl;
struct RecordingImpl;
struct GraphWorkImpl;
using Context = ContextImpl*;
using Stream = StreamImpl*;
using Event = EventImpl*;
using Recording = RecordingImpl*;  // CUgraph
using GraphWork = GraphWorkImpl*;  // CUgraphExec
struct ModuleImpl;
struct KernelImpl;
using Module = ModuleImpl*;
using Kernel = KernelImpl*;  // CUfunction
struct MemoryPoolImpl;
using MemoryPool = MemoryPoolImpl*;

// Access rights to a pool's memory (CUmemAccessDesc) for a device.
struct MemoryAccess {
  int location = 1;  // the type of location: a device
  int id = 0;
  int access = 3;  // read and write
};

inline constexpr Result kInvalidValue = 1;
inline constexpr Result kInvalidContext = 201;
inline constexpr Result kInvalidHandle = 400;
inline constexpr Result kNotReady = 600;  // the event's work has not completed

// cuStreamCreate: does not wait for the default stream.
inline constexpr unsigned kNonBlocking = 1;
// cuMemHostAlloc: pinned in all contexts.
inline constexpr unsigned kPortable = 1;
// cuEventCreate: the event records no time, which is cheaper.
inline constexpr unsigned kWithoutTiming = 2;
inline constexpr unsigned kWithTiming = 0;

// cuStreamBeginCapture: calls of other threads are not restricted.
inline constexpr int kCaptureThreadLocal = 1;
// cuThreadExchangeStreamCaptureMode: a capture on another thread does not make this thread's calls
// fail.
inline constexpr int kCaptureRelaxed = 2;

// cuDeviceGetAttribute
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;
inline constexpr int kMemoryPoolsSupported = 115;

struct Uuid {
  unsigned char bytes[16];
};

// Names memory of a device to other processes (CUipcMemHandle).
struct IpcHandle {
  unsigned char bytes[64];
};
// cuIpcOpenMemHandle: the driver lets other devices access the memory when they first do.
inline constexpr unsigned kLazyPeerAccess = 1;

// The driver's functions, named without `cu` and without the symbol's version suffix.
struct Functions {
  Result (*Init)(unsigned flags);
  Result (*GetErrorName)(Result result, const char** name);
  Result (*GetErrorString)(Result result, const char** text);
  Result (*DriverGetVersion)(int* version);
  Result (*DeviceGetCount)(int* count);
  Result (*DeviceGet)(Device* device, int id);
  Result (*DeviceGetName)(char* name, int size, Device device);
  Result (*DeviceGetUuid)(Uuid* uuid, Device device);
  Result (*DeviceGetAttribute)(int* value, int attribute, Device device);
  Result (*DeviceTotalMem)(size_t* bytes, Device device);
  // The functions below need a current context, except PrimaryCtx and Push.
  Result (*DevicePrimaryCtxRetain)(Context* context, Device device);
  Result (*DevicePrimaryCtxRelease)(Device device);
  Result (*CtxPushCurrent)(Context context);
  Result (*CtxPopCurrent)(Context* context);
  Result (*MemAlloc)(Address* address, size_t bytes);
  Result (*MemFree)(Address address);
  // Stream-ordered: freeing does not wait.
  Result (*MemAllocAsync)(Address* address, size_t bytes, Stream stream);
  Result (*MemFreeAsync)(Address address, Stream stream);
  // The allocation that an address is in.
  Result (*MemGetAddressRange)(Address* begin, size_t* bytes, Address address);
  // Maps memory that another process has allocated.
  Result (*IpcOpenMemHandle)(Address* address, IpcHandle handle, unsigned flags);
  Result (*IpcCloseMemHandle)(Address address);
  Result (*MemHostAlloc)(void** memory, size_t bytes, unsigned flags);
  Result (*MemFreeHost)(void* memory);
  Result (*MemsetD8Async)(Address to, unsigned char value, size_t bytes, Stream stream);
  Result (*MemcpyHtoDAsync)(Address to, const void* from, size_t bytes, Stream stream);
  Result (*MemcpyDtoHAsync)(void* to, Address from, size_t bytes, Stream stream);
  // Within a device.
  Result (*MemcpyDtoDAsync)(Address to, Address from, size_t bytes, Stream stream);
  // From one device to another: directly if one may access the other's memory.
  Result (*MemcpyPeerAsync)(Address to, Context to_context, Address from, Context from_context,
                            size_t bytes, Stream stream);
  Result (*DeviceCanAccessPeer)(int* can, Device device, Device peer);
  // For memory allocated without a stream.
  Result (*CtxEnablePeerAccess)(Context peer, unsigned flags);
  // For stream-ordered memory.
  Result (*DeviceGetDefaultMemPool)(MemoryPool* pool, Device device);
  Result (*MemPoolSetAccess)(MemoryPool pool, const MemoryAccess* access, size_t count);
  // Smaller numbers mean higher priority.
  Result (*CtxGetStreamPriorityRange)(int* least, int* greatest);
  Result (*StreamCreateWithPriority)(Stream* stream, unsigned flags, int priority);
  Result (*StreamDestroy)(Stream stream);
  Result (*StreamSynchronize)(Stream stream);
  Result (*StreamWaitEvent)(Stream stream, Event event, unsigned flags);
  Result (*EventCreate)(Event* event, unsigned flags);
  Result (*EventDestroy)(Event event);
  Result (*EventRecord)(Event event, Stream stream);
  Result (*EventQuery)(Event event);
  Result (*EventElapsedTime)(float* milliseconds, Event from, Event to);
  Result (*StreamBeginCapture)(Stream stream, int mode);
  // Sets the calling thread's mode, and returns the previous one.
  Result (*ThreadExchangeStreamCaptureMode)(int* mode);
  Result (*StreamEndCapture)(Stream stream, Recording* recording);
  Result (*GraphInstantiate)(GraphWork* work, Recording recording, unsigned long long flags);
  Result (*GraphLaunch)(GraphWork work, Stream stream);
  Result (*GraphExecDestroy)(GraphWork work);
  Result (*GraphDestroy)(Recording recording);
  // Loads PTX, which the driver compiles.
  Result (*ModuleLoadDataEx)(Module* module, const void* text, unsigned options, int* names,
                             void** values);
  Result (*ModuleGetFunction)(Kernel* kernel, Module module, const char* name);
  Result (*ModuleUnload)(Module module);
  Result (*LaunchKernel)(Kernel kernel, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                         unsigned threads_x, unsigned threads_y, unsigned threads_z,
                         unsigned shared_bytes, Stream stream, void** arguments, void** extra);
  Result (*LaunchHostFunc)(Stream stream, void (*function)(void*), void* data);
};

}  // namespace cuda

class Driver {
 public:
  // The driver's name for the system's loader.
  static const char* const kFile;

  // Opens the driver in the library `file`, a path or a name that the system resolves, and
  // initialises it, which takes tenths of a second. The library is never closed. UNAVAILABLE, with
  // the reason and advice, if there is no usable driver.
  static StatusOr<std::shared_ptr<const Driver>> Open(const std::string& file);

  const cuda::Functions& call() const { return functions_; }
  // The path of the opened library.
  const std::string& path() const { return path_; }
  // The newest CUDA version that it supports, such as 13000 for 13.0.
  int version() const { return version_; }

  // Ok, or INTERNAL with the driver's error name and text, such as "cuMemAlloc failed with
  // CUDA_ERROR_OUT_OF_MEMORY (2: out of memory)".
  Status Check(cuda::Result result, const char* function) const;

 private:
  Driver() = default;
  // The text of that error.
  std::string Failure(cuda::Result result, const char* function) const;

  cuda::Functions functions_{};
  std::string path_;
  int version_ = 0;
};

}  // namespace tritonts::device
