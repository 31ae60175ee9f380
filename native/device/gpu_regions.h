// Memory of GPUs that other processes share by handles of the driver (CUDA IPC). It becomes regions
// (engine/memory/region.h).
//
// A thread of its own opens and closes the memory, and makes the copies of Copy: opening a GPU
// takes long, and the last reference to a block may be dropped on a thread that must not call the
// driver. The copiers of blocks (Block::copier) copy on the calling thread, which waits for the
// GPU. A GPU stays open while any of its memory is open here, unless it is lost.
//
// Any thread may call any function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "../platform/thread.h"
#include "driver.h"
#include "engine/base/status.h"
#include "engine/memory/buffer.h"

namespace tritonts::device {

class GpuRegions {
 public:
  // Those of the process. Null: the system has no thread for them.
  static std::shared_ptr<GpuRegions> Share();
  // The thread does what is queued, and ends when no memory is open. It is waited for, but not
  // long: a driver may hang, and memory may be in use for longer. Then it goes on alone.
  ~GpuRegions();
  GpuRegions(const GpuRegions&) = delete;
  GpuRegions& operator=(const GpuRegions&) = delete;

  // What was done, and the memory that was opened. Called on the thread, without a lock. If it
  // throws std::bad_alloc, it is called again later.
  using Done = std::function<void(const Status&, const BlockRef&)>;

  // Opens the first `size` bytes of shared memory of a device. Fails as UNSUPPORTED: this machine
  // has no GPU; INVALID_ARG: it has no such GPU, the driver does not know the handle, or its memory
  // has not so many bytes. Throws std::bad_alloc; then nothing was queued.
  void Open(int device, const cuda::IpcHandle& handle, uint64_t size, Done done);
  // Copies `from.size` bytes between such memory and memory of the host. Throws like Open.
  void Copy(Buffer from, Buffer to, Done done);

 private:
  struct State;
  class Memory;
  class OpenGpu;
  GpuRegions() = default;

  std::shared_ptr<State> state_;  // shared with the thread and the memory
  platform::Thread thread_;
};

}  // namespace tritonts::device
