// NVIDIA's CUDA driver: a library that is opened while the process runs, so neither building nor
// starting needs CUDA. Its functions are called through a table.
//
// A driver is opened once and never closed. Until cuInit has succeeded, nothing but cuInit and the
// names of errors is called. Any thread may call any function, of this and of the table; most wait
// for the driver, so a JS thread calls none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/status.h"

namespace tritonts::device {

// The driver's types, as its interface has them.
namespace cuda {

using Result = int;        // 0: success
using Device = int;        // a handle, which need not be the id
using Address = uint64_t;  // of device memory; the processor must not read it
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

// Who may use the memory of a pool (CUmemAccessDesc): a device, by its id, to read and write.
struct MemoryAccess {
  int location = 1;  // a device
  int id = 0;
  int access = 3;  // to read and write
};

inline constexpr Result kNotReady = 600;  // work that an event waits for is not done

// cuStreamCreate: does not wait for the default stream.
inline constexpr unsigned kNonBlocking = 1;
// cuMemHostAlloc: pinned for all contexts.
inline constexpr unsigned kPortable = 1;
// cuEventCreate: only says whether it has passed, which is cheaper.
inline constexpr unsigned kWithoutTiming = 2;
inline constexpr unsigned kWithTiming = 0;

// cuStreamBeginCapture: what other threads call is their own affair.
inline constexpr int kCaptureThreadLocal = 1;
// cuThreadExchangeStreamCaptureMode: calls of the thread are not refused because another one
// captures.
inline constexpr int kCaptureRelaxed = 2;

// cuDeviceGetAttribute
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;
inline constexpr int kMemoryPoolsSupported = 115;

struct Uuid {
  unsigned char bytes[16];
};

// The functions, named as the driver names them, without `cu` and the version of the symbol.
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
  // Those below need a current context, except for PrimaryCtx and Push.
  Result (*DevicePrimaryCtxRetain)(Context* context, Device device);
  Result (*DevicePrimaryCtxRelease)(Device device);
  Result (*CtxPushCurrent)(Context context);
  Result (*CtxPopCurrent)(Context* context);
  Result (*MemAlloc)(Address* address, size_t bytes);
  Result (*MemFree)(Address address);
  // Stream-ordered: freeing waits for nothing.
  Result (*MemAllocAsync)(Address* address, size_t bytes, Stream stream);
  Result (*MemFreeAsync)(Address address, Stream stream);
  Result (*MemHostAlloc)(void** memory, size_t bytes, unsigned flags);
  Result (*MemFreeHost)(void* memory);
  Result (*MemsetD8Async)(Address to, unsigned char value, size_t bytes, Stream stream);
  Result (*MemcpyHtoDAsync)(Address to, const void* from, size_t bytes, Stream stream);
  Result (*MemcpyDtoHAsync)(void* to, Address from, size_t bytes, Stream stream);
  // Within a device.
  Result (*MemcpyDtoDAsync)(Address to, Address from, size_t bytes, Stream stream);
  // From one device to another; directly where one may access the other's memory.
  Result (*MemcpyPeerAsync)(Address to, Context to_context, Address from, Context from_context,
                            size_t bytes, Stream stream);
  Result (*DeviceCanAccessPeer)(int* can, Device device, Device peer);
  // For memory that the driver was asked for without a stream.
  Result (*CtxEnablePeerAccess)(Context peer, unsigned flags);
  // For memory that it was asked for in the order of a stream.
  Result (*DeviceGetDefaultMemPool)(MemoryPool* pool, Device device);
  Result (*MemPoolSetAccess)(MemoryPool pool, const MemoryAccess* access, size_t count);
  // The smaller the number, the more urgent.
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
  // Sets the calling thread's mode, and returns the one before that.
  Result (*ThreadExchangeStreamCaptureMode)(int* mode);
  Result (*StreamEndCapture)(Stream stream, Recording* recording);
  Result (*GraphInstantiate)(GraphWork* work, Recording recording, unsigned long long flags);
  Result (*GraphLaunch)(GraphWork work, Stream stream);
  Result (*GraphExecDestroy)(GraphWork work);
  Result (*GraphDestroy)(Recording recording);
  // From PTX, which the driver compiles.
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
  // The name by which the system's loader finds the driver.
  static const char* const kFile;

  // Opens the driver in the library `file`, a path or a name that the system looks up, and
  // initialises it, which takes tenths of a second. The library stays open when the last owner of
  // what comes of it is gone. UNAVAILABLE: why there is none, and what helps.
  static StatusOr<std::shared_ptr<const Driver>> Open(const std::string& file);

  const cuda::Functions& call() const { return functions_; }
  // The file that the library was opened from.
  const std::string& path() const { return path_; }
  // The newest version of CUDA that it serves, such as 13000 for 13.0.
  int version() const { return version_; }

  // Ok, or INTERNAL with the driver's own name and words, such as "cuMemAlloc failed with
  // CUDA_ERROR_OUT_OF_MEMORY (2: out of memory)".
  Status Check(cuda::Result result, const char* function) const;

 private:
  Driver() = default;
  // The words alone.
  std::string Failure(cuda::Result result, const char* function) const;

  cuda::Functions functions_{};
  std::string path_;
  int version_ = 0;
};

}  // namespace tritonts::device
