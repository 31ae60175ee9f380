#include "gpu_regions.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda.h"
#include "engine/memory/memory_copier.h"
#include "gpu.h"

namespace tritonts::device {

namespace {

constexpr auto kMemoryPause = std::chrono::milliseconds(10);   // until there may be memory again
constexpr auto kLookForLost = std::chrono::milliseconds(500);  // between two looks for lost GPUs
constexpr auto kRegionsEndTime = std::chrono::milliseconds(500);

cuda::Address AddressOf(const Buffer& buffer) {
  return reinterpret_cast<cuda::Address>(buffer.data);
}

}  // namespace

// Memory of a GPU that is open. Disposing needs no memory: it links the block.
class GpuRegions::Memory final : public Block {
 public:
  Memory(std::shared_ptr<State> state, OpenGpu& gpu, int device, cuda::Address address,
         uint64_t size)
      : Block(reinterpret_cast<void*>(address), static_cast<size_t>(size), MemoryKind::kDevice,
              device),
        state_(std::move(state)),
        gpu_(gpu) {}
  ~Memory() override = default;

  MemoryCopier* copier() const override;
  OpenGpu& gpu() const { return gpu_; }
  cuda::Address address() const { return reinterpret_cast<cuda::Address>(data()); }
  Memory* next = nullptr;

 private:
  void Dispose() override;

  const std::shared_ptr<State> state_;
  OpenGpu& gpu_;  // lives longer
};

// A GPU of which memory is open. Only the thread creates and destroys it, and opens and closes its
// memory. It lets go of the GPU if that is lost, so that others can open it anew.
class GpuRegions::OpenGpu final : public MemoryCopier {
 public:
  static StatusOr<std::unique_ptr<OpenGpu>> Make(int device) {
    const CudaDevices& found = FindCudaDevices();
    if (!found.driver) return Status::Unsupported(found.reason);
    const auto count = static_cast<int>(found.devices.size());
    if (device < 0 || device >= count) {
      return Status::InvalidArg("there is no GPU " + std::to_string(device) + ", but " +
                                std::to_string(count) + " from 0 on");
    }
    auto gpu = Gpu::Open(found.driver, device);
    if (!gpu.ok()) return gpu.status();
    auto made = std::make_unique<OpenGpu>(gpu.take());
    const Gpu::Current current(*made->gpu_);
    if (!current.status().ok()) return current.status();
    auto stream = made->gpu_->MakeStream();
    if (!stream.ok()) return stream.status();
    made->stream_ = stream.value();
    return made;
  }
  explicit OpenGpu(std::shared_ptr<Gpu> gpu) : device_(gpu->id()), gpu_(std::move(gpu)) {}
  ~OpenGpu() override { LetGo(Status::Ok()); }

  bool lost() const { return gpu_ && gpu_->lost(); }
  Status fault() const { return gpu_ ? gpu_->fault() : fault_; }
  bool unused() const { return memories_.empty(); }

  StatusOr<BlockRef> Open(const std::shared_ptr<State>& state, const cuda::IpcHandle& handle,
                          uint64_t size) {
    const Gpu::Current current(*gpu_);
    if (!current.status().ok()) return current.status();
    cuda::Address address = 0;
    const cuda::Result result =
        gpu_->call().IpcOpenMemHandle(&address, handle, cuda::kLazyPeerAccess);
    Status status = gpu_->Check(result, "cuIpcOpenMemHandle");
    const bool is_callers = result == cuda::kInvalidValue || result == cuda::kInvalidContext ||
                            result == cuda::kInvalidHandle;
    if (is_callers) return Status::InvalidArg(status.message());
    if (!status.ok()) return Await(status);
    cuda::Address begin = 0;
    size_t bytes = 0;
    status = gpu_->Check(gpu_->call().MemGetAddressRange(&begin, &bytes, address),
                         "cuMemGetAddressRange");
    if (status.ok() && size > bytes - (address - begin)) {
      status = MakeStatus([&] {
        return Status::InvalidArg("the memory has " + std::to_string(bytes - (address - begin)) +
                                  " bytes, and so not " + std::to_string(size));
      });
    }
    Memory* const memory =
        status.ok() ? new (std::nothrow) Memory(state, *this, device_, address, size) : nullptr;
    if (memory && Note(memory)) return BlockRef::Adopt(memory);
    delete memory;
    (void)gpu_->call().IpcCloseMemHandle(address);
    return status.ok() ? Status::NoMemory() : status;
  }
  void Close(Memory* memory) {
    if (gpu_) {
      const Gpu::Current current(*gpu_);
      (void)gpu_->call().IpcCloseMemHandle(memory->address());
    }
    memories_.erase(memory);
    delete memory;
  }

  // Closes all memory on the GPU. From now on copies fail with this status.
  void LetGo(const Status& fault) {
    std::shared_ptr<Gpu> gpu;  // its destructor may wait long
    const std::unique_lock lock(mutex_);
    if (!gpu_) return;
    {
      const Gpu::Current current(*gpu_);
      // Calls on a lost device fail and free nothing. The process goes on without the device.
      for (const Memory* memory : memories_) {
        (void)gpu_->call().IpcCloseMemHandle(memory->address());
      }
      if (stream_) (void)gpu_->call().StreamDestroy(stream_);
    }
    fault_ = fault;
    gpu.swap(gpu_);
  }

  BlockRef Allocate(MemoryKind, int, size_t) override { return {}; }
  bool Copies(MemoryKind from, MemoryKind to) const override {
    return from == MemoryKind::kDevice || to == MemoryKind::kDevice;
  }
  Status Copy(const Buffer& from, const Buffer& to) override {
    const std::shared_lock lock(mutex_);
    // Calls on a lost device may hang.
    if (Status failed = fault(); !failed.ok()) return failed;
    for (const Buffer& end : {from, to}) {
      if (!IsHostMemory(end.kind) && end.device != device_) {
        return Status::Unsupported("cannot copy from " + NameOf(from.kind, from.device) + " to " +
                                   NameOf(to.kind, to.device));
      }
    }
    const Gpu::Current current(*gpu_);
    Status status = current.status();
    if (status.ok()) status = Enqueue(from, to);
    return Await(status);
  }

 private:
  // Waits for the stream after a call with this status. The device is lost if that fails, and so
  // may be why the call failed. The context must be current.
  Status Await(const Status& status) const {
    gpu_->Drain(stream_);
    const Status fault = gpu_->fault();
    return fault.ok() ? status : fault;
  }
  bool Note(Memory* memory) {
    try {
      return memories_.insert(memory).second;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  Status Enqueue(const Buffer& from, const Buffer& to) const {
    const cuda::Functions& call = gpu_->call();
    if (IsHostMemory(from.kind)) {
      return gpu_->Check(call.MemcpyHtoDAsync(AddressOf(to), from.data, from.size, stream_),
                         "cuMemcpyHtoDAsync");
    }
    if (IsHostMemory(to.kind)) {
      return gpu_->Check(call.MemcpyDtoHAsync(to.data, AddressOf(from), from.size, stream_),
                         "cuMemcpyDtoHAsync");
    }
    return gpu_->Check(call.MemcpyDtoDAsync(AddressOf(to), AddressOf(from), from.size, stream_),
                       "cuMemcpyDtoDAsync");
  }

  const int device_;
  std::set<Memory*> memories_;
  // Copies share it. The thread locks it to let go of the GPU.
  std::shared_mutex mutex_;
  std::shared_ptr<Gpu> gpu_;
  cuda::Stream stream_ = nullptr;
  Status fault_;  // why there is no GPU
};

struct GpuRegions::State {
  struct Call {
    std::function<Status(State&, BlockRef*)> work;
    Done done;
  };

  std::mutex mutex;  // guards the next five
  std::condition_variable changed;
  std::deque<Call> calls;
  Memory* unused = nullptr;  // to be closed, a list
  bool end = false;
  bool ended = false;

  // Of the thread: GPUs, and those that were lost and have memory still.
  std::map<int, std::unique_ptr<OpenGpu>> gpus;
  std::vector<std::unique_ptr<OpenGpu>> lost;

  bool idle() const { return gpus.empty() && lost.empty(); }
  void Add(Call call);
  void Run();
  void Do(const Call& call) noexcept;
  StatusOr<BlockRef> OpenMemory(const std::shared_ptr<State>& self, int device,
                                const cuda::IpcHandle& handle, uint64_t size);
  void LetGoOfLost() noexcept;
  void ForgetUnused();
};

MemoryCopier* GpuRegions::Memory::copier() const {
  return &gpu_;
}

void GpuRegions::Memory::Dispose() {
  const std::shared_ptr<State> state = state_;  // outlives the lock
  const std::lock_guard lock(state->mutex);
  next = state->unused;
  state->unused = this;
  state->changed.notify_all();
}

StatusOr<BlockRef> GpuRegions::State::OpenMemory(const std::shared_ptr<State>& self, int device,
                                                 const cuda::IpcHandle& handle, uint64_t size) {
  LetGoOfLost();
  auto found = gpus.find(device);
  if (found == gpus.end()) {
    auto made = OpenGpu::Make(device);
    if (!made.ok()) return made.status();
    found = gpus.emplace(device, made.take()).first;
  }
  OpenGpu& open = *found->second;
  if (Status fault = open.fault(); !fault.ok()) return fault;
  return open.Open(self, handle, size);
}

void GpuRegions::State::LetGoOfLost() noexcept try {
  for (auto at = gpus.begin(); at != gpus.end();) {
    OpenGpu& open = *at->second;
    if (!open.lost()) {
      ++at;
      continue;
    }
    lost.reserve(lost.size() + 1);
    open.LetGo(open.fault());
    lost.push_back(std::move(at->second));
    at = gpus.erase(at);
  }
  ForgetUnused();
} catch (const std::bad_alloc&) {
  // The next look does it.
}

void GpuRegions::State::ForgetUnused() {
  std::erase_if(gpus, [](const auto& one) { return one.second->unused(); });
  std::erase_if(lost, [](const auto& one) { return one->unused(); });
}

void GpuRegions::State::Do(const Call& call) noexcept {
  BlockRef opened;
  const Status status = MakeStatus([&] { return call.work(*this, &opened); });
  ForgetUnused();
  while (true) {
    try {
      return call.done(status, opened);
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(kMemoryPause);
    }
  }
}

void GpuRegions::State::Run() {
  platform::NameThread("tritonts-region");
  std::unique_lock lock(mutex);
  const auto has_work = [this] { return unused || !calls.empty() || (end && idle()); };
  while (true) {
    if (idle())
      changed.wait(lock, has_work);
    else
      changed.wait_for(lock, kLookForLost, has_work);
    if (Memory* const memory = unused) {
      unused = memory->next;
      lock.unlock();
      memory->gpu().Close(memory);
      ForgetUnused();
    } else if (!calls.empty()) {
      const Call call = std::move(calls.front());
      calls.pop_front();
      lock.unlock();
      Do(call);
    } else if (end && idle()) {
      break;
    } else {
      lock.unlock();
      LetGoOfLost();
    }
    lock.lock();
  }
  ended = true;
  changed.notify_all();
}

void GpuRegions::State::Add(Call call) {
  const std::lock_guard lock(mutex);
  calls.push_back(std::move(call));
  changed.notify_all();
}

std::shared_ptr<GpuRegions> GpuRegions::Share() {
  // Never destroyed, because threads may outlive static destructors.
  static auto* const mutex = new std::mutex();  // guards the other one
  static auto* const shared = new std::weak_ptr<GpuRegions>();
  std::shared_ptr<GpuRegions> made;  // destroyed after the lock
  const std::lock_guard lock(*mutex);
  if (auto known = shared->lock()) return known;
  made.reset(new GpuRegions());
  const auto state = std::make_shared<State>();
  if (!made->thread_.Start([state] { state->Run(); })) return nullptr;
  made->state_ = state;
  *shared = made;
  return made;
}

GpuRegions::~GpuRegions() {
  if (!thread_.joinable()) return;
  bool ended = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->end = true;
    state_->changed.notify_all();
    ended = state_->changed.wait_for(lock, kRegionsEndTime, [this] { return state_->ended; });
  }
  if (ended)
    thread_.Join();
  else
    thread_.Detach();
}

void GpuRegions::Open(int device, const cuda::IpcHandle& handle, uint64_t size, Done done) {
  state_->Add(
      {[self = std::weak_ptr(state_), device, handle, size](State& state, BlockRef* opened) {
         auto memory = state.OpenMemory(self.lock(), device, handle, size);
         if (memory.ok()) *opened = memory.take();
         return memory.status();
       },
       std::move(done)});
}

void GpuRegions::Copy(Buffer from, Buffer to, Done done) {
  state_->Add({[from = std::move(from), to = std::move(to)](State&, BlockRef*) {
                 return CopyBytes(from, to);
               },
               std::move(done)});
}

}  // namespace tritonts::device
